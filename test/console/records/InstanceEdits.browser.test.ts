/** Forms that change instances: untouched values stay as they are stored, and so does what another writer changed meanwhile. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { violationsIn } from "../Accessibility.ts"
import { describeConsole } from "../Console.ts"
import { open, signIn, World } from "../World.ts"
import type { Call } from "../World.ts"
import { closed, dialogOf, edit, errorIn, press, WIDE, writesOf } from "./Dialogs.ts"

const ZONES = ["Pacific/Honolulu", "UTC", "Asia/Kolkata", "Pacific/Kiritimati"]
const START = "2026-01-15T12:34:56.789Z"
const END = "2027-06-30T23:59:59.999Z"

const INCOMPLETE = "The date is incomplete."

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

describeConsole("the console: changes of instances", (it) => {
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
          await dialogOf(page).getByText("Someone else changed this in the meantime").waitFor()
          await errorIn(dialogOf(page), "Stored now: 2040-01-01T00:00:00.000Z").waitFor()
          assert.deepStrictEqual(await violationsIn(page), [])
        })
        assert.strictEqual((yield* call("GET", `/instances/${slug}`)).body.endLicenseDate, "2040-01-01T00:00:00.000Z")
        yield* Effect.promise(async () => {
          await press(page, "Use the stored values")
          assert.strictEqual(await ends.inputValue(), "2040-01-01T00:00")
          assert.strictEqual(await name.inputValue(), "Renamed")
          await ends.fill("2041-01-01T00:00")
        })
        yield* call("PATCH", `/instances/${slug}`, { endLicenseDate: "2050-01-01T00:00:00Z", graceDays: 50 })
        yield* Effect.promise(async () => {
          await press(page, "Save")
          await press(page, "Keep my changes")
          assert.strictEqual(await ends.inputValue(), "2041-01-01T00:00")
          await press(page, "Save")
          await closed(page)
        })
        const kept = (yield* call("GET", `/instances/${slug}`)).body
        assert.deepStrictEqual([kept.endLicenseDate, kept.graceDays], ["2041-01-01T00:00:00.000Z", 50])
      }),
    120_000,
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
          await press(page, "Keep my changes")
          await press(page, "Save")
          await closed(page)
        })
        assert.deepStrictEqual((yield* call("GET", path)).body.metadata, { region: "eu", tier: "bronze" })
        yield* call("PATCH", path, { metadata: {} })
        yield* call("POST", `/metadata-fields/${id}/archive`)
      }),
    120_000,
  )
})
