/** The catalogue: entitlements, groups, licenses with their grants, and migrations. Empty, full, read only, and one journey each. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Locator, Page } from "playwright-core"
import { violationsIn } from "../Accessibility.ts"
import { open, settled, signIn, until, World } from "../World.ts"
import { assertClean, checkScreens } from "./Screens.ts"
import type { Suite } from "./Suite.ts"

const WIDE = { viewport: { width: 1440, height: 900 } }

const textbox = (place: Page | Locator, name: string) => place.getByRole("textbox", { name, exact: true })
const button = (place: Page | Locator, name: string | RegExp) => place.getByRole("button", { name, exact: true })

/** Chooses from a list of a few known values. */
const select = async (page: Page, label: string, choice: string) => {
  await page
    .getByRole("dialog")
    .getByRole("button", { name: new RegExp(label) })
    .click()
  await page.getByRole("option", { name: choice, exact: true }).click()
}

/** Types a part of the name of a record, and chooses it from what is offered. */
const choose = async (page: Page, label: string, text: string, slug: string) => {
  await page.getByRole("combobox", { name: label }).fill(text)
  await page
    .getByRole("option")
    .filter({ has: page.getByText(slug, { exact: true }) })
    .click()
  await page.getByRole("option").first().waitFor({ state: "detached" })
  assert.strictEqual(await page.getByRole("combobox", { name: label }).inputValue(), slug)
}

const closed = (page: Page) => page.getByRole("dialog").waitFor({ state: "detached" })

/** The error stands at the field, for screen readers too. */
const assertErrorAt = async (field: Locator, message: RegExp) => {
  const error = field.page().locator(".field-error").filter({ hasText: message })
  await error.waitFor()
  const described = String(await field.getAttribute("aria-describedby")).split(" ")
  assert.include(described, String(await error.getAttribute("id")))
}

/** Fills the form of a grant, and runs it dry. */
const grant = async (page: Page, slug: string, value: string) => {
  await button(page, "Grant an entitlement").click()
  await choose(page, "Entitlement", slug, slug)
  await textbox(page, "Value").fill(value)
  await button(page.getByRole("dialog"), "Continue").click()
}

/** Does what was run dry. */
const confirm = async (page: Page, name: string) => {
  await page.getByText(/^Dry run of/).waitFor()
  await button(page.getByRole("dialog"), name).click()
  await closed(page)
}

export const suite: Suite = (it) => {
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
    60_000,
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
          await select(page, "Aggregation", "Number of reports")
          await select(page, "Starts again", "Every week")
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
          await page.getByText("It is in no group").waitFor()
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
    60_000,
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
    60_000,
  )

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
          await textbox(page, "Days of grace").fill("400")
          await button(page.getByRole("dialog"), "Create").click()
          await assertErrorAt(textbox(page, "Days of grace"), /365/)
          assert.deepStrictEqual(await violationsIn(page), [])
          await textbox(page, "Days of grace").fill("7")
          await button(page.getByRole("dialog"), "Create").click()
          await page.getByRole("heading", { level: 1, name: "Scale v1" }).waitFor()
          await page.getByText("It grants nothing yet").waitFor()
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
          await select(page, "State at first", "Published")
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
          await choose(page, "Version of another family", "enterprise-2", "enterprise-2")
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
    60_000,
  )

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
          await page.getByText("Its grants").click()
          await button(page, "License entitlement assigned").first().waitFor()
          await open(page, core, "/licenses/move")
          await button(page, "Remove the grant of sso").click()
          await page.getByText(/move-one, sso: Granted -> Not granted/).waitFor()
          await button(page.getByRole("dialog"), "Remove").click()
          await closed(page)
          await page.getByText("It grants nothing yet").waitFor()
        })
        assert.deepStrictEqual((yield* call("GET", "/licenses/move/entitlements")).body.items, [])
      }),
    60_000,
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
        await page.getByText("No instance was moved yet").waitFor()
        await button(page, "Cancel the migration").click()
        await button(page.getByRole("dialog"), "Cancel the migration").click()
        await page.getByText("Cancelled", { exact: true }).waitFor()
        await migrate("")
        await page.getByText("2 skipped").waitFor()
        await page.getByRole("row", { name: /none-such.*Skipped.*There is no such instance/ }).waitFor()
        await page
          .getByRole("row", { name: /acme-logistics-production.*Skipped.*It has another license version/ })
          .waitFor()
        assert.deepStrictEqual(await violationsIn(page), [])
      })
    }),
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
          ["/licenses/starter", "api-calls"],
        ] as const) {
          await open(page, core, path)
          await page.getByRole("link", { name: shown }).first().waitFor()
          await page.getByText("You can read this.").waitFor()
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

  it.effect("finds entitlements by Ctrl-K, and tries again after an error", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const { page } = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await page.keyboard.press("Control+k")
        await page.getByRole("combobox").fill("storage")
        await page.getByRole("option", { name: /Storage/ }).waitFor()
        await page.route("**/api/entitlements/storage-gb", (route) =>
          route.fulfill({ status: 500, json: { code: "Service.InternalError", title: "Internal error", errors: [] } }),
        )
        await page.keyboard.press("Enter")
        await page.getByText("Service.InternalError").waitFor()
        await page.unroute("**/api/entitlements/storage-gb")
        await button(page, "Try again").click()
        await page.getByText("Latest value").waitFor()
        await page.getByRole("link", { name: "Migrations" }).click()
        await page.getByRole("heading", { level: 1, name: "License migrations" }).waitFor()
      })
    }),
  )
}
