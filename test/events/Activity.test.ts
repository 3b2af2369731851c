import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { eventPayloads } from "../../src/api/EventPayloads.ts"
import { Events } from "../../src/domains/events/Service.ts"
import { bySystem } from "../../src/kernel/contract/Caller.ts"
import { isChangeName } from "../../src/kernel/contract/Event.ts"
import type { EventName } from "../../src/kernel/contract/Event.ts"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { createShop } from "../instances/Shop.ts"
import { allowInventedEvents } from "../support/recorded.ts"
import { TestService } from "../support/TestService.ts"

allowInventedEvents()

/** A record under which an event can appear: its own, or one that owns it. `related` is a customer, with `related=true` only. */
type Under = "own" | "instance" | "customer" | "license" | "zone" | "account" | "related"

const own = ["own"] as const
const ofCustomer = ["own", "customer", "related"] as const
const ofInstance = ["own", "instance", "related"] as const
const aboutInstance = ["instance", "related"] as const

const appearsUnder: Readonly<Record<EventName, ReadonlyArray<Under>>> = {
  CUSTOMER_CREATION: own,
  CUSTOMER_UPDATED: own,
  CUSTOMER_DELETED: own,
  INSTANCE_CREATION: ofCustomer,
  INSTANCE_UPDATED: ofCustomer,
  INSTANCE_DELETED: ofCustomer,
  INSTANCE_TERM_ENDING: ofCustomer,
  INSTANCE_TERM_ENDED: ofCustomer,
  INSTANCE_GRACE_ENDED: ofCustomer,
  INSTANCE_ENTITLEMENT_OVERRIDDEN: ofInstance,
  INSTANCE_ENTITLEMENT_OVERRIDE_REMOVED: ofInstance,
  INSTANCE_ADD_ON_SET: ofInstance,
  INSTANCE_ADD_ON_REMOVED: ofInstance,
  CREDIT_CREATED: ofInstance,
  CREDIT_VOIDED: ofInstance,
  CREDIT_USED_UP: ofInstance,
  CREDIT_EXPIRED: ofInstance,
  ENTITLEMENT_USAGE_WARNING_THRESHOLD_REACHED: aboutInstance,
  ENTITLEMENT_USAGE_LIMIT_REACHED: aboutInstance,
  ENTITLEMENT_USAGE_CAP_EXCEEDED: aboutInstance,
  USAGE_EVENT_VOIDED: ofInstance,
  OFFLINE_BUNDLE_ISSUED: ofInstance,
  OFFLINE_BUNDLE_REVOKED: ofInstance,
  OFFLINE_USAGE_UPLOADED: aboutInstance,
  OFFLINE_LEDGER_FORKED: aboutInstance,
  // Those of an account have no instance: see below.
  TOKEN_ISSUED: ofInstance,
  TOKEN_REVOKED: ofInstance,
  TOKEN_ROTATED: ofInstance,
  TOKEN_EXPIRED: ofInstance,
  SYSTEM_ORGANIZATION_TOKEN_ISSUED: own,
  SERVICE_ACCOUNT_CREATED: own,
  SERVICE_ACCOUNT_UPDATED: own,
  SERVICE_ACCOUNT_DELETED: own,
  LICENSE_CREATED: own,
  LICENSE_UPDATED: own,
  LICENSE_DELETED: own,
  LICENSE_PUBLISHED: own,
  LICENSE_ARCHIVED: own,
  LICENSE_UNARCHIVED: own,
  LICENSE_MIGRATION_STARTED: own,
  LICENSE_MIGRATION_FINISHED: own,
  LICENSE_MIGRATION_REVERTED: own,
  LICENSE_ENTITLEMENT_ASSIGNED: ["license"],
  LICENSE_ENTITLEMENT_UPDATED: ["license"],
  LICENSE_ENTITLEMENT_UNASSIGNED: ["license"],
  ENTITLEMENT_CREATED: own,
  ENTITLEMENT_UPDATED: own,
  ENTITLEMENT_DELETED: own,
  ENTITLEMENT_GROUP_CREATED: own,
  ENTITLEMENT_GROUP_UPDATED: own,
  ENTITLEMENT_GROUP_DELETED: own,
  FEATURE_FLAG_CREATED: own,
  FEATURE_FLAG_UPDATED: own,
  FEATURE_FLAG_DELETED: own,
  RELEASE_CREATED: own,
  RELEASE_DELETED: own,
  // It has no id of its own: it is found under its release.
  RELEASE_ACCESS_UPDATED: [],
  RELEASE_DEPLOYED: ["own", "zone"],
  COMPONENT_CREATED: own,
  COMPONENT_IMAGES_UPDATED: own,
  COMPONENT_DELETED: own,
  DEPLOYMENT_ZONE_CREATED: own,
  DEPLOYMENT_ZONE_UPDATED: own,
  DEPLOYMENT_ZONE_DELETED: own,
  METADATA_FIELD_CREATED: own,
  METADATA_FIELD_UPDATED: own,
  METADATA_FIELD_ARCHIVED: own,
  METADATA_FIELD_UNARCHIVED: own,
  // These have no id: the name of the connector, or nothing but the stream, leads to them.
  CONNECTOR_ACTIVATED: [],
  CONNECTOR_DEACTIVATED: [],
  MEMBERSHIP_CREATED: [],
  MEMBERSHIP_UPDATED: [],
  MEMBERSHIP_REMOVED: [],
  SIGNING_KEY_CREATED: [],
  SIGNING_KEY_ACTIVATED: [],
  SIGNING_KEY_REVOKED: [],
  EVENTS_PRUNED: [],
  EVENT_LOG_RESTARTED: [],
  WEBHOOK_ENDPOINT_CREATED: own,
  WEBHOOK_ENDPOINT_UPDATED: own,
  WEBHOOK_ENDPOINT_DELETED: own,
  WEBHOOK_ENDPOINT_DISABLED: own,
  WEBHOOK_ENDPOINT_ENABLED: own,
  WEBHOOK_ENDPOINT_PAUSED: own,
  WEBHOOK_ENDPOINT_RESUMED: own,
  WEBHOOK_ENDPOINT_SECRET_ROTATED: own,
  WEBHOOK_ENDPOINT_TESTED: own,
}

/** The properties that the documentation of an event gives its data. */
const documented = ({ schema }: (typeof eventPayloads)[number]): ReadonlyArray<string> => {
  const { data } = (schema as unknown as { fields: { data: { fields: object } } }).fields
  return Object.keys(data.fields)
}

interface Item {
  readonly id: string
  readonly type: string
}

const idsOf = (items: ReadonlyArray<Item>) => items.map(({ id }) => id)

/** A shop with an instance, and what belongs to it. */
const furnishedShop = Effect.gen(function* () {
  const shop = yield* createShop
  yield* shop.entitlement("calls")
  yield* shop.license("pro")
  yield* shop.grant("pro", "calls", 100)
  const customer = yield* shop.customer("Acme")
  const instance = yield* shop.instance("Production", "acme", "pro", { slug: "production", endLicenseDate: null })
  const path = `/instances/${instance.slug}`
  const done = (method: string, to: string, body?: object) =>
    Effect.map(shop.call(method, to, body), ({ body: answer, status, text }) => {
      assert.isBelow(status, 300, `${method} ${to}: ${text}`)
      return answer
    })
  yield* done("PUT", `${path}/entitlements/calls/override`, { mode: "ADD", value: 5 })
  yield* done("PUT", `${path}/entitlements/calls/override`, { mode: "ADD", value: 6 })
  yield* done("DELETE", `${path}/entitlements/calls/override`)
  const key = yield* done("POST", `${path}/keys`, { name: "Plant 1" })
  const next = yield* done("POST", `${path}/keys/${key.slug}/rotate`, { gracePeriodSeconds: 60 })
  yield* done("DELETE", `${path}/keys/${next.slug}`)
  const bundle = yield* done("POST", `${path}/offline-bundles`, {})
  yield* done("DELETE", `${path}/offline-bundles/${bundle.id}`)
  yield* done("POST", `${path}/entitlements/calls/usage`, { value: 100 })
  assert.strictEqual((yield* shop.call("POST", `${path}/entitlements/calls/usage`, { value: 1 })).status, 409)
  const { items: usage } = yield* done("GET", `${path}/entitlements/calls/usage/events`)
  yield* done("DELETE", `${path}/entitlements/calls/usage/events/${usage[0].id}`)
  const types = (query: string) =>
    Effect.map(done("GET", `/events?limit=200&${query}`), ({ items }) => items.map(({ type }: Item): string => type))
  return { ...shop, customer, done, instance, types }
})

const OF_THE_INSTANCE = [
  "INSTANCE_CREATION",
  "INSTANCE_ENTITLEMENT_OVERRIDDEN",
  "INSTANCE_ENTITLEMENT_OVERRIDDEN",
  "INSTANCE_ENTITLEMENT_OVERRIDE_REMOVED",
  "TOKEN_ISSUED",
  "TOKEN_ISSUED",
  "TOKEN_ROTATED",
  "TOKEN_REVOKED",
  "OFFLINE_BUNDLE_ISSUED",
  "OFFLINE_BUNDLE_REVOKED",
  "ENTITLEMENT_USAGE_LIMIT_REACHED",
  "ENTITLEMENT_USAGE_CAP_EXCEEDED",
  "USAGE_EVENT_VOIDED",
]

layer(TestService.layer, { excludeTestServices: true })("the activity of a record", (it) => {
  it.effect("has each event that its documented data makes its own, by name", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { organizationId, token } = yield* tenant()
      const events = yield* Events
      const transactions = yield* Transactions
      const source = { ...bySystem, organizationId }
      const [instanceId, customerId, licenseId, deploymentZoneId, serviceAccountId] = Array.from({ length: 5 }, () =>
        randomUUID(),
      )
      const ids = { instanceId, customerId, licenseId, deploymentZoneId, serviceAccountId }
      const emit = (name: EventName, data: object) =>
        transactions.run(
          isChangeName(name) ? events.emitChange(source, name, null, data) : events.emit(source, name, data),
        )
      // By this event the customer has the instance.
      yield* emit("INSTANCE_CREATION", { id: instanceId, customerId })
      const under: Readonly<Record<Exclude<Under, "own">, string>> = {
        instance: `resource=${instanceId}`,
        customer: `resource=${customerId}`,
        license: `resource=${licenseId}`,
        zone: `resource=${deploymentZoneId}`,
        account: `resource=${serviceAccountId}`,
        related: `resource=${customerId}&related=true`,
      }
      for (const payload of eventPayloads) {
        const properties = documented(payload)
        const id = randomUUID()
        const all = { id, ...ids }
        const data = Object.fromEntries(Object.entries(all).filter(([name]) => properties.includes(name)))
        yield* emit(payload.event, data)
        const found: Array<Under> = []
        const newest = yield* core("GET", "/events?order=desc&limit=1", { token })
        const [event] = idsOf(newest.body.items)
        for (const [record, query] of Object.entries({ own: `resource=${id}`, ...under })) {
          const { body } = yield* core("GET", `/events?${query}&order=desc&limit=1`, { token })
          if (idsOf(body.items)[0] === event) found.push(record as Under)
        }
        assert.deepStrictEqual(found, [...appearsUnder[payload.event]], payload.event)
      }
    }),
  )

  it.effect("of an instance has all that belongs to it, by id and by slug, and after its deletion by id", () =>
    Effect.gen(function* () {
      const { done, instance, types } = yield* furnishedShop
      assert.sameMembers(yield* types(`resource=${instance.id}`), OF_THE_INSTANCE)
      assert.sameMembers(yield* types("resource=production"), OF_THE_INSTANCE)
      assert.deepStrictEqual(yield* types("resource=production&type=TOKEN_REVOKED"), ["TOKEN_REVOKED"])
      const newest = yield* types("resource=production&order=desc")
      assert.deepStrictEqual(newest, (yield* types("resource=production")).toReversed())
      yield* done("DELETE", "/instances/production")
      assert.includeMembers(yield* types(`resource=${instance.id}`), [...OF_THE_INSTANCE, "INSTANCE_DELETED"])
      assert.deepStrictEqual(yield* types("resource=production"), [])
    }),
  )

  it.effect("of a customer has its instances, and on request what belongs to them", () =>
    Effect.gen(function* () {
      const { customer, done, types } = yield* furnishedShop
      assert.sameMembers(yield* types("resource=acme"), ["CUSTOMER_CREATION", "INSTANCE_CREATION"])
      const related = ["CUSTOMER_CREATION", ...OF_THE_INSTANCE]
      assert.sameMembers(yield* types("resource=acme&related=true"), related)
      assert.sameMembers(yield* types(`resource=${customer.id}&related=true`), related)
      yield* done("DELETE", "/instances/production")
      assert.includeMembers(yield* types("resource=acme&related=true"), [...related, "INSTANCE_DELETED"])
    }),
  )

  it.effect("is read page by page without a gap or a repetition, and only with the cursor's own filter", () =>
    Effect.gen(function* () {
      const { call, done } = yield* furnishedShop
      const query = "/events?resource=acme&resource=production&related=true"
      const { items } = yield* done("GET", `${query}&limit=200`)
      const read: Array<string> = []
      let cursor = ""
      for (;;) {
        const { body } = yield* call("GET", `${query}&limit=3${cursor}`)
        read.push(...idsOf(body.items))
        if (!body.hasMore) break
        cursor = `&cursor=${body.nextCursor}`
      }
      assert.deepStrictEqual(read, idsOf(items))
      const other = yield* call("GET", `/events?resource=acme&resource=production&limit=3${cursor}`)
      assert.deepStrictEqual([other.status, other.body.code], [400, "Request.InvalidCursor"])
    }),
  )

  it.effect("of licenses, zones, service accounts and flags is found by slug or key, with what belongs to them", () =>
    Effect.gen(function* () {
      const { done, types } = yield* furnishedShop
      const zone = { name: "Berlin", type: "production" }
      yield* done("POST", "/deployment-zones", { ...zone, slug: "berlin" })
      const release = yield* done("POST", "/releases", { version: "1.0.0" })
      yield* done("PUT", "/deployment-zones/berlin", { ...zone, releaseId: release.id })
      yield* done("POST", "/service-accounts", { name: "CI", slug: "ci" })
      yield* done("POST", "/service-accounts/ci/tokens", { name: "Nightly", scopes: ["read:customers"] })
      assert.sameMembers(yield* types("resource=pro"), ["LICENSE_CREATED", "LICENSE_ENTITLEMENT_ASSIGNED"])
      assert.includeMembers(yield* types("resource=berlin"), ["DEPLOYMENT_ZONE_CREATED", "RELEASE_DEPLOYED"])
      assert.sameMembers(yield* types("resource=ci"), ["SERVICE_ACCOUNT_CREATED", "TOKEN_ISSUED"])
      assert.deepStrictEqual(yield* types("resource=no-such-record"), [])
    }),
  )
})
