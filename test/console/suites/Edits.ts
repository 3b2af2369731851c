/** Forms that change records: untouched values stay as they are stored, and so does what another writer changed meanwhile. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Locator, Page } from "playwright-core"
import { violationsIn } from "../Accessibility.ts"
import { open, signIn, World } from "../World.ts"
import type { Call } from "../World.ts"
import type { Suite } from "./Suite.ts"

const ZONES = ["Pacific/Honolulu", "UTC", "Asia/Kolkata", "Pacific/Kiritimati"]
const START = "2026-01-15T12:34:56.789Z"
const END = "2027-06-30T23:59:59.999Z"

const dialogOf = (page: Page) => page.getByRole("dialog")
const press = (page: Page, name: string) => dialogOf(page).getByRole("button", { name, exact: true }).click()
/** Opens a form, and waits until it has the focus: a key before that would be for the page. */
const edit = async (page: Page, name = "Edit") => {
  await page.getByRole("main").getByRole("button", { name, exact: true }).click()
  await page.locator("[role=dialog]:focus, [role=dialog] :focus").first().waitFor()
}
const closed = (page: Page) => dialogOf(page).waitFor({ state: "detached" })

/** The changes of records that a page sends from now on. Checks, which show the usage, are none. */
const writesOf = (page: Page): ReadonlyArray<{ readonly method: string; readonly body: unknown }> => {
  const writes: Array<{ readonly method: string; readonly body: unknown }> = []
  page.on("request", (request) => {
    const method = request.method()
    if (method === "PUT" || method === "PATCH") writes.push({ method, body: request.postDataJSON() })
  })
  return writes
}

/** An instance with moments of milliseconds, whose five units of a lifetime are used up. */
const spent = Effect.fnUntraced(function* (call: Call, name: string) {
  yield* call("POST", "/entitlements", { name: "Exports", slug: "lifetime-exports", type: "NUMBER" })
  yield* call("POST", "/licenses", { name: "Lifetime", slug: "lifetime", type: "PAID", lifecycleState: "PUBLISHED" })
  yield* call("POST", "/licenses/lifetime/entitlements", { entitlementSlug: "lifetime-exports", value: 5 })
  yield* call("POST", "/customers", { name: "Lifetimes", slug: "lifetimes" })
  const { body } = yield* call("POST", "/instances", {
    name,
    customerSlug: "lifetimes",
    licenseSlug: "lifetime",
    startLicenseDate: START,
    endLicenseDate: END,
    description: "  first line\n\nlast line  ",
  })
  const slug = String(body.slug)
  const checks = [{ entitlement: "lifetime-exports", requested: 5 }]
  const consumed = yield* call("POST", `/instances/${slug}/check`, { checks, consume: true })
  assert.isTrue(consumed.body.checks[0].allowed)
  return slug
})

/** What a check says about one more unit. */
const leftOf = Effect.fnUntraced(function* (call: Call, slug: string) {
  const { body } = yield* call("POST", `/instances/${slug}/check`, { checks: [{ entitlement: "lifetime-exports" }] })
  return [body.checks[0].allowed, body.checks[0].usage]
})

const errorIn = (place: Page | Locator, text: string) => place.locator(".field-error").filter({ hasText: text })
const INCOMPLETE = "The date is incomplete."

/** A form, what the person types into it, and what another writer changes: something else, then the same. */
interface Form {
  readonly noun: string
  readonly page: string
  readonly path: string
  readonly method?: "PUT" | "PATCH"
  readonly button?: string
  readonly field: string
  readonly property: string
  readonly theirs: object
  readonly same: object
  /** The dry run comes before the change. */
  readonly isReviewed?: boolean
  readonly make: ReadonlyArray<readonly [method: string, path: string, body: object]>
}

const forms: ReadonlyArray<Form> = [
  {
    noun: "customer",
    page: "/customers/two-writers",
    path: "/customers/two-writers",
    method: "PATCH",
    field: "Name",
    property: "name",
    theirs: { domain: "theirs.example" },
    same: { name: "Theirs" },
    make: [["POST", "/customers", { name: "First", slug: "two-writers", externalCustomerId: " crm 7 " }]],
  },
  {
    noun: "entitlement",
    page: "/entitlements/two-writers",
    path: "/entitlements/two-writers",
    field: "Name",
    property: "name",
    theirs: { warningThresholdPercent: 42, saleUnitFactor: 7 },
    same: { name: "Theirs" },
    make: [["POST", "/entitlements", { name: "First", slug: "two-writers", type: "NUMBER", icon: " star " }]],
  },
  {
    noun: "group",
    page: "/entitlement-groups/two-writers",
    path: "/entitlement-groups/two-writers",
    field: "Name",
    property: "name",
    theirs: { description: "theirs" },
    same: { name: "Theirs" },
    make: [["POST", "/entitlement-groups", { name: "First", slug: "two-writers" }]],
  },
  {
    noun: "zone",
    page: "/zones/two-writers",
    path: "/deployment-zones/two-writers",
    field: "Name",
    property: "name",
    theirs: { description: "theirs", metadata: { region: "us" } },
    same: { name: "Theirs" },
    make: [["POST", "/deployment-zones", { name: "First", slug: "two-writers", type: "staging" }]],
  },
  {
    noun: "license",
    page: "/licenses/two-writers",
    path: "/licenses/two-writers",
    field: "Name",
    property: "name",
    isReviewed: true,
    theirs: { graceDays: 30 },
    same: { name: "Theirs" },
    make: [["POST", "/licenses", { name: "First", slug: "two-writers", type: "PAID" }]],
  },
  {
    noun: "service account",
    page: "/service-accounts/two-writers",
    path: "/service-accounts/two-writers",
    method: "PATCH",
    field: "Name",
    property: "name",
    theirs: { externalId: "theirs" },
    same: { name: "Theirs" },
    make: [["POST", "/service-accounts", { name: "First", slug: "two-writers" }]],
  },
  {
    noun: "flag",
    page: "/flags/two-writers",
    path: "/feature-flags/two-writers",
    field: "Name",
    property: "name",
    theirs: { enabled: false, metadata: { owner: "theirs", fallback_value: null } },
    same: { name: "Theirs" },
    make: [
      [
        "POST",
        "/feature-flags",
        { key: "two-writers", name: "First", type: "boolean", variants: [{ name: "on", value: true }] },
      ],
    ],
  },
]

const WIDE = { viewport: { width: 1440, height: 900 } }

export const suite: Suite = (it) => {
  it.effect(
    "renaming an instance changes its name alone, in every time zone",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        for (const zone of ZONES) {
          const slug = yield* spent(call, `Spent in ${zone}`)
          const before = (yield* call("GET", `/instances/${slug}`)).body
          const { page } = yield* browser.newTab({ ...WIDE, timezoneId: zone })
          yield* Effect.promise(async () => {
            await signIn(page, core, furnished.token)
            await open(page, core, `/instances/${slug}`)
            const writes = writesOf(page)
            await edit(page)
            assert.strictEqual(
              await dialogOf(page)
                .getByLabel(/^Starts/)
                .inputValue(),
              "2026-01-15T12:34:56.789",
              zone,
            )
            await press(page, "Save")
            await closed(page)
            assert.deepStrictEqual(writes, [], "an untouched form sends nothing")
            await edit(page)
            await dialogOf(page).getByRole("textbox", { name: "Name", exact: true }).fill("Renamed")
            await press(page, "Save")
            await page.getByRole("heading", { level: 1, name: "Renamed" }).waitFor()
            assert.deepStrictEqual(
              writes.map(({ body }) => Object.keys(Object(body))),
              [["name", "updatedAt"]],
            )
          })
          const after = (yield* call("GET", `/instances/${slug}`)).body
          assert.deepStrictEqual(after, {
            ...before,
            name: "Renamed",
            updatedAt: after.updatedAt,
            updatedBy: after.updatedBy,
          })
          assert.deepStrictEqual(yield* leftOf(call, slug), [false, 5])
        }
      }),
    120_000,
  )

  it.effect(
    "an incomplete end of an instance sends nothing and says so, and an emptied one means never",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        for (const zone of ZONES.slice(0, 3)) {
          const slug = yield* spent(call, `Ends in ${zone}`)
          const { page } = yield* browser.newTab({ ...WIDE, timezoneId: zone })
          const writes = writesOf(page)
          const ends = dialogOf(page).getByLabel(/^Ends/)
          yield* Effect.promise(async () => {
            await signIn(page, core, furnished.token)
            await open(page, core, `/instances/${slug}`)
            await edit(page)
            await ends.focus()
            await page.keyboard.press("Backspace")
            assert.strictEqual(await ends.inputValue(), "")
            await press(page, "Save")
            await errorIn(dialogOf(page), INCOMPLETE).waitFor()
            assert.deepStrictEqual(await violationsIn(page), [])
            assert.deepStrictEqual(writes, [])
            // The missing part is typed: the seconds are as before.
            await ends.press("1")
            await errorIn(dialogOf(page), INCOMPLETE).waitFor({ state: "detached" })
            assert.match(await ends.inputValue(), /^2027-.*:59:59\.999$/)
          })
          assert.strictEqual((yield* call("GET", `/instances/${slug}`)).body.endLicenseDate, END)
          yield* Effect.promise(async () => {
            await ends.fill("2028-06-30T23:59:59.999")
            await press(page, "Save")
            await closed(page)
          })
          assert.strictEqual((yield* call("GET", `/instances/${slug}`)).body.endLicenseDate, `2028${END.slice(4)}`)
          yield* Effect.promise(async () => {
            await edit(page)
            // Part by part: the browser reports the last one with a key alone.
            await ends.focus()
            for (let part = 0; part < 8; part += 1) {
              await page.keyboard.press("Backspace")
              await page.keyboard.press("ArrowRight")
            }
            await press(page, "Save")
            await closed(page)
          })
          const { endLicenseDate, startLicenseDate } = (yield* call("GET", `/instances/${slug}`)).body
          assert.deepStrictEqual([startLicenseDate, endLicenseDate], [START, null])
        }
      }),
    120_000,
  )

  it.effect(
    "an old form keeps a renewal, asks about a change of the same field, and goes on either way",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        const slug = yield* spent(call, "Renewed")
        const renewal = { endLicenseDate: "2030-01-01T00:00:00Z", graceDays: 30 }
        const { page } = yield* browser.newTab(WIDE)
        const name = dialogOf(page).getByRole("textbox", { name: "Name", exact: true })
        const ends = dialogOf(page).getByLabel(/^Ends/)
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await open(page, core, `/instances/${slug}`)
          await edit(page)
        })
        yield* call("PATCH", `/instances/${slug}`, renewal)
        yield* Effect.promise(async () => {
          // The page shows the renewal behind the form.
          await page.getByText(/1 Jan 2030|Jan 1, 2030/).waitFor()
          await name.fill("Renamed")
          await press(page, "Save")
          await closed(page)
          await edit(page)
          await ends.fill("2031-01-01T00:00")
          await name.fill("Renamed twice")
        })
        const renamed = (yield* call("GET", `/instances/${slug}`)).body
        assert.deepStrictEqual(
          [renamed.name, renamed.endLicenseDate, renamed.graceDays],
          ["Renamed", "2030-01-01T00:00:00.000Z", 30],
        )
        yield* call("PATCH", `/instances/${slug}`, { endLicenseDate: "2040-01-01T00:00:00Z", graceDays: 40 })
        yield* Effect.promise(async () => {
          await press(page, "Save")
          await dialogOf(page).getByText("Someone else changed this meanwhile").waitFor()
          await errorIn(dialogOf(page), "Stored now: 2040-01-01T00:00:00.000Z").waitFor()
          assert.deepStrictEqual(await violationsIn(page), [])
        })
        assert.strictEqual((yield* call("GET", `/instances/${slug}`)).body.endLicenseDate, "2040-01-01T00:00:00.000Z")
        yield* Effect.promise(async () => {
          await press(page, "Take over what is stored")
          assert.strictEqual(await ends.inputValue(), "2040-01-01T00:00")
          assert.strictEqual(await name.inputValue(), "Renamed")
          await ends.fill("2041-01-01T00:00")
        })
        yield* call("PATCH", `/instances/${slug}`, { endLicenseDate: "2050-01-01T00:00:00Z", graceDays: 50 })
        yield* Effect.promise(async () => {
          await press(page, "Save")
          await press(page, "Keep what I typed")
          assert.strictEqual(await ends.inputValue(), "2041-01-01T00:00")
          await press(page, "Save")
          await closed(page)
        })
        const kept = (yield* call("GET", `/instances/${slug}`)).body
        assert.deepStrictEqual([kept.endLicenseDate, kept.graceDays], ["2041-01-01T00:00:00.000Z", 50])
      }),
    90_000,
  )

  it.effect(
    "metadata of an instance changes key by key, and asks about a change of the same key",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        const field = { label: "Tier", resourceType: "INSTANCE", jsonSchema: { type: "string" } }
        const { id } = (yield* call("POST", "/metadata-fields", { key: "tier", ...field })).body
        const path = "/instances/acme-media-production"
        yield* call("PATCH", path, { metadata: { region: "eu", tier: "  gold  " } })
        const { page } = yield* browser.newTab(WIDE)
        const tier = dialogOf(page).getByRole("textbox", { name: "Tier", exact: true })
        const chooseRegion = async (region: string) => {
          await dialogOf(page)
            .getByRole("button", { name: /Region$/ })
            .click()
          await page.getByRole("option", { name: region, exact: true }).click()
        }
        const openForm = () => page.getByRole("button", { name: "Edit metadata" }).click()
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await open(page, core, "/instances/acme-media-production?tab=metadata")
          const writes = writesOf(page)
          await openForm()
          await press(page, "Save")
          await closed(page)
          assert.deepStrictEqual(writes, [], "an untouched form sends nothing")
          await openForm()
          await chooseRegion("us")
        })
        yield* call("PATCH", path, { metadata: { region: "eu", tier: "silver" } })
        yield* Effect.promise(async () => {
          await press(page, "Save")
          await closed(page)
        })
        assert.deepStrictEqual((yield* call("GET", path)).body.metadata, { region: "us", tier: "silver" })
        yield* Effect.promise(async () => {
          await openForm()
          await tier.fill("bronze")
        })
        yield* call("PATCH", path, { metadata: { region: "eu", tier: "platinum" } })
        yield* Effect.promise(async () => {
          await press(page, "Save")
          await errorIn(dialogOf(page), "Stored now: platinum").waitFor()
          await press(page, "Keep what I typed")
          await press(page, "Save")
          await closed(page)
        })
        assert.deepStrictEqual((yield* call("GET", path)).body.metadata, { region: "eu", tier: "bronze" })
        yield* call("PATCH", path, { metadata: {} })
        yield* call("POST", `/metadata-fields/${id}/archive`)
      }),
    60_000,
  )

  for (const form of forms) {
    const { button, field, isReviewed = false, make, method = "PUT", noun, path, property, same, theirs } = form
    it.effect(
      `an old form of a ${noun} sends what the person changed, and asks about a change of the same`,
      () =>
        Effect.gen(function* () {
          const { browser, call, core, furnished } = yield* World
          for (const [verb, at, body] of make) yield* call(verb, at, body)
          const { page } = yield* browser.newTab({ ...WIDE, timezoneId: "Pacific/Honolulu" })
          const input = dialogOf(page).getByRole("textbox", { name: field, exact: true })
          const save = async () => {
            if (isReviewed) await press(page, "Continue")
            await press(page, "Save")
          }
          yield* Effect.promise(async () => {
            await signIn(page, core, furnished.token)
            await open(page, core, form.page)
            const writes = writesOf(page)
            await edit(page, button)
            await press(page, isReviewed ? "Continue" : "Save")
            await closed(page)
            assert.deepStrictEqual(writes, [], "an untouched form sends nothing")
            await edit(page, button)
          })
          const changed = yield* call(method, path, theirs)
          assert.oneOf(changed.status, [200, 204], changed.text)
          const stored = (yield* call("GET", path)).body
          yield* Effect.promise(async () => {
            await input.fill("Mine")
            await save()
            await closed(page)
          })
          const both = (yield* call("GET", path)).body
          const updates = Object.fromEntries(["updatedAt", "updatedBy"].map((name) => [name, null]))
          assert.deepStrictEqual({ ...both, ...updates }, { ...stored, [property]: "Mine", ...updates })
          yield* Effect.promise(async () => {
            await edit(page, button)
            await input.fill("Mine again")
          })
          yield* call(method, path, same)
          yield* Effect.promise(async () => {
            await press(page, isReviewed ? "Continue" : "Save")
            await dialogOf(page).getByText("Someone else changed this meanwhile").waitFor()
            await errorIn(dialogOf(page), "Stored now: Theirs").waitFor()
          })
          assert.strictEqual((yield* call("GET", path)).body[property], "Theirs")
          yield* Effect.promise(async () => {
            await press(page, "Keep what I typed")
            await save()
            await closed(page)
          })
          assert.strictEqual((yield* call("GET", path)).body[property], "Mine again")
        }),
      60_000,
    )
  }
}
