import { assert, describe, it as unit, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { previousOf } from "../../src/domains/events/Rules.ts"
import { isChangeName } from "../../src/kernel/contract/Event.ts"
import type { EventName } from "../../src/kernel/contract/Event.ts"
import { parseJson } from "../../src/kernel/values/Decimal.ts"
import { TestService } from "../support/TestService.ts"
import { follow } from "./support.ts"

type Data = Readonly<Record<string, unknown>>

interface EventItem {
  readonly type: EventName
  readonly data: Data
  readonly previous?: Data
}

const names = ["name", "slug", "value", "updatedAt", "updatedBy"] as const

const Records = Schema.Struct({
  before: Schema.Record(Schema.Literals(names), Schema.Json),
  after: Schema.Record(Schema.Literals(names), Schema.Json),
})

/** A record without who changed it and when. A property that is absent is as one with `null`. */
const essence = ({ updatedAt: _at, updatedBy: _by, ...record }: Data): Data =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null))

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe("the previous values of a change", () => {
  unit.prop(
    "written over the record after the change, they give the record before it",
    { records: Records },
    ({ records }) => {
      const { after, before } = records
      const previous = previousOf(before, after)
      assert.deepStrictEqual(asJson(essence({ ...after, ...previous })), asJson(essence(before)))
      for (const name of Object.keys(previous))
        assert.notDeepEqual(asJson(previous[name]), asJson(Reflect.get(after, name)))
      assert.doesNotHaveAnyKeys(previous, ["updatedAt", "updatedBy"])
    },
  )

  unit("the order of an object's properties is no change, and every digit of an amount counts", () => {
    assert.deepStrictEqual(previousOf({ value: { a: 1, b: 2 } }, { value: { b: 2, a: 1 } }), {})
    const [before, after] = ["0.12345678901234567", "0.12345678901234568"].map(
      (text) => parseJson(`{"value":${text}}`) as Data,
    )
    assert.strictEqual(JSON.stringify(previousOf(before ?? {}, after ?? {})), '{"value":0.12345678901234567}')
  })
})

layer(TestService.layer, { excludeTestServices: true })("events of changes", (it) => {
  it.effect("have the values before the change, in pages and live, for every kind of record", () =>
    Effect.gen(function* () {
      const { core, operator, origins, platform, tenant } = yield* TestService
      const { organizationId, token } = yield* tenant()
      const live = yield* follow(origins.core, token)
      const send = Effect.fnUntraced(function* (method: string, path: string, body?: unknown) {
        const response = yield* core(method, path, { token, ...(body === undefined ? {} : { body }) })
        assert.isBelow(response.status, 300, `${method} ${path}: ${response.text}`)
        return response.body
      })

      yield* send("POST", "/entitlements", { name: "Seats", slug: "seats", type: "NUMBER" })
      yield* send("PUT", "/entitlements/seats", { name: "Seats 2", unitPlural: "seats" })
      yield* send("POST", "/entitlement-groups", { name: "Core", slug: "core" })
      yield* send("POST", "/entitlement-groups/core/entitlements", { entitlementSlug: "seats" })
      yield* send("PUT", "/entitlement-groups/core", { description: "All" })
      yield* send("DELETE", "/entitlement-groups/core/entitlements/seats")
      yield* send("POST", "/licenses", { name: "Pro", slug: "pro", type: "PAID", isDefault: true })
      yield* send("POST", "/licenses", {
        name: "Pro",
        slug: "pro-2",
        type: "PAID",
        familySlug: "pro",
        lifecycleState: "DRAFT",
      })
      yield* send("POST", "/licenses/pro-2/publish")
      yield* send("PUT", "/licenses/pro-2", { isDefault: true })
      yield* send("POST", "/licenses/pro/archive")
      yield* send("POST", "/licenses/pro/unarchive")
      yield* send("POST", "/licenses/pro-2/entitlements", { entitlementSlug: "seats", value: 10 })
      yield* send("PUT", "/licenses/pro-2/entitlements/seats", { value: 20 })
      yield* send("POST", "/customers", { name: "Globex", slug: "globex" })
      yield* send("PATCH", "/customers/globex", { name: "Globex 2", domain: "globex.example" })
      // Nothing changes but the time.
      yield* send("PATCH", "/customers/globex", { name: "Globex 2" })
      yield* send("POST", "/instances", {
        name: "Prod",
        slug: "prod",
        customerSlug: "globex",
        licenseSlug: "pro",
        startLicenseDate: "2026-01-01T00:00:00Z",
        endLicenseDate: "2027-01-01T00:00:00Z",
      })
      yield* send("PATCH", "/instances/prod", { licenseSlug: "pro-2", endLicenseDate: "2028-01-01T00:00:00Z" })
      yield* send("POST", "/deployment-zones", { name: "EU", slug: "eu", type: "SAAS" })
      yield* send("PUT", "/deployment-zones/eu", { name: "Europe" })
      const field = yield* send("POST", "/metadata-fields", {
        key: "region",
        label: "Region",
        resourceType: "INSTANCE",
        jsonSchema: { type: "string" },
      })
      yield* send("PATCH", `/metadata-fields/${field.id}`, { label: "Home region" })
      yield* send("POST", `/metadata-fields/${field.id}/archive`)
      yield* send("POST", `/metadata-fields/${field.id}/unarchive`)
      yield* send("POST", "/feature-flags", { key: "beta", type: "boolean" })
      yield* send("PUT", "/feature-flags/beta", { enabled: false })
      yield* send("POST", "/service-accounts", { name: "Build", slug: "build" })
      yield* send("PATCH", "/service-accounts/build", { name: "Builds" })
      const endpoint = yield* send("POST", "/webhooks", {
        url: "https://example.com/hook",
        eventNames: ["TOKEN_EXPIRED"],
      })
      yield* send("PUT", `/webhooks/${endpoint.id}`, { eventNames: ["*"] })
      const asOperator = { token: operator }
      const user = yield* platform("POST", "/platform/users", { ...asOperator, body: { name: "Anna" } })
      const members = `/platform/organizations/${organizationId}/memberships`
      yield* platform("POST", members, { ...asOperator, body: { userId: user.body.id, role: "MEMBER" } })
      yield* platform("PATCH", `${members}/${user.body.id}`, { ...asOperator, body: { role: "ADMIN" } })

      const items: ReadonlyArray<EventItem> = (yield* core("GET", "/events?limit=200", { token })).body.items
      const last = new Map<unknown, Data>()
      let changes = 0
      for (const { data, previous, type } of items) {
        const record = data["id"] ?? data["userId"] ?? data["entitlementSlug"]
        const before = last.get(record)
        assert.strictEqual(previous !== undefined, isChangeName(type), type)
        if (previous !== undefined && before !== undefined) {
          changes += 1
          assert.deepStrictEqual(essence({ ...data, ...previous }), essence(before), type)
          assert.doesNotHaveAnyKeys(previous, ["updatedAt", "updatedBy"])
        }
        last.set(record, data)
      }
      assert.strictEqual(changes, items.filter(({ type }) => isChangeName(type)).length)
      assert.isAtLeast(changes, 20)
      const customers = items.filter(({ type }) => type === "CUSTOMER_UPDATED")
      assert.deepStrictEqual(
        customers.map(({ previous }) => previous),
        [{ name: "Globex", domain: null }, {}],
      )

      // The live stream carries the same.
      const received: Array<unknown> = []
      while (received.length < items.length - 1) received.push((yield* live.next).data)
      assert.deepStrictEqual(received, items.slice(1))
    }).pipe(Effect.scoped),
  )
})
