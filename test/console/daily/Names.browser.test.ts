/** Records by their names: slugs are for URLs and code. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { describeConsole } from "../Console.ts"
import { open, signIn, World } from "../World.ts"
import { button, choose, dialogOf, errorOf, press, textbox, WIDE } from "../records/Dialogs.ts"

describeConsole("the console: names", (it) => {
  it.effect("customers, licenses, zones and entitlements are shown by name, with the slug below", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const { page } = yield* browser.newTab(WIDE)
      const linked = async (path: string, name: string, slug: string) => {
        await open(page, core, path)
        const link = page.getByRole("link", { name, exact: true }).first()
        await link.waitFor()
        assert.include(await link.getAttribute("href"), `/${slug}`)
      }
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await linked("/instances?q=acme", "Acme Logistics", "acme-logistics")
        await linked("/instances?q=acme", "Enterprise", "enterprise")
        await linked("/instances/acme-logistics-production", "Acme Logistics", "acme-logistics")
        await linked("/instances/acme-logistics-production", "Frankfurt", "frankfurt")
        await linked("/licenses/enterprise-2", "API calls", "api-calls")
        await linked("/events?type=CUSTOMER_CREATION", "Acme Media", "acme-media")
        const cell = page.getByRole("row", { name: /Acme Media.*acme-media/ })
        await cell.first().waitFor()
      })
    }),
  )

  it.effect("a field for a record shows the name of what was chosen, and a name that is missing is asked for", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const { page } = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, "/instances")
        await button(page, "New instance").click()
        await choose(page, "Customer", "acme log", "acme-logistics")
        await dialogOf(page).locator(".hint").getByText("Acme Logistics", { exact: true }).waitFor()
        await open(page, core, "/customers")
        await button(page, "New customer").click()
        await textbox(page, "Name").fill("x".repeat(256))
        await press(page, "Create")
        await page.locator(".field-error").waitFor()
        assert.strictEqual(await errorOf(textbox(page, "Name")), "Enter a name (at most 255 characters)")
      })
    }),
  )

  it.effect("an empty list leads to its guide, and the guides to the console", () =>
    Effect.gen(function* () {
      const { browser, core, empty } = yield* World
      const { page } = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, empty.token)
        await open(page, core, "/webhooks")
        const link = page.getByRole("link", { name: "Read the guide" })
        await link.waitFor()
        const guide = String(await link.getAttribute("href"))
        assert.strictEqual(guide, "/docs/pages/webhooks")
        await page.goto(`${core}${guide}`)
        await page.getByRole("navigation", { name: "Documentation" }).getByRole("link", { name: "Console" }).click()
        await page.getByRole("heading", { level: 1, name: "Sign in" }).or(page.getByRole("main")).first().waitFor()
        assert.match(page.url(), /^https?:\/\/[^/]+\/console/)
      })
    }),
  )
})
