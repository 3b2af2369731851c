/** Forms and answers that a person comes back to: what was typed stays, and an old answer says so. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { temporaryDirectory } from "../../support/temporaryDirectory.ts"
import { violationsIn } from "../Accessibility.ts"
import { describeConsole } from "../Console.ts"
import { button, closed, dialogOf, press, textbox, WIDE } from "../records/Dialogs.ts"
import { open, signIn, World } from "../World.ts"

describeConsole("the console: forms", (it) => {
  it.effect("Escape asks before it discards what was typed, and closes what was not touched", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const { page } = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, "/customers")
        await button(page, "New customer").click()
        await dialogOf(page).locator(":focus").waitFor()
        await page.keyboard.press("Escape")
        await closed(page)
        await button(page, "New customer").click()
        await textbox(page, "Name").fill("Half a customer")
        await page.keyboard.press("Escape")
        await dialogOf(page).getByText("Discard what you typed?").waitFor()
        assert.deepStrictEqual(await violationsIn(page), [])
        await press(page, "Keep editing")
        assert.strictEqual(await textbox(page, "Name").inputValue(), "Half a customer")
        await press(page, "Close")
        await press(page, "Discard")
        await closed(page)
      })
    }),
  )

  it.effect("a saved change says so", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const { page } = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, "/customers/globex-health")
        await button(page, "Edit").click()
        await textbox(page, "Domain").fill("health.globex.example")
        await press(page, "Save")
        await page.locator(".announcement", { hasText: "Saved" }).waitFor()
        assert.deepStrictEqual(await violationsIn(page), [])
      })
    }),
  )

  it.effect("a bundle is saved as a file", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const directory = yield* temporaryDirectory
      const tab = yield* browser.newTab(WIDE)
      const { page } = tab
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, "/instances/globex-health-production")
        await button(page, "Issue bundle").click()
        await press(page, "Issue bundle")
        const saved = page.waitForEvent("download")
        await press(page, "Download")
        assert.strictEqual((await saved).suggestedFilename(), "globex-health-production.bundle")
        const file = join(directory, "saved.bundle")
        await (await saved).saveAs(file)
        assert.match(readFileSync(file, "utf8"), /^ey[\w-]+\.[\w-]+\.[\w-]+$/)
        assert.deepStrictEqual(tab.errors, [])
      })
    }),
  )

  it.effect("a check names its instance, and an answer to another question says that it is old", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const { page } = yield* browser.newTab(WIDE)
      const old = dialogOf(page).getByText("This is the answer to the check before.")
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, "/instances/globex-health-production")
        await button(page, "Check").click()
        await page.getByRole("heading", { name: "Check Globex Health production" }).waitFor()
        await dialogOf(page).locator(".check-answer").waitFor()
        assert.strictEqual(await old.count(), 0)
        await dialogOf(page).getByText("At a time").click()
        await old.waitFor()
        assert.deepStrictEqual(await violationsIn(page), [])
        await dialogOf(page).getByRole("textbox", { name: /^Time/ }).fill("2026-01-01T00:00")
        await press(page, "Check")
        await old.waitFor({ state: "detached" })
      })
    }),
  )
})
