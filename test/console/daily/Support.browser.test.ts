/** What support looks at: an instance outside of its term, overrides, periods, and what changed. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { violationsIn } from "../Accessibility.ts"
import { describeConsole } from "../Console.ts"
import { WIDE } from "../records/Dialogs.ts"
import { open, settled, signIn, World } from "../World.ts"
import type { Call } from "../World.ts"

const PATH = "/instances/globex-health-production"

/** An instance of the furnished customer with a term of its own. */
const instanceOf = (call: Call, slug: string, startLicenseDate: string, endLicenseDate: string) =>
  call("POST", "/instances", {
    name: slug,
    slug,
    customerSlug: "globex-health",
    licenseSlug: "enterprise-3",
    startLicenseDate,
    endLicenseDate,
    graceDays: 0,
  })

describeConsole("the console: support", (it) => {
  it.effect("an instance outside of its term says that every check is denied", () =>
    Effect.gen(function* () {
      const { browser, call, core, furnished } = yield* World
      yield* instanceOf(call, "over", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z")
      yield* instanceOf(call, "ahead", "2126-01-01T00:00:00Z", "2127-01-01T00:00:00Z")
      const { page } = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        for (const [slug, notice] of [
          ["over", "Ended Feb 1, 2026: every check is denied."],
          ["ahead", "Starts Jan 1, 2126: until then, every check is denied."],
        ] as const) {
          await open(page, core, `/instances/${slug}`)
          await page.getByText(notice).waitFor()
          await page
            .locator(".tag", { hasText: /^(Granted|Configured)$/ })
            .first()
            .waitFor()
          assert.strictEqual(await page.locator(".table .tag.ok").count(), 0, slug)
          assert.deepStrictEqual(await violationsIn(page), [])
        }
        await open(page, core, PATH)
        await page.locator(".table .tag.ok").first().waitFor()
        assert.strictEqual(await page.getByText("every check is denied").count(), 0)
      })
    }),
  )

  it.effect("overrides end in UTC, beside who made them", () =>
    Effect.gen(function* () {
      const { browser, call, core, furnished } = yield* World
      const body = { mode: "ADD", value: 400, endsAt: "2126-12-31T00:00:00Z", reason: "Goodwill" }
      const { status } = yield* call("PUT", `${PATH}/entitlements/api-calls/override`, body)
      assert.oneOf(status, [200, 201])
      const { page } = yield* browser.newTab({ ...WIDE, timezoneId: "America/New_York" })
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, `${PATH}?tab=overrides`)
        const row = page.getByRole("table", { name: "Overrides" }).getByRole("row").nth(1)
        await row.getByText("Dec 31, 2126", { exact: true }).waitFor()
        for (const width of [1440, 1024, 861]) {
          await page.setViewportSize({ width, height: 900 })
          const hidden: ReadonlyArray<readonly [number, string]> = await page.evaluate(
            `[...document.querySelectorAll("td, [role=cell]")].map((cell) => [cell.scrollWidth - cell.clientWidth, cell.innerText])`,
          )
          assert.isNotEmpty(hidden)
          // Browsers round both widths to whole pixels.
          for (const [pixels, text] of hidden) assert.isAtMost(pixels, 1, `${width}: ${text}`)
        }
        // Midnight in UTC is the evening before in New York.
        await page.setViewportSize(WIDE.viewport)
        await open(page, core, PATH)
        await page
          .getByText(/^[A-Z][a-z]{2} 1, 00:00 UTC \([A-Z][a-z]{2} (28|29|30|31), \d+:\d\d.PM\)$/)
          .first()
          .waitFor()
      })
      yield* call("DELETE", `${PATH}/entitlements/api-calls/override`)
    }),
  )

  it.effect("the activity of an instance has its overrides, keys and bundles", () =>
    Effect.gen(function* () {
      const { browser, call, core, furnished } = yield* World
      yield* call("PUT", `${PATH}/entitlements/api-calls/override`, { mode: "ADD", value: 7 })
      yield* call("POST", `${PATH}/keys`, { name: "product" })
      const bundle = yield* call("POST", `${PATH}/offline-bundles`, {})
      yield* call("DELETE", `${PATH}/offline-bundles/${bundle.body.id}`)
      const { page } = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, `${PATH}?tab=activity`)
        const table = page.getByRole("table", { name: "Activity" })
        for (const name of [
          "Instance created",
          "Instance entitlement overridden",
          "Token issued",
          "Offline bundle issued",
          "Offline bundle revoked",
        ]) {
          await table.getByRole("button", { name, exact: true }).first().waitFor()
        }
      })
    }),
  )

  it.effect("the events of a record are found by its slug, and a filter without events says so", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const { page } = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, "/events")
        await page.getByRole("searchbox", { name: "About (id or slug)" }).fill("globex-health-production")
        await page.waitForURL(/resource=globex-health-production/)
        await settled(page)
        const table = page.getByRole("table", { name: "Events" })
        // The events of before stay until those of the record arrive.
        await table.getByRole("button", { name: "Customer created" }).first().waitFor({ state: "detached" })
        await table.getByRole("button", { name: "Instance created" }).waitFor()
        await page.getByRole("searchbox", { name: "About (id or slug)" }).fill("no-such-record")
        await page.getByText("Nothing matches the filter").waitFor()
      })
    }),
  )

  it.effect("an override has a field by the type of its entitlement, and shows what comes out", () =>
    Effect.gen(function* () {
      const { browser, call, core, furnished } = yield* World
      const { licenseSlug } = (yield* call("GET", PATH)).body
      const grants = yield* call("GET", `/licenses/${licenseSlug}/entitlements`)
      const { value } = grants.body.items.find(
        ({ entitlementSlug }: { entitlementSlug: string }) => entitlementSlug === "api-calls",
      )
      const { page } = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, `${PATH}?tab=overrides`)
        await page.getByRole("button", { name: "Override a limit" }).click()
        const dialog = page.getByRole("dialog")
        await dialog.getByRole("textbox", { name: "Entitlement" }).fill("api-calls")
        await dialog.getByRole("textbox", { name: "Value" }).fill("400")
        const [base, total] = [value, value + 400].map((number) => number.toLocaleString("en-US"))
        await dialog.getByText(`${base} + 400 = ${total}`, { exact: true }).waitFor()
        assert.deepStrictEqual(await violationsIn(page), [])
        await dialog.getByRole("textbox", { name: "Entitlement" }).fill("sso")
        await dialog.getByRole("button", { name: /Value/ }).waitFor()
        assert.strictEqual(await dialog.getByText("+ 400", { exact: false }).count(), 0)
        assert.strictEqual(await dialog.getByRole("button", { name: /Mode/ }).count(), 0)
      })
    }),
  )

  it.effect("the page of a record that does not exist leads back to its list", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const { page } = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        for (const [path, list] of [
          ["/customers/nobody", "customers"],
          ["/licenses/nothing", "licenses"],
          ["/flags/nothing", "feature flags"],
        ] as const) {
          await open(page, core, path)
          const back = page.getByRole("link", { name: `Back to ${list}` })
          await back.waitFor()
          assert.strictEqual(await page.getByRole("button", { name: "Try again" }).count(), 0)
          assert.deepStrictEqual(await violationsIn(page), [])
          await back.click()
          await page.waitForURL(new RegExp(`${path.slice(0, path.lastIndexOf("/"))}$`))
        }
      })
    }),
  )

  it.effect("a form that the page of a customer opened leads back to the customer", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const { page } = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, "/customers/globex-health")
        await page.getByRole("link", { name: "New instance" }).click()
        await page.getByRole("dialog").waitFor()
        await page.keyboard.press("Escape")
        await page.waitForURL(/\/customers\/globex-health$/)
      })
    }),
  )

  it.effect("the activity of a customer has its instances, with what belongs to them", () =>
    Effect.gen(function* () {
      const { browser, call, core, furnished } = yield* World
      yield* call("POST", "/instances/globex-health-production/keys", { name: "related" })
      const { page } = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, "/customers/globex-health?tab=activity")
        const table = page.getByRole("table", { name: "Activity" })
        for (const name of ["Instance created", "Token issued"]) {
          await table.getByRole("button", { name, exact: true }).first().waitFor()
        }
      })
    }),
  )

  it.effect("an actor that is no longer there is described by its events, with the credentials that it used", () =>
    Effect.gen(function* () {
      const { browser, call, core, furnished, tokenWith } = yield* World
      const machine = yield* call("POST", "/service-accounts", { name: "Old machine", slug: "old-machine" })
      const issued = yield* call("POST", "/service-accounts/old-machine/tokens", {
        name: "Old token",
        scopes: ["write:customers"],
      })
      yield* call("POST", "/customers", { name: "By a machine", slug: "by-a-machine" }, issued.body.token)
      yield* call("DELETE", "/service-accounts/old-machine")
      yield* call("POST", "/customers", { name: "By the operator" }, yield* tokenWith(["write:customers"]))
      const { page } = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, `/actors/${machine.body.id}`)
        await page.getByText(/A service account, deleted/).waitFor()
        const used = page.locator("section", { hasText: "Credentials of the newest events" })
        await used.getByText("Old token").waitFor()
        await used.getByText("Revoked", { exact: true }).waitFor()
        assert.deepStrictEqual(await violationsIn(page), [])
        await open(page, core, "/actors/00000000-0000-7000-8000-000000000001")
        await page.getByText(/The operator of this installation or/).waitFor()
        await page.getByText("Token that the operator issued.", { exact: false }).first().waitFor()
        assert.strictEqual(await page.getByRole("button", { name: /^Revoke/ }).count(), 0)
        assert.deepStrictEqual(await violationsIn(page), [])
      })
    }),
  )

  it.effect("each screen links the guide that explains it, which the service serves", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const { page } = yield* browser.newTab(WIDE)
      const guides = yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        const found = new Set<string>()
        for (const { pathname } of await page.evaluate<ReadonlyArray<{ pathname: string }>>(
          `[...document.querySelectorAll(".nav a")].map(({ pathname }) => ({ pathname }))`,
        )) {
          await open(page, core, pathname.slice("/console".length))
          await page.getByRole("button", { name: "Help" }).click()
          const link = page.getByRole("link", { name: "Help for this screen" })
          found.add((await link.getAttribute("href")) ?? "")
          await page.keyboard.press("Escape")
        }
        return found
      })
      assert.includeMembers([...guides], ["/docs/pages/webhooks", "/docs/pages/events", "/docs/pages/console"])
      for (const guide of guides) {
        const { status } = yield* Effect.promise(() => fetch(core + guide))
        assert.strictEqual(status, 200, guide)
      }
    }),
  )
})
