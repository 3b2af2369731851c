/** Migrations of instances to other license versions. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { violationsIn } from "../Accessibility.ts"
import { describeConsole } from "../Console.ts"
import { checkScreens } from "../Screens.ts"
import { open, settled, signIn, World } from "../World.ts"
import { assertErrorAt, button, choose, closed, textbox, WIDE } from "./Dialogs.ts"

describeConsole("the console: license migrations", (it) => {
  it.effect(
    "migrates instances to another version, and moves them back",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        const tab = yield* browser.newTab(WIDE)
        const { page } = tab
        const made = Effect.fnUntraced(function* (path: string, body: object) {
          const created = yield* call("POST", path, body)
          assert.strictEqual(created.status, 201, JSON.stringify(created.body))
        })
        yield* made("/licenses", { name: "Move", slug: "move", type: "PAID" })
        yield* made("/licenses/move/entitlements", { entitlementSlug: "sso", value: true })
        yield* made("/licenses", { name: "Move", slug: "move-v2", type: "PAID", familySlug: "move" })
        const start = {
          customerSlug: "from-the-pipeline",
          licenseSlug: "move",
          startLicenseDate: "2026-01-01T00:00:00Z",
          endLicenseDate: null,
        }
        for (const slug of ["move-one", "move-two"]) {
          yield* made("/instances", { ...start, name: slug, slug })
        }
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await open(page, core, "/licenses/move")
          await button(page, "Migrate").click()
          await page.getByRole("combobox", { name: "To the version" }).fill("none-such")
          await page.keyboard.press("Tab")
          await button(page.getByRole("dialog"), "Continue").click()
          await assertErrorAt(page.getByRole("combobox", { name: "To the version" }), /existing license/)
          await choose(page, "To the version", "move", "move-v2")
          await button(page.getByRole("dialog"), "Continue").click()
          await page.getByText("Instances that would move: 2").waitFor()
          await page.getByText("move-one (from-the-pipeline)").waitFor()
          await page.getByText(/move-two, sso: Granted -> Not granted/).waitFor()
          assert.deepStrictEqual(await violationsIn(page), [])
          await button(page.getByRole("dialog"), "Migrate").click()
          await page.getByRole("heading", { level: 1, name: "move to move-v2" }).waitFor()
          await page.getByText("Done", { exact: true }).waitFor()
          await page.getByText("2 of 2").waitFor()
          await page.getByRole("row", { name: /move-one.*Moved/ }).waitFor()
        })
        assert.strictEqual((yield* call("GET", "/instances/move-one")).body.licenseSlug, "move-v2")
        const { pathname } = new URL(page.url())
        yield* Effect.promise(async () => {
          await button(page, "Revert").click()
          assert.deepStrictEqual(await violationsIn(page), [])
          await button(page.getByRole("dialog"), "Revert").click()
          await page.getByRole("row", { name: /move-two.*Moved back/ }).waitFor()
          await page.getByRole("tab", { name: "Activity" }).click()
          await button(page, "License migration reverted").waitFor()
          await checkScreens({ ...tab, errors: [] }, core, [
            ["migration", pathname.replace("/console", "")],
            ["migrations", "/license-migrations"],
          ])
          await page.getByRole("link", { name: "move to move-v2" }).click()
          await page.setViewportSize({ width: 320, height: 700 })
          await settled(page)
          assert.isAtMost(Number(await page.evaluate("document.documentElement.scrollWidth")), 320)
          assert.deepStrictEqual(await violationsIn(page), [])
        })
        assert.strictEqual((yield* call("GET", "/instances/move-one")).body.licenseSlug, "move")
        yield* Effect.promise(async () => {
          await page.setViewportSize(WIDE.viewport)
          await open(page, core, "/licenses/move?tab=activity")
          await button(page, "License entitlement assigned").first().waitFor()
          await open(page, core, "/licenses/move")
          await button(page, "Remove the grant of sso").click()
          await page.getByText(/move-one, sso: Granted -> Not granted/).waitFor()
          await button(page.getByRole("dialog"), "Remove").click()
          await closed(page)
          await page.getByText("No grants yet").waitFor()
        })
        assert.deepStrictEqual((yield* call("GET", "/licenses/move/entitlements")).body.items, [])
      }),
    120_000,
  )

  it.effect("names an instance that does not exist, and cancels a migration that is to come", () =>
    Effect.gen(function* () {
      const { browser, call, core, furnished } = yield* World
      yield* call("POST", "/licenses", { name: "Leaving", slug: "leaving", type: "TRIAL" })
      const { page } = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        const migrate = async (at: string) => {
          await open(page, core, "/licenses/leaving")
          await button(page, "Migrate").click()
          await choose(page, "To the version", "starter", "starter")
          await page.getByRole("dialog").getByText("By name").click()
          await textbox(page.getByRole("dialog"), "Instances").fill("none-such\nacme-logistics-production")
          await page.getByLabel("Start at").fill(at)
          await button(page.getByRole("dialog"), "Continue").click()
          await page.getByText("No other record is affected.").waitFor()
          await button(page.getByRole("dialog"), "Migrate").click()
          await page.getByRole("heading", { level: 1, name: "leaving to starter" }).waitFor()
        }
        await migrate("2099-01-01T00:00")
        await page.getByText("Scheduled", { exact: true }).waitFor()
        await page.getByText("No instances have been moved yet").waitFor()
        await button(page, "Cancel the migration").click()
        await button(page.getByRole("dialog"), "Cancel the migration").click()
        await page.getByText("Cancelled", { exact: true }).waitFor()
        await migrate("")
        await page.getByText("2 skipped").waitFor()
        await page.getByRole("row", { name: /none-such.*Skipped.*The instance does not exist/ }).waitFor()
        await page
          .getByRole("row", { name: /acme-logistics-production.*Skipped.*It has another license version/ })
          .waitFor()
        assert.deepStrictEqual(await violationsIn(page), [])
      })
    }),
  )
})
