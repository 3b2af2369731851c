/** Settings of connectors, the records that they leave, and the search for ids of other systems. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { json, localServer } from "../../support/LocalServer.ts"
import { until } from "../../support/until.ts"
import { violationsIn } from "../Accessibility.ts"
import { describeConsole } from "../Console.ts"
import { open, SALESFORCE, signIn, World } from "../World.ts"
import { errorOf, WIDE } from "./Dialogs.ts"

const STRIPE = "service.integration.billing.stripe"

describeConsole("the console: connectors", (it) => {
  it.effect(
    "activates a connector, changes settings without losing the secret, and tests them",
    () =>
      Effect.gen(function* () {
        const { browser, core, furnished } = yield* World
        const { asked, url } = yield* localServer(json(200, { object: "list", data: [] }))
        const { page } = yield* browser.newTab(WIDE)
        const dialog = page.getByRole("dialog")
        const secret = page.getByLabel(/^Secret or restricted key/)
        const save = page.getByRole("button", { name: "Save the settings" })
        const test = page.getByRole("button", { name: "Test the connection" })
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await open(page, core, "/connectors")
          await page.getByText(STRIPE, { exact: true }).waitFor()
          await page.getByRole("link", { name: "Stripe", exact: true }).click()
          await page.getByText("No settings are saved yet.").waitFor()
          // Without settings, an active connector would only fail.
          assert.isTrue(await page.getByRole("button", { name: "Activate", exact: true }).isDisabled())
          await page.getByText("Save the settings first").waitFor()
          await secret.fill("wrong")
          await save.click()
          await page.locator(".field-error").waitFor()
          assert.match(await errorOf(secret), /pattern/)
          assert.deepStrictEqual(await violationsIn(page), [])
          await secret.fill("sk_test_abc123")
          await page.getByRole("textbox", { name: "Address of the API" }).fill(url)
          await save.click()
          await page.getByText("A value is stored.").waitFor()
          assert.strictEqual(await secret.inputValue(), "")
          assert.strictEqual(await secret.getAttribute("placeholder"), "***")
          assert.notInclude(await page.content(), "sk_test_abc123")
          await page.getByRole("button", { name: "Activate", exact: true }).click()
          await page.getByRole("button", { name: "Deactivate" }).waitFor()
          await test.click()
          await page.getByText("Stripe accepted the key").waitFor()
          await page.getByText("The connection works").waitFor()
          // Another setting changes, the secret stays.
          await page.getByRole("textbox", { name: "Connected account" }).fill("acct_7")
          await page.getByText("Your changes are not saved yet").waitFor()
          await save.click()
          await page.getByText("Calls the other system with the stored settings.").waitFor()
          await test.click()
          await page.getByText("The connection works").waitFor()
        })
        yield* until(
          "both keys were tried",
          Effect.sync(() => asked.length >= 2),
        )
        assert.deepStrictEqual(
          asked.map(({ headers }) => [headers.authorization, headers["stripe-context"]]),
          [
            ["Bearer sk_test_abc123", undefined],
            ["Bearer sk_test_abc123", "acct_7"],
          ],
        )
        yield* Effect.promise(async () => {
          const address = page.getByRole("textbox", { name: "Address of the API" })
          await address.fill("https://elsewhere.example")
          await save.click()
          await page.locator(".field-error").waitFor()
          assert.include(await errorOf(address), "send the secrets again")
          await page.getByRole("button", { name: "Undo" }).click()
          assert.strictEqual(await address.inputValue(), url)
          await page.getByRole("button", { name: "Delete the settings" }).click()
          await dialog.getByRole("button", { name: "Delete" }).click()
          await page.getByText("No settings are saved yet.").waitFor()
          await page.getByRole("button", { name: "Deactivate" }).click()
          await dialog.getByText("No other record is affected.").waitFor()
          await dialog.getByRole("button", { name: "Deactivate" }).click()
          await page.getByRole("button", { name: "Activate", exact: true }).waitFor()
        })
      }),
    120_000,
  )

  it.effect("names the records that a connector would leave, and the last error of a customer's record", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const { page } = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, `/connectors/${SALESFORCE}`)
        await page.getByRole("button", { name: "Deactivate" }).click()
        await page.getByRole("dialog").getByText("Integration records: 1").waitFor()
        await page.getByRole("dialog").getByText("Customer, acme-logistics").waitFor()
        assert.deepStrictEqual(await violationsIn(page), [])
        await page.getByRole("button", { name: "Cancel" }).click()
        await open(page, core, "/customers/acme-logistics?tab=integrations")
        await page.getByText("Last error: The account is locked").waitFor()
        await page.getByText("0018c00002XyZ12AAB").waitFor()
        await page.getByRole("link", { name: "Salesforce", exact: true }).click()
        await page.getByRole("heading", { level: 1, name: "Salesforce" }).waitFor()
      })
    }),
  )

  it.effect("searches with at most five requests at a time, and aborts older ones", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const { page } = yield* browser.newTab(WIDE)
      let inFlight = 0
      let most = 0
      const asked: Array<string> = []
      const aborted: Array<string> = []
      const isSearch = ({ pathname, search }: URL) =>
        /[?&](q|externalCustomerId)=/.test(search) || pathname.startsWith("/api/integration/")
      // The first search has no answer until it is aborted.
      const isHeld = (url: string) => url.includes("q=globex")
      page.on("requestfailed", (request) => aborted.push(request.url()))
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, "/settings")
        await page.route(isSearch, async (route) => {
          const url = route.request().url()
          asked.push(url)
          if (isHeld(url)) return
          inFlight += 1
          most = Math.max(most, inFlight)
          const response = await route.fetch()
          inFlight -= 1
          await route.fulfill({ response })
        })
        await page.keyboard.press("Control+k")
        const first = page.waitForRequest((request) => isHeld(request.url()))
        await page.getByRole("combobox").fill("globex")
        await first
        await page.getByRole("combobox").fill("0018c00002XyZ12AAB")
        await page.getByRole("option", { name: /Acme Logistics/ }).waitFor()
        assert.deepStrictEqual(await violationsIn(page), [])
      })
      assert.deepStrictEqual(aborted.filter(isHeld).toSorted(), asked.filter(isHeld).toSorted())
      assert.isAtMost(most, 5)
      assert.isTrue(asked.some((url) => url.endsWith("/api/integration/crm.salesforce/customer/0018c00002XyZ12AAB")))
      assert.isTrue(asked.some((url) => url.includes("externalCustomerId=0018c00002XyZ12AAB")))
    }),
  )
})
