/** Licenses with their grants and versions, and who may only read the catalogue. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { violationsIn } from "../Accessibility.ts"
import { describeConsole } from "../Console.ts"
import { assertClean } from "../Screens.ts"
import { open, signIn, World } from "../World.ts"
import { assertErrorAt, button, choose, closed, select, textbox, WIDE } from "./Dialogs.ts"

/** Fills the form of a grant, and runs it dry. */
const grant = async (page: Page, slug: string, value: string) => {
  await button(page, "Grant an entitlement").click()
  await choose(page, "Entitlement", slug, slug)
  await textbox(page, "Value").fill(value)
  await button(page.getByRole("dialog"), "Continue").click()
}

/** Does what was run dry. */
const confirm = async (page: Page, name: string) => {
  await page.getByText(/^Preview,/).waitFor()
  await button(page.getByRole("dialog"), name).click()
  await closed(page)
}

describeConsole("the console: licenses", (it) => {
  it.effect(
    "creates a license, grants, publishes, and compares its versions",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        const tab = yield* browser.newTab(WIDE)
        const { page } = tab
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await open(page, core, "/licenses")
          await button(page, "New license").click()
          await textbox(page, "Name").fill("Scale")
          await textbox(page, "Slug").fill("scale")
          await textbox(page, "Grace period (days)").fill("400")
          await button(page.getByRole("dialog"), "Create").click()
          await assertErrorAt(textbox(page, "Grace period (days)"), /365/)
          assert.deepStrictEqual(await violationsIn(page), [])
          await textbox(page, "Grace period (days)").fill("7")
          await button(page.getByRole("dialog"), "Create").click()
          await page.getByRole("heading", { level: 1, name: "Scale v1" }).waitFor()
          await page.getByText("No grants yet").waitFor()
          await grant(page, "api-calls", "many")
          await assertErrorAt(textbox(page, "Value"), /./)
          await textbox(page, "Value").fill("123456789012345678")
          await textbox(page, "Overage").fill("10")
          await button(page.getByRole("dialog"), "Continue").click()
          await page.getByText("No other record is affected.").waitFor()
          assert.deepStrictEqual(await violationsIn(page), [])
          // What changes after the dry run is run dry again. A double click does not confirm what was not seen.
          await textbox(page, "Overage").fill("20")
          await button(page.getByRole("dialog"), "Continue").dblclick({ delay: 400 })
          await confirm(page, "Grant")
          await page.getByText("123,456,789,012,345,678").waitFor()
          await button(page, "Grant an entitlement").click()
          await choose(page, "Entitlement", "sso", "sso")
          await page.getByRole("button", { name: /^Yes Value/ }).waitFor()
          await button(page.getByRole("dialog"), "Continue").click()
          await confirm(page, "Grant")
          await button(page, "Publish").click()
          await page.getByText(/The family resolves to: none -> scale/).waitFor()
          await confirm(page, "Publish")
          await page.getByText("Published", { exact: true }).waitFor()
        })
        // They stand by the ids of their entitlements, which the demo creates at the same time.
        const grants: ReadonlyArray<{ readonly entitlementSlug: string }> = (yield* call(
          "GET",
          "/licenses/scale/entitlements",
        )).body.items
        const bySlug = grants.toSorted((a, b) => (a.entitlementSlug < b.entitlementSlug ? -1 : 1))
        assert.deepStrictEqual<unknown>(bySlug, [
          { entitlementSlug: "api-calls", value: Number("123456789012345678"), overagePercent: 20 },
          { entitlementSlug: "sso", value: true, overagePercent: 0 },
        ])
        yield* Effect.promise(async () => {
          await button(page, "New version").click()
          assert.strictEqual(await textbox(page, "Name").inputValue(), "Scale")
          await select(page, /Initial state/, "Published")
          await button(page.getByRole("dialog"), "Create").click()
          await page.getByRole("heading", { level: 1, name: "Scale v2" }).waitFor()
          await grant(page, "api-calls", "5000")
          await confirm(page, "Grant")
          await button(page, "Change the grant of api-calls").click()
          await textbox(page, "Value").fill("6000")
          await button(page.getByRole("dialog"), "Continue").click()
          await confirm(page, "Change")
          await page.getByText("6,000").waitFor()
          await button(page, "Edit").click()
          await textbox(page, "Name of the version").fill("2027")
          await button(page.getByRole("dialog"), "Continue").click()
          await confirm(page, "Save")
          // Side by side, with a version of another family.
          await page.getByRole("tab", { name: "Versions" }).click()
          const table = page.getByRole("region", { name: "Versions" })
          await table.getByRole("row", { name: /sso.*Differs.*Not granted.*Yes/ }).waitFor()
          await choose(page, "Compare with another license", "enterprise-2", "enterprise-2")
          await button(page, "Compare").click()
          await table.getByRole("columnheader", { name: /enterprise-2/ }).waitFor()
          await page.waitForURL(/compare=/)
          await page.getByText("Only differences").click()
          await table.getByRole("row", { name: /api-calls.*6,000.*123,456,789,012,345,678 \+20 %.*500,000/ }).waitFor()
          assert.deepStrictEqual(await violationsIn(page), [])
          await button(page, "More actions").click()
          await page.getByRole("menuitem", { name: "Make it the default" }).click()
          await confirm(page, "Make it the default")
          await page.getByText("Default", { exact: true }).waitFor()
        })
        assert.deepInclude((yield* call("GET", "/licenses/scale-v2")).body, { versionName: "2027", isDefault: true })
      }),
    120_000,
  )

  it.effect(
    "sets for how long products decide without the service, and what answers after that",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        yield* call("POST", "/licenses", { name: "Away", slug: "away", type: "PAID" })
        const { page } = yield* browser.newTab(WIDE)
        const dialog = page.getByRole("dialog")
        const fact = (text: string) => page.locator(".page-facts").getByText(text).waitFor()
        const save = async () => {
          await button(dialog, "Continue").click()
          await confirm(page, "Save")
        }
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await open(page, core, "/licenses/away")
          await fact("Without the service: 7 days, then deny everything")
          await button(page, "Edit").click()
          assert.strictEqual(await textbox(page, "For at most").inputValue(), "7")
          await textbox(page, "For at most").fill("100")
          await button(dialog, "Continue").click()
          await assertErrorAt(textbox(page, "For at most"), /7776000/)
          assert.deepStrictEqual(await violationsIn(page), [])
          await textbox(page, "For at most").fill("36")
          await select(page, /For at most: unit/, "Hours")
          await select(page, /After that/, "Keep deciding by the snapshot")
          await save()
          await fact("Without the service: 36 hours, then keep deciding by the snapshot")
          await button(page, "Edit").click()
          assert.strictEqual(await textbox(page, "For at most").inputValue(), "36")
        })
        assert.deepStrictEqual((yield* call("GET", "/licenses/away")).body.away, {
          staleSeconds: 129_600,
          then: "ALLOW",
        })
        // Someone else changes the answer while the form is open: only the time that was typed is sent.
        yield* call("PUT", "/licenses/away", { away: { then: "DENY" } })
        yield* Effect.promise(async () => {
          await select(page, /For at most: unit/, "Days")
          await textbox(page, "For at most").fill("3")
          await save()
          await fact("Without the service: 3 days, then deny everything")
          await button(page, "New version").click()
          assert.strictEqual(await textbox(page, "For at most").inputValue(), "3")
          await textbox(page, "For at most").fill("90")
          await select(page, /For at most: unit/, "Minutes")
          await button(dialog, "Create").click()
          await fact("Without the service: 90 minutes, then deny everything")
        })
        assert.deepStrictEqual((yield* call("GET", "/licenses/away-v2")).body.away, {
          staleSeconds: 5400,
          then: "DENY",
        })
      }),
    120_000,
  )

  it.effect("is read only without the scopes to write, and says which scope a screen needs", () =>
    Effect.gen(function* () {
      const { browser, core, tokenWith } = yield* World
      const tab = yield* browser.newTab(WIDE)
      const { page } = tab
      const token = yield* tokenWith(["read:entitlements", "read:licenses"])
      const other = yield* browser.newTab(WIDE)
      const without = yield* tokenWith(["read:customers"])
      yield* Effect.promise(async () => {
        await signIn(page, core, token)
        for (const [path, shown] of [
          ["/entitlements", "API calls"],
          ["/entitlements/api-calls?tab=groups", "Platform"],
          ["/entitlement-groups", "Platform"],
          ["/entitlement-groups/platform", "API calls"],
          ["/licenses", "Starter v1"],
          ["/licenses/starter", "API calls"],
        ] as const) {
          await open(page, core, path)
          await page.getByRole("link", { name: shown }).first().waitFor()
          await page.getByText("Read-only:").waitFor()
          // Filters and the way out are no buttons that write.
          const names = await page.locator("main").getByRole("button").allInnerTexts()
          assert.deepStrictEqual(
            names.filter((name) => !/^(All|Load more)?$/.test(name.trim())),
            [],
            path,
          )
        }
        assertClean(tab, core, "read only")
        await signIn(other.page, core, without)
        for (const [path, scope] of [
          ["/entitlements", "read:entitlements"],
          ["/entitlement-groups/platform", "read:entitlements"],
          ["/license-migrations", "read:licenses"],
        ] as const) {
          await open(other.page, core, path)
          await other.page.getByText(`This page needs the scope ${scope}`).waitFor()
        }
        assert.deepStrictEqual(await violationsIn(other.page), [])
      })
    }),
  )
})
