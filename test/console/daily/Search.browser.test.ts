/** The search of a person who types at once, who remembers a part of a name, or who looks for a screen. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { violationsIn } from "../Accessibility.ts"
import { describeConsole } from "../Console.ts"
import { button, dialogOf, textbox, WIDE } from "../records/Dialogs.ts"
import { open, signIn, World } from "../World.ts"

describeConsole("the console: search", (it) => {
  it.effect("gets every letter that is typed at once after Ctrl-K, and none of them is a shortcut", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const { page } = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        // A new page, so that nothing that the search needs later is loaded.
        await page.goto(`${core}/console/customers`)
        await page.locator("main h1").waitFor()
        await page.keyboard.press("g")
        await page.keyboard.press("Control+k")
        await page.keyboard.type("li globex")
        assert.strictEqual(await page.getByRole("combobox").inputValue(), "li globex")
        assert.match(page.url(), /\/customers$/)
        await page.getByRole("combobox").fill("nothing like it")
        await page.getByText('No results for "nothing like it"').waitFor()
        assert.deepStrictEqual(await violationsIn(page), [])
        await page.keyboard.press("Escape")
        await page.getByRole("combobox").waitFor({ state: "detached" })
      })
    }),
  )

  it.effect("opens above a form, and gives the focus back to it", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const { page } = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, "/customers")
        await button(page, "New customer").click()
        await textbox(page, "Name").fill("Half")
        await page.keyboard.press("Control+k")
        await page.keyboard.type("acme")
        assert.strictEqual(await page.getByRole("combobox").inputValue(), "acme")
        await page.keyboard.press("Escape")
        await page.getByRole("combobox").waitFor({ state: "detached" })
        await textbox(dialogOf(page), "Name").and(page.locator(":focus")).waitFor()
        await page.keyboard.type(" typed")
        assert.strictEqual(await textbox(dialogOf(page), "Name").inputValue(), "Half typed")
      })
    }),
  )

  it.effect(
    "finds records by words, flags, components and screens by any part of their name, and leads to all matches",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        const variants = [{ name: "on", value: true }]
        yield* call("POST", "/feature-flags", { key: "early-export", name: "Early export", type: "boolean", variants })
        for (let index = 1; index <= 7; index++) {
          yield* call("POST", "/customers", { name: `Many ${index}`, slug: `many-${index}` })
        }
        const { page } = yield* browser.newTab(WIDE)
        const find = async (text: string, result: RegExp) => {
          await page.keyboard.press("Control+k")
          await page.getByRole("combobox").fill(text)
          await page.getByRole("option", { name: result }).click()
        }
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await find("export", /^Early export/)
          await page.getByRole("heading", { level: 1, name: "Early export" }).waitFor()
          await find("accounts", /^Service accounts/)
          await page.getByRole("heading", { level: 1, name: "Service accounts" }).waitFor()
          // By a later word of the name, and by words of name and slug in any order.
          await find("health", /^Globex Health ?globex-health/)
          await page.getByRole("heading", { level: 1, name: "Globex Health" }).waitFor()
          await find("prod logi acme", /^Acme Logistics production/)
          await page.getByRole("heading", { level: 1, name: "Acme Logistics production" }).waitFor()
          await find("many", /^Show all customers/)
          await page.waitForURL(/\/customers\?q=many$/)
          await page.getByText(/^7 (customers|instances)/).waitFor()
        })
      }),
  )
})
