/** The credits of an instance: adding one, what is left of each, and voiding one. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { violationsIn } from "../Accessibility.ts"
import { describeConsole } from "../Console.ts"
import { button, closed, dialogOf, press, select, textbox, WIDE } from "../records/Dialogs.ts"
import { open, signIn, World } from "../World.ts"

const INSTANCE = "acme-logistics-production"

describeConsole("the console: credits of an instance", (it) => {
  it.effect("are added after their effect was shown, listed with what is left, and voided", () =>
    Effect.gen(function* () {
      const { browser, call, core, furnished } = yield* World
      yield* call("POST", "/entitlements", { name: "Renders", slug: "renders", type: "NUMBER" })
      const { page } = yield* browser.newTab(WIDE)
      const table = page.getByRole("table", { name: "Credits" })
      const row = table.getByRole("row").filter({ hasText: "Top-up" })
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, `/instances/${INSTANCE}?tab=credits`)
        await select(page, /Entitlement$/, "Renders", page.getByRole("main"))
        await page.getByText("No credits").waitFor()
        await button(page.getByRole("main"), "Add a credit").click()
        await textbox(dialogOf(page), "Amount").fill("500")
        await textbox(dialogOf(page), "Reason").fill("Top-up")
        await press(page, "Continue")
        // Nothing grants the entitlement before.
        await dialogOf(page).getByText("renders").first().waitFor()
        await press(page, "Add a credit")
        await closed(page)
        await row.getByText("500 / 500").waitFor()
        assert.deepStrictEqual(await violationsIn(page), [])
      })
      const { body } = yield* call("GET", `/instances/${INSTANCE}/entitlements/renders/credits`)
      const [credit] = body.items
      assert.deepStrictEqual(
        [credit.amount, credit.priority, credit.reason, credit.externalId],
        [500, 50, "Top-up", null],
      )
      yield* Effect.promise(async () => {
        await button(row, "Void").click()
        await dialogOf(page).getByText("What it has paid stays paid").waitFor()
        await press(page, "Void")
        await closed(page)
        await row.waitFor({ state: "detached" })
        await page.getByText("Show ended").click()
        await row.getByText("Voided").waitFor()
      })
      assert.strictEqual((yield* call("GET", `/credits/${credit.id}`)).body.state, "VOIDED")
    }),
  )
})
