/** Forms: errors at their fields, one request for two presses, and lost answers that are replayed. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { violationsIn } from "../Accessibility.ts"
import { describeConsole } from "../Console.ts"
import { assertClean } from "../Screens.ts"
import { open, signIn, World } from "../World.ts"

describeConsole("the console: writing", (it) => {
  it.effect("issues a token with the scopes that the person holds, and shows it once", () =>
    Effect.gen(function* () {
      const { browser, call, core, tokenWith } = yield* World
      const held = yield* tokenWith(["write:tokens", "write:customers"])
      const { page } = yield* browser.newTab({ viewport: { width: 1440, height: 900 } })
      const secret = yield* Effect.promise(async () => {
        await signIn(page, core, held)
        await open(page, core, "/service-accounts/build-pipeline")
        await page.getByRole("button", { name: "Issue a token" }).click()
        const dialog = page.getByRole("dialog")
        assert.isTrue(await dialog.getByRole("checkbox", { name: "Read: Licenses" }).isDisabled())
        assert.isTrue(await dialog.getByRole("button", { name: "Read everything" }).isDisabled())
        await dialog.getByRole("textbox", { name: "Name" }).fill("Sync")
        await dialog
          .getByRole("row", { name: /Customers/ })
          .locator(".check")
          .last()
          .click()
        assert.isTrue(await dialog.getByRole("checkbox", { name: "Read: Customers" }).isChecked())
        assert.deepStrictEqual(await violationsIn(page), [])
        await dialog.getByRole("button", { name: "Issue a token" }).click()
        const value = await page.getByRole("textbox", { name: "The token" }).inputValue()
        await page.getByText("I have saved it").click()
        await page.getByRole("button", { name: "Done" }).click()
        await page.getByText(`...${value.slice(-4)}`).waitFor()
        assert.notInclude(await page.content(), value)
        return value
      })
      assert.deepStrictEqual((yield* call("GET", "/me", undefined, secret)).body.scopes, ["write:customers"])
    }),
  )

  it.effect("shows what the service refuses at its field", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const { page } = yield* browser.newTab()
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, "/customers")
        await page.getByRole("button", { name: "New customer" }).click()
        await page.getByRole("textbox", { name: "Name", exact: true }).fill("Umbrella")
        await page.getByRole("textbox", { name: "Slug", exact: true }).fill("Not a slug!")
        await page.getByRole("dialog").getByRole("button", { name: "Create" }).click()
        await page.locator(".field-error").waitFor()
        const described = await page
          .getByRole("textbox", { name: "Slug", exact: true })
          .getAttribute("aria-describedby")
        const error = await page.locator(".field-error").getAttribute("id")
        assert.include(String(described).split(" "), String(error))
        assert.strictEqual(await page.getByRole("textbox", { name: "Name", exact: true }).inputValue(), "Umbrella")
      })
    }),
  )

  it.effect("creates once for two presses, and once if the answer is lost", () =>
    Effect.gen(function* () {
      const { browser, call, core, furnished } = yield* World
      const { page } = yield* browser.newTab()
      const keys: Array<string | undefined> = []
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, "/customers")
        await page.getByRole("button", { name: "New customer" }).click()
        await page.getByRole("textbox", { name: "Name", exact: true }).fill("Twice Presser")
        await page.route("**/api/customers", async (route) => {
          if (route.request().method() !== "POST") return route.fallback()
          keys.push(route.request().headers()["idempotency-key"])
          // The service makes the customer; the first answer does not arrive.
          const response = await route.fetch()
          return keys.length === 1 ? route.abort() : route.fulfill({ response })
        })
        const create = page.getByRole("dialog").getByRole("button", { name: "Create" })
        await create.dblclick()
        await page.getByText("The service cannot be reached").waitFor()
        assert.strictEqual(keys.length, 1)
        await create.click()
        await page.getByRole("heading", { level: 1, name: "Twice Presser" }).waitFor()
      })
      assert.strictEqual(keys.length, 2)
      assert.isString(keys[0])
      assert.strictEqual(keys[0], keys[1])
      const { body } = yield* call("GET", "/customers?q=twice")
      assert.strictEqual(body.items.length, 1)
    }),
  )

  it.effect("shows the dry run before it deletes", () =>
    Effect.gen(function* () {
      const { browser, call, core, furnished } = yield* World
      yield* call("POST", "/customers", { name: "Short Lived", slug: "short-lived" })
      const { page } = yield* browser.newTab()
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, "/customers/acme-logistics")
        await page.getByRole("button", { name: "Delete" }).click()
        await page.getByText("Still in use by instances: 4").waitFor()
        assert.isTrue(await page.getByRole("dialog").getByRole("button", { name: "Delete" }).isDisabled())
        await open(page, core, "/customers/short-lived")
        await page.getByRole("button", { name: "Delete" }).click()
        await page.getByText("No other record is affected.").waitFor()
        await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click()
        await page.waitForURL(/\/customers$/)
      })
      assert.strictEqual((yield* call("GET", "/customers/short-lived")).status, 404)
    }),
  )

  it.effect("reads nothing of a deleted record, though its page is still there when the next event comes", () =>
    Effect.gen(function* () {
      const { browser, call, core, furnished } = yield* World
      yield* call("POST", "/entitlement-groups", { name: "Short Lived", slug: "short-lived" })
      const tab = yield* browser.newTab()
      const { page } = tab
      const readings: Array<string> = []
      const loaded = Promise.withResolvers<void>()
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, "/entitlement-groups/short-lived?tab=activity")
        // The list that follows loads slowly.
        await page.route("**/assets/GroupsPage-*", async (route) => {
          await loaded.promise
          return route.fallback()
        })
        await page.getByRole("button", { name: "Delete" }).click()
        const gone = page.waitForResponse((response) => response.request().method() === "DELETE")
        await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click()
        await gone
        // The stream reports the deletion, and all that events concern is read again.
        const live = page.waitForResponse(/\/api\/events\?.*resource=/)
        page.on("request", (request) => readings.push(new URL(request.url()).pathname))
        await live
        assert.deepStrictEqual(
          readings.filter((path) => path.startsWith("/api/entitlement-groups/")),
          [],
        )
        loaded.resolve()
        await page.waitForURL(/\/entitlement-groups$/)
        await page.getByRole("link", { name: "Platform" }).waitFor()
        assertClean(tab, core, "the page of a deleted group")
        // Nothing of it was kept either.
        await page.goBack()
        await page.getByRole("link", { name: "Back to groups" }).waitFor()
      })
    }),
  )
})
