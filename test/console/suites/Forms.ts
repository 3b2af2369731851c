/** Forms from JSON Schema: metadata fields and their values, settings of connectors, and the recovery of deliveries. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Locator, Page } from "playwright-core"
import { json, localServer } from "../../support/LocalServer.ts"
import { until } from "../../support/until.ts"
import { violationsIn } from "../Accessibility.ts"
import { open, SALESFORCE, signIn, World } from "../World.ts"
import { assertClean, checkScreens } from "./Screens.ts"
import type { Suite } from "./Suite.ts"

const WIDE = { viewport: { width: 1440, height: 900 } }
const STRIPE = "service.integration.billing.stripe"
const INSTANCE = "acme-media-production"

const RACKS = {
  type: "object",
  required: ["racks"],
  properties: {
    racks: { type: "integer", minimum: 1, title: "Racks" },
    tier: { enum: ["gold", "silver"], title: "Tier" },
    hosts: { type: "array", items: { type: "string", pattern: "^[a-z]+$" }, title: "Hosts" },
    free: { oneOf: [{ type: "string" }, { type: "number" }], title: "Free" },
  },
}

/** Chooses an option of a field. */
const choose = async (page: Page, within: Locator, label: string, option: string) => {
  await within.getByRole("button", { name: new RegExp(`${label}$`) }).click()
  await page.getByRole("option", { name: option, exact: true }).click()
}

/** The message at a field, as a screen reader gets it. */
const errorOf = async (field: Locator): Promise<string> => {
  const ids = String(await field.getAttribute("aria-describedby")).split(" ")
  const texts = await Promise.all(ids.map((id) => field.page().locator(`[id="${id}"].field-error`).allInnerTexts()))
  return texts.flat().join()
}

const WITHOUT_ANYTHING = [
  ["/metadata-fields", "No metadata fields yet"],
  ["/webhooks?tab=history", "No deliveries"],
  ["/webhooks", "No endpoints yet"],
] as const

const NEEDS = [
  ["/metadata-fields", "read:metadata_fields"],
  ["/connectors", "read:organizations"],
  ["/webhooks", "read:webhooks"],
] as const

export const suite: Suite = (it) => {
  it.effect(
    "shows a metadata field and the page of a phone without a violation, in both themes",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        const body = { key: "walked", label: "Walked", resourceType: "DEPLOYMENT_ZONE", jsonSchema: RACKS }
        const { id } = (yield* call("POST", "/metadata-fields", body)).body
        const tab = yield* browser.newTab(WIDE)
        yield* Effect.promise(async () => {
          await signIn(tab.page, core, furnished.token)
          await checkScreens(tab, core, [["metadata-field", `/metadata-fields/${id}`]])
          await tab.page.setViewportSize({ width: 320, height: 700 })
          await open(tab.page, core, `/metadata-fields/${id}`)
          assert.isAtMost(Number(await tab.page.evaluate("document.documentElement.scrollWidth")), 320)
          assert.deepStrictEqual(await violationsIn(tab.page), [])
        })
        assertClean(tab, core, "metadata field")
        yield* call("POST", `/metadata-fields/${id}/archive`)
      }),
    60_000,
  )

  it.effect("says what empty lists are for, shows errors, and tries again", () =>
    Effect.gen(function* () {
      const { browser, core, empty } = yield* World
      const { page } = yield* browser.newTab()
      yield* Effect.promise(async () => {
        await signIn(page, core, empty.token)
        for (const [path, title] of WITHOUT_ANYTHING) {
          await open(page, core, path)
          await page.getByText(title).waitFor()
          assert.deepStrictEqual(await violationsIn(page), [], path)
        }
        const problem = { code: "Service.InternalError", title: "Internal error", detail: "It failed.", errors: [] }
        for (const path of ["/metadata-fields", "/connectors", `/connectors/${SALESFORCE}`]) {
          const fails = (url: URL) => url.pathname.startsWith(`/api/${path.split("/")[1]}`)
          await page.route(fails, (route) => route.fulfill({ status: 500, json: problem }))
          await open(page, core, path)
          await page.getByText(problem.code).waitFor()
          assert.deepStrictEqual(await violationsIn(page), [], path)
          await page.unroute(fails)
          await page.getByRole("button", { name: "Try again" }).click()
          await page.getByText(problem.code).waitFor({ state: "detached" })
        }
      })
    }),
  )

  it.effect("follows the scopes: reading without writing, and neither", () =>
    Effect.gen(function* () {
      const { browser, core, tokenWith } = yield* World
      const none = yield* tokenWith(["read:customers"])
      const reading = yield* tokenWith([
        "read:metadata_fields",
        "read:organizations",
        "read:webhooks",
        "read:instances",
      ])
      const { page } = yield* browser.newTab(WIDE)
      const other = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, none)
        for (const [path, scope] of NEEDS) {
          await open(page, core, path)
          await page.getByText(`This page needs the scope ${scope}`).waitFor()
        }
        await signIn(other.page, core, reading)
        await open(other.page, core, "/metadata-fields")
        await other.page.getByText("You can read this.").waitFor()
        assert.strictEqual(await other.page.getByRole("button", { name: "New field" }).count(), 0)
        await other.page.getByRole("link", { name: "Region" }).first().click()
        await other.page.getByText("Checking values needs the scope write:metadata_fields.").waitFor()
        assert.isFalse(await other.page.getByRole("textbox", { name: "Schema" }).isEditable())
        await open(other.page, core, `/connectors/${SALESFORCE}`)
        const shown = await other.page.getByRole("region", { name: "Settings" }).innerText()
        assert.deepInclude(JSON.parse(shown), { clientId: "keyshelf", privateKey: "***" })
        for (const name of ["Deactivate", "Save the settings", "Test the connection"])
          assert.strictEqual(await other.page.getByRole("button", { name }).count(), 0, name)
        await open(other.page, core, "/instances/acme-logistics-production?tab=metadata")
        await other.page.getByText("Region").waitFor()
        assert.strictEqual(await other.page.getByRole("button", { name: "Edit metadata" }).count(), 0)
        await open(other.page, core, "/webhooks?tab=history")
        assert.strictEqual(await other.page.getByRole("button", { name: "Recover since" }).count(), 0)
      })
      assertClean(other, core, "reading")
    }),
  )

  it.effect(
    "creates a metadata field, tries values, sets one on an instance, and archives the field",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        const { page } = yield* browser.newTab(WIDE)
        const dialog = page.getByRole("dialog")
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await open(page, core, "/metadata-fields")
          await page.getByRole("button", { name: "New field" }).click()
          await dialog.getByRole("textbox", { name: "Label" }).fill("Hardware")
          await dialog.getByRole("textbox", { name: "Key" }).fill("hardware")
          const schema = dialog.getByRole("textbox", { name: "Schema" })
          await schema.fill('{"type": "colour"}')
          await dialog.getByRole("button", { name: "Create" }).click()
          await dialog.locator(".field-error").waitFor()
          assert.match(await errorOf(schema), /type/)
          await schema.fill(JSON.stringify(RACKS))
          assert.deepStrictEqual(await violationsIn(page), [])
          await dialog.getByRole("button", { name: "Create" }).click()
          await page.getByRole("heading", { level: 1, name: "Hardware" }).waitFor()
          // Values are tried while typing.
          const racks = page.getByRole("textbox", { name: "Racks" })
          await racks.fill("0")
          await page.getByText("The value does not fit: 1 error").waitFor()
          assert.include(await errorOf(racks), "1")
          assert.deepStrictEqual(await violationsIn(page), [])
          await racks.fill("123456789012345678")
          await page.getByText("The value fits the schema").waitFor()
          await page.getByRole("textbox", { name: "Free" }).fill("{")
          await page.getByText("A part of the value is not JSON.").waitFor()
          await page.getByRole("textbox", { name: "Free" }).fill("1.5")
          await page.getByText("The value fits the schema").waitFor()
          const typed = await page.getByRole("region", { name: "The value as JSON" }).innerText()
          assert.strictEqual(typed, '{"racks":123456789012345678,"free":1.5}')
        })
        yield* Effect.promise(async () => {
          await open(page, core, `/instances/${INSTANCE}?tab=metadata`)
          await page.getByRole("button", { name: "Edit metadata" }).click()
          const racks = dialog.getByRole("textbox", { name: "Racks" })
          await racks.fill("none")
          await dialog.getByRole("button", { name: "Add: Hosts" }).click()
          await dialog.getByRole("textbox", { name: "Hosts 1" }).fill("EU")
          await choose(page, dialog, "Tier", "gold")
          await dialog.getByRole("button", { name: "Save" }).click()
          await dialog.locator(".field-error").first().waitFor()
          assert.include(await errorOf(racks), "integer")
          assert.include(await errorOf(dialog.getByRole("textbox", { name: "Hosts 1" })), "must match")
          assert.strictEqual(await dialog.locator(".failure").count(), 0)
          assert.deepStrictEqual(await violationsIn(page), [])
          await racks.fill("3")
          await dialog.getByRole("textbox", { name: "Hosts 1" }).fill("eu")
          await dialog.getByRole("button", { name: "Save" }).click()
          await dialog.waitFor({ state: "detached" })
          await page.getByText('"racks":3').waitFor()
        })
        const stored = { hardware: { racks: 3, tier: "gold", hosts: ["eu"] } }
        assert.deepStrictEqual((yield* call("GET", `/instances/${INSTANCE}`)).body.metadata, stored)
        yield* Effect.promise(async () => {
          await open(page, core, "/metadata-fields")
          await page.getByRole("link", { name: "Hardware" }).click()
          const schema = page.getByRole("textbox", { name: "Schema" })
          await schema.fill('{"type": "number"}')
          await page.getByText("Save the schema to check values against it.").waitFor()
          await page.getByRole("button", { name: "Save the schema" }).click()
          await dialog.getByText("Records whose value becomes invalid: 1").waitFor()
          await dialog.getByText(INSTANCE).waitFor()
          assert.deepStrictEqual(await violationsIn(page), [])
          await dialog.getByRole("button", { name: "Cancel" }).click()
          await page.getByRole("button", { name: "Undo" }).click()
          await page.getByRole("button", { name: "Archive" }).click()
          await dialog.getByText(INSTANCE).waitFor()
          await dialog.getByRole("button", { name: "Archive" }).click()
          await page.getByText("Archived", { exact: true }).waitFor()
          await open(page, core, `/instances/${INSTANCE}?tab=metadata`)
          await page.getByText("Hardware (archived)").waitFor()
          await page.getByRole("button", { name: "Edit metadata" }).click()
          await dialog.getByText(/^Keep hardware/).click()
          await dialog.getByRole("button", { name: "Save" }).click()
          await page.getByText("No value is set.").waitFor()
          await open(page, core, "/metadata-fields")
          await page.getByRole("link", { name: "Hardware" }).click()
          await page.getByRole("button", { name: "Restore" }).click()
          await page.getByRole("button", { name: "Archive" }).waitFor()
        })
        assert.deepStrictEqual((yield* call("GET", `/instances/${INSTANCE}`)).body.metadata, {})
      }),
    60_000,
  )

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
          await page.getByRole("link", { name: STRIPE }).click()
          await page.getByRole("button", { name: "Activate", exact: true }).click()
          await page.getByRole("button", { name: "Deactivate" }).waitFor()
          await page.getByText("Nothing is stored yet.").waitFor()
          await secret.fill("wrong")
          await save.click()
          await page.locator(".field-error").waitFor()
          assert.match(await errorOf(secret), /pattern/)
          assert.deepStrictEqual(await violationsIn(page), [])
          await secret.fill("sk_test_abc123")
          await page.getByRole("textbox", { name: "Address of the API" }).fill(url)
          await save.click()
          await page.getByText("A value is stored and stays.").waitFor()
          assert.strictEqual(await secret.inputValue(), "")
          assert.strictEqual(await secret.getAttribute("placeholder"), "***")
          assert.notInclude(await page.content(), "sk_test_abc123")
          await test.click()
          await page.getByText("Stripe accepted the key").waitFor()
          await page.getByText("The connection works").waitFor()
          // Another setting changes, the secret stays.
          await page.getByRole("textbox", { name: "Connected account" }).fill("acct_7")
          await page.getByText("What you typed is not stored yet").waitFor()
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
          await page.getByText("Nothing is stored yet.").waitFor()
          await page.getByRole("button", { name: "Deactivate" }).click()
          await dialog.getByText("No other record is affected.").waitFor()
          await dialog.getByRole("button", { name: "Deactivate" }).click()
          await page.getByRole("button", { name: "Activate", exact: true }).waitFor()
        })
      }),
    60_000,
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
        await page.getByRole("link", { name: SALESFORCE }).click()
        await page.getByRole("heading", { level: 1, name: SALESFORCE }).waitFor()
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

  it.effect(
    "recovers the deliveries since a moment, and shows request, response and time of each",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        let status = 503
        const { asked, url } = yield* localServer((_, response) => {
          response.writeHead(status).end(status === 503 ? "down for a moment" : "thanks")
        })
        const endpoint = { url, eventNames: ["CUSTOMER_CREATION"], description: "Billing" }
        const { id } = (yield* call("POST", "/webhooks", endpoint)).body
        yield* call("POST", "/customers", { name: "Recovered", slug: "recovered" })
        const { page } = yield* browser.newTab(WIDE)
        const dialog = page.getByRole("dialog")
        const rows = page.getByRole("table", { name: "History" })
        const ended = Effect.fnUntraced(function* (state: string, count: number) {
          const path = `/webhooks/history?endpoint=${id}&state=${state}`
          yield* until(
            `${count} attempts are ${state}`,
            Effect.map(call("GET", path), ({ body }) => body.items.length >= count),
          )
        })
        // The service repeats a delivery after 5 seconds, and then not for 5 minutes.
        yield* ended("Failure", 2)
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await open(page, core, "/webhooks?tab=history")
          await choose(page, page.locator(".filters"), "Endpoint", url)
          await page.getByRole("searchbox", { name: "Event, by name or id" }).fill("nonsense")
          await page.getByText("No event has this name or id.").waitFor()
          await page.getByRole("searchbox", { name: "Event, by name or id" }).fill("release deployed")
          await page.getByText("Nothing matches the filter").waitFor()
          await page.getByRole("searchbox", { name: "Event, by name or id" }).fill("customer creation")
          await page.getByText("2 rows").waitFor()
          assert.strictEqual(await rows.getByText("Failed, will be repeated").count(), 2)
          await rows.getByRole("button", { name: "Customer creation" }).first().click()
          await dialog.getByRole("region", { name: "Response" }).getByText("down for a moment").waitFor()
          await dialog.getByRole("region", { name: "Request" }).getByText("recovered").waitFor()
          await dialog.getByText("Time", { exact: true }).waitFor()
          assert.deepStrictEqual(await violationsIn(page), [])
          await page.keyboard.press("Escape")
          status = 200
          await page.getByRole("button", { name: "Recover since" }).click()
          assert.deepStrictEqual(await violationsIn(page), [])
          const since = dialog.getByLabel(/^Since/)
          await since.fill("")
          await dialog.getByRole("button", { name: "Send again" }).click()
          await dialog.locator(".field-error").waitFor()
          await since.fill(new Date(Date.now() - 600_000).toISOString().slice(0, 16))
          await dialog.getByRole("button", { name: "Send again" }).click()
          await page.locator(".read-only", { hasText: "1 delivery is sent again." }).waitFor()
        })
        yield* ended("Success", 1)
        assert.strictEqual(asked[0]?.headers["webhook-id"], asked[2]?.headers["webhook-id"])
        yield* Effect.promise(async () => {
          await open(page, core, `/webhooks?tab=history&endpoint=${id}&state=Success`)
          await page.getByText("1 row").waitFor()
          // Also what arrived can be sent again.
          await rows.getByRole("button", { name: "Customer creation" }).click()
          await dialog.getByRole("button", { name: "Retry" }).click()
        })
        yield* until(
          "all four were received",
          Effect.sync(() => asked.length >= 4),
        )
        yield* call("DELETE", `/webhooks/${id}`)
        yield* call("DELETE", "/customers/recovered")
      }),
    60_000,
  )
}
