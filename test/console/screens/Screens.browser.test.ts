/** Dialogs, the menu of narrow windows, and long lists. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { violationsIn } from "../Accessibility.ts"
import { describeConsole } from "../Console.ts"
import { assertClean, picture } from "../Screens.ts"
import { MANY, open, settled, signIn, World } from "../World.ts"

describeConsole(
  "the console: dialogs, menus and long lists",
  (it) => {
    it.effect("has its menu behind a button on a phone", () =>
      Effect.gen(function* () {
        const { browser, core, furnished } = yield* World
        const tab = yield* browser.newTab({ viewport: { width: 320, height: 700 } })
        yield* Effect.promise(async () => {
          await signIn(tab.page, core, furnished.token)
          await tab.page.getByRole("button", { name: "Menu" }).click()
          assert.deepStrictEqual(await violationsIn(tab.page), [])
          await tab.page.getByRole("link", { name: "Customers" }).click()
          await settled(tab.page)
          assert.isFalse(await tab.page.getByRole("navigation").isVisible())
          assert.deepStrictEqual(await violationsIn(tab.page), [])
        })
        assertClean(tab, core, "320 pixels")
      }),
    )

    it.effect(
      "opens dialogs without a violation, and gives the focus back",
      () =>
        Effect.gen(function* () {
          const { browser, core, furnished } = yield* World
          const tab = yield* browser.newTab({ viewport: { width: 1440, height: 900 } })
          const { page } = tab
          yield* Effect.promise(async () => {
            await signIn(page, core, furnished.token)
            await open(page, core, "/instances/acme-logistics-production")
            for (const name of ["Check", "Issue bundle", "Edit"]) {
              const button = page.getByRole("button", { name, exact: true })
              await button.click()
              await page.getByRole("dialog").waitFor()
              assert.deepStrictEqual(await violationsIn(page), [], name)
              await picture(page, `dialog-${name.toLowerCase().replace(" ", "-")}`)
              await page.keyboard.press("Escape")
              await page.getByRole("dialog").waitFor({ state: "detached" })
              assert.strictEqual(await page.evaluate("document.activeElement.textContent"), name)
            }
          })
          assertClean(tab, core, "dialogs")
        }),
      120_000,
    )

    it.effect("keeps some forty rows in the page while scrolling through all", () =>
      Effect.gen(function* () {
        const { browser, core, furnished } = yield* World
        const { page } = yield* browser.newTab({ viewport: { width: 1440, height: 900 } })
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await open(page, core, "/instances")
          assert.match(await page.locator(".count").innerText(), /^200 instances/)
          await page.evaluate("scrollTo(0, document.body.scrollHeight)")
          await page.locator('[role="row"][aria-rowindex="201"]').waitFor()
          assert.isAtMost(await page.locator('[role="row"]').count(), 60)
        })
      }),
    )
  },
  MANY,
)
