/** Entitlements and their groups: empty, full, and one journey each. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { violationsIn } from "../Accessibility.ts"
import { describeConsole } from "../Console.ts"
import { assertClean, checkScreens } from "../Screens.ts"
import { open, settled, signIn, until, World } from "../World.ts"
import { assertErrorAt, button, choose, closed, select, textbox, WIDE } from "./Dialogs.ts"
import { failed, responseOf } from "../Problems.ts"

describeConsole("the console: entitlements and groups", (it) => {
  it.effect(
    "of an empty organization says what each list is for",
    () =>
      Effect.gen(function* () {
        const { browser, core, empty } = yield* World
        const tab = yield* browser.newTab(WIDE)
        yield* Effect.promise(async () => {
          await signIn(tab.page, core, empty.token)
          await checkScreens(tab, core, [
            ["entitlements-empty", "/entitlements"],
            ["groups-empty", "/entitlement-groups"],
            ["licenses-empty", "/licenses"],
            ["families-empty", "/licenses?tab=families"],
            ["migrations-empty", "/license-migrations"],
          ])
          for (const [path, title, action] of [
            ["/entitlements", "No entitlements yet", "New entitlement"],
            ["/entitlement-groups", "No groups yet", "New group"],
            ["/licenses", "No licenses yet", "New license"],
            ["/licenses?tab=families", "No families yet", "New license"],
          ] as const) {
            await open(tab.page, core, path)
            await tab.page.getByText(title).waitFor()
            await button(tab.page.locator(".empty"), action).waitFor()
          }
          await open(tab.page, core, "/license-migrations")
          await tab.page.getByText("No migrations yet").waitFor()
        })
      }),
    120_000,
  )

  it.effect(
    "creates, groups, changes and deletes an entitlement, with errors at their fields",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        const tab = yield* browser.newTab(WIDE)
        const { page } = tab
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await open(page, core, "/entitlements")
          await button(page, "New entitlement").click()
          const dialog = page.getByRole("dialog")
          await textbox(dialog, "Name").fill("Exports")
          await textbox(dialog, "Slug").fill("exports")
          await select(page, /Aggregation/, "Number of reports")
          await select(page, /Resets/, "Every week")
          await textbox(dialog, "Warning at").fill("101")
          await textbox(dialog, "Order in lists").fill("soon")
          await dialog.locator(".check", { hasText: "Platform" }).click()
          assert.deepStrictEqual(await violationsIn(page), [])
          await button(dialog, "Create").click()
          await assertErrorAt(textbox(dialog, "Order in lists"), /number/)
          await assertErrorAt(textbox(dialog, "Warning at"), /between 1 and 100/)
          assert.strictEqual(await textbox(dialog, "Name").inputValue(), "Exports")
          await textbox(dialog, "Order in lists").fill("50")
          await textbox(dialog, "Warning at").fill("80")
          await button(dialog, "Create").click()
          await page.getByRole("heading", { level: 1, name: "Exports" }).waitFor()
          await page.getByText("Every week").waitFor()
          await page.getByRole("tab", { name: "Groups" }).click()
          await button(page, "Remove from platform").click()
          await button(page.getByRole("dialog"), "Remove").click()
          await page.getByText("Not in any group").waitFor()
          await button(page, "Add to a group").click()
          await choose(page, "Group", "plat", "platform")
          assert.deepStrictEqual(await violationsIn(page), [])
          await button(page.getByRole("dialog"), "Add").click()
          await page.getByRole("link", { name: "Platform" }).waitFor()
          await page.getByRole("tab", { name: "Licenses" }).click()
          await page.getByText("No license grants it").waitFor()
          await button(page, "Edit").click()
          await textbox(page.getByRole("dialog"), "Name").fill("Exports of data")
          await textbox(page.getByRole("dialog"), "Unit").fill("export")
          await button(page.getByRole("dialog"), "Save").click()
          await page.getByRole("heading", { level: 1, name: "Exports of data" }).waitFor()
          await page.getByRole("tab", { name: "Activity" }).click()
          await button(page, "Entitlement updated").first().waitFor()
        })
        const { body } = yield* call("GET", "/entitlements/exports")
        assert.deepInclude(body, {
          aggregationMethod: "COUNT",
          resetPeriod: "WEEK",
          warningThresholdPercent: 80,
          displayOrder: 50,
          unitSingular: "export",
          groupSlugs: ["platform"],
        })
        yield* Effect.promise(async () => {
          await open(page, core, "/entitlements/api-calls?tab=licenses")
          await page.getByRole("link", { name: "Enterprise v2" }).waitFor()
          await button(page, "Delete").click()
          await page.getByText(/Still in use by licenses: \d/).waitFor()
          assert.isTrue(await button(page.getByRole("dialog"), "Delete").isDisabled())
          await open(page, core, "/entitlements/exports")
          await button(page, "Delete").click()
          await page.getByText("No other record is affected.").waitFor()
          await button(page.getByRole("dialog"), "Delete").click()
          await page.waitForURL(/\/entitlements$/)
          await settled(page)
        })
        assert.strictEqual((yield* call("GET", "/entitlements/exports")).status, 404)
      }),
    120_000,
  )

  it.effect(
    "creates a group, fills it, and shows what an instance uses of it",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        const tab = yield* browser.newTab(WIDE)
        const { page } = tab
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await open(page, core, "/entitlement-groups")
          await button(page, "New group").click()
          await textbox(page, "Name").fill("Limits")
          await textbox(page, "Slug").fill("Not a slug!")
          await button(page.getByRole("dialog"), "Create").click()
          await assertErrorAt(textbox(page, "Slug"), /./)
          await textbox(page, "Slug").fill("limits")
          await button(page.getByRole("dialog"), "Create").click()
          await page.getByRole("heading", { level: 1, name: "Limits" }).waitFor()
          await page.getByText("The group has no entitlements").waitFor()
          await button(page, "Add an entitlement").click()
          // Nothing is offered any more when the next text is typed.
          const nothing = page.waitForResponse(/q=none-such/)
          await page.getByRole("combobox", { name: "Entitlement" }).fill("none-such")
          await nothing
          // The list closes before the dialog is used again.
          await page.keyboard.press("Tab")
          await button(page.getByRole("dialog"), "Add").click()
          await assertErrorAt(page.getByRole("combobox", { name: "Entitlement" }), /existing entitlement/)
          // With the keyboard alone.
          await page.getByRole("combobox", { name: "Entitlement" }).fill("api")
          // The matches replace what was offered before, and with it the focus.
          await until(
            page,
            "[...document.querySelectorAll('[role=option]')].map((one) => one.textContent).join() === 'API callsapi-calls'",
          )
          await page.keyboard.press("ArrowDown")
          await page.locator("[role=option][data-focused]", { hasText: "API calls" }).waitFor()
          await page.keyboard.press("Enter")
          await page.getByRole("option").first().waitFor({ state: "detached" })
          assert.strictEqual(await page.getByRole("combobox", { name: "Entitlement" }).inputValue(), "api-calls")
          await page.keyboard.press("Enter")
          await closed(page)
          await page.getByRole("link", { name: "API calls" }).waitFor()
          await page.getByRole("tab", { name: "Usage" }).click()
          await page.getByText("Choose an instance").waitFor()
          await choose(page, "Instance", "acme logistics prod", "acme-logistics-production")
          await page.waitForURL(/instance=acme-logistics-production/)
          const row = page.getByRole("row", { name: /API calls/ })
          await row.getByText(/UTC/).waitFor()
          assert.deepStrictEqual(await violationsIn(page), [])
          await button(page, "Edit").click()
          await textbox(page, "Description").fill("What is counted")
          await button(page.getByRole("dialog"), "Save").click()
          await page.getByText("What is counted").waitFor()
          await page.getByRole("tab", { name: "Entitlements" }).click()
          await button(page, "Remove api-calls").click()
          await button(page.getByRole("dialog"), "Remove").click()
          await page.getByText("The group has no entitlements").waitFor()
          await button(page, "Delete").click()
          await button(page.getByRole("dialog"), "Delete").click()
          await page.waitForURL(/\/entitlement-groups$/)
          await page.getByRole("link", { name: "Platform" }).waitFor()
        })
        assert.strictEqual((yield* call("GET", "/entitlement-groups/limits")).status, 404)
        assertClean({ ...tab, errors: tab.errors.filter((text) => !text.includes("422")) }, core, "groups")
      }),
    120_000,
  )

  it.effect("finds entitlements by Ctrl-K, and tries again after an error", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const { page } = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await page.keyboard.press("Control+k")
        await page.getByRole("combobox").fill("storage")
        await page.getByRole("option", { name: /Storage/ }).waitFor()
        await page.route("**/api/entitlements/storage-gb", (route) => route.fulfill(responseOf(failed)))
        await page.keyboard.press("Enter")
        await page.getByText(failed.code).waitFor()
        await page.unroute("**/api/entitlements/storage-gb")
        await button(page, "Try again").click()
        await page.getByText("Latest value").waitFor()
        await page.getByRole("link", { name: "Migrations" }).click()
        await page.getByRole("heading", { level: 1, name: "License migrations" }).waitFor()
      })
    }),
  )
})
