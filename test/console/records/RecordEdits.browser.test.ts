/** Forms that change records of other kinds, and another writer who changes the same record meanwhile. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { describeConsole } from "../Console.ts"
import { open, signIn, World } from "../World.ts"
import { closed, dialogOf, edit, errorIn, press, WIDE, writesOf } from "./Dialogs.ts"

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

describeConsole("the console: changes of records", (it) => {
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
            await dialogOf(page).getByText("Someone else changed this in the meantime").waitFor()
            await errorIn(dialogOf(page), "Stored now: Theirs").waitFor()
          })
          assert.strictEqual((yield* call("GET", path)).body[property], "Theirs")
          yield* Effect.promise(async () => {
            await press(page, "Keep my changes")
            await save()
            await closed(page)
          })
          assert.strictEqual((yield* call("GET", path)).body[property], "Mine again")
        }),
      120_000,
    )
  }
})
