import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"
import type { HttpResponse } from "../support/TestService.ts"

const FROM = "2026-01-01T00:00:00.000Z"

/** A vendor with the license family "pro", its versions "pro" and "pro-v2" (the default), and two instances on each. */
const setup = Effect.gen(function* () {
  const service = yield* TestService
  const tenant = yield* service.tenant()
  const call = (method: string, path: string, body?: object, token = tenant.token) =>
    service.core(method, path, { token, ...(body === undefined ? {} : { body }) })
  const does = Effect.fnUntraced(function* (method: string, path: string, body?: object) {
    const response = yield* call(method, path, body)
    assert.isBelow(response.status, 300, `${method} ${path}: ${response.text}`)
    return response.body
  })
  const dry = Effect.fnUntraced(function* (method: string, path: string, body?: object, token?: string) {
    const response = yield* call(method, `${path}?dryRun=true`, body, token)
    assert.strictEqual(response.status, 200, `${method} ${path}: ${response.text}`)
    return response.body.impact
  })
  yield* does("POST", "/entitlements", { name: "Calls", slug: "calls", type: "NUMBER" })
  yield* does("POST", "/entitlements", { name: "SSO", slug: "sso", type: "BOOLEAN" })
  yield* does("POST", "/licenses", { name: "Pro", slug: "pro", type: "PAID" })
  yield* does("POST", "/licenses", { name: "Pro", type: "PAID", familySlug: "pro", isDefault: true })
  for (const license of ["pro", "pro-v2"]) {
    yield* does("POST", `/licenses/${license}/entitlements`, { entitlementSlug: "calls", value: 100 })
  }
  yield* does("POST", "/customers", { name: "Acme" })
  for (const [slug, licenseSlug] of [
    ["a1", "pro"],
    ["a2", "pro"],
    ["b1", "pro-v2"],
    ["b2", "pro-v2"],
  ]) {
    yield* does("POST", "/instances", {
      name: slug,
      slug,
      customerSlug: "acme",
      licenseSlug,
      startLicenseDate: FROM,
      endLicenseDate: null,
    })
  }
  const use = (instance: string, value: number) =>
    does("POST", `/instances/${instance}/entitlements/calls/usage`, { value })
  return { ...service, tenant, call, does, dry, use }
})

const all = (...items: ReadonlyArray<object>) => ({ count: items.length, truncated: false, items })
const acme = (slug: string) => ({ slug, customer: "acme" })

const blockingOf = ({ body, status }: HttpResponse) => {
  assert.strictEqual(status, 409)
  return body.impact.blocking
}

layer(TestService.layer, { excludeTestServices: true })("the impact of a dry run", (it) => {
  it.effect("of archiving a version: who keeps it, and what the family then resolves to", () =>
    Effect.gen(function* () {
      const { call, does, dry } = yield* setup
      assert.deepStrictEqual(
        (yield* call("POST", "/licenses/pro-v2/archive?dryRun=true")).body.code,
        "ArchiveLicense.DefaultMustBePublished",
      )
      assert.deepStrictEqual(yield* dry("POST", "/licenses/pro/archive"), {
        instances: all(acme("a1"), acme("a2")),
        familyResolvesTo: { before: "pro-v2", after: "pro-v2" },
        losesDefault: null,
      })
      assert.deepStrictEqual(yield* dry("PUT", "/licenses/pro", { isDefault: true }), {
        instances: all(acme("a1"), acme("a2")),
        familyResolvesTo: { before: "pro-v2", after: "pro" },
        losesDefault: "pro-v2",
      })
      yield* does("PUT", "/licenses/pro-v2", { isDefault: false })
      assert.deepStrictEqual(yield* dry("POST", "/licenses/pro-v2/archive"), {
        instances: all(acme("b1"), acme("b2")),
        familyResolvesTo: { before: "pro-v2", after: "pro" },
        losesDefault: null,
      })
    }),
  )

  it.effect("of deleting the only version of a family: it resolves to nothing", () =>
    Effect.gen(function* () {
      const { does, dry } = yield* setup
      yield* does("POST", "/licenses", { name: "Trial", type: "TRIAL", lifecycleState: "DRAFT" })
      assert.deepStrictEqual(yield* dry("POST", "/licenses/trial/publish"), {
        instances: all(),
        familyResolvesTo: { before: null, after: "trial" },
        losesDefault: null,
      })
      assert.deepStrictEqual(yield* dry("DELETE", "/licenses/trial"), {
        instances: all(),
        familyResolvesTo: { before: null, after: null },
        losesDefault: null,
      })
    }),
  )

  it.effect("of a changed grant: only checks that turn, with the limit afterwards", () =>
    Effect.gen(function* () {
      const { does, dry, use } = yield* setup
      yield* use("a1", 60)
      yield* use("a2", 40)
      yield* use("b1", 60)
      const turned = { slug: "a1", entitlement: "calls", usage: 60 }
      assert.deepStrictEqual(yield* dry("PUT", "/licenses/pro/entitlements/calls", { value: 50 }), {
        turning: all({ ...turned, limit: 50, reason: { before: "GRANTED", after: "LIMIT_REACHED" } }),
      })
      yield* does("PUT", "/instances/a1/entitlements/calls/override", { mode: "SET", value: 70 })
      assert.deepStrictEqual(yield* dry("PUT", "/licenses/pro/entitlements/calls", { value: 50 }), { turning: all() })
      assert.deepStrictEqual(yield* dry("DELETE", "/licenses/pro/entitlements/calls"), {
        turning: all({
          ...turned,
          slug: "a2",
          usage: 40,
          limit: null,
          reason: { before: "GRANTED", after: "NOT_GRANTED" },
        }),
      })
      const sso = { entitlement: "sso", usage: null, limit: null, reason: { before: "NOT_GRANTED", after: "GRANTED" } }
      assert.deepStrictEqual(
        yield* dry("POST", "/licenses/pro/entitlements", { entitlementSlug: "sso", value: true }),
        {
          turning: all({ slug: "a1", ...sso }, { slug: "a2", ...sso }),
        },
      )
    }),
  )

  it.effect("of a changed instance: what another license, or an end in the past, turns", () =>
    Effect.gen(function* () {
      const { does, dry, use } = yield* setup
      yield* use("a1", 60)
      yield* does("POST", "/licenses/pro/entitlements", { entitlementSlug: "sso", value: true })
      yield* does("PUT", "/licenses/pro-v2/entitlements/calls", { value: 10 })
      const turning = (entitlement: string, usage: number | null, limit: number | null, after: string) => ({
        slug: "a1",
        entitlement,
        usage,
        limit,
        reason: { before: "GRANTED", after },
      })
      const other = yield* dry("PATCH", "/instances/a1", { licenseSlug: "pro-v2" })
      assert.sameDeepMembers(other.turning.items, [
        turning("calls", 60, 10, "LIMIT_REACHED"),
        turning("sso", null, null, "NOT_GRANTED"),
      ])
      const ended = yield* dry("PATCH", "/instances/a1", { endLicenseDate: "2026-02-01T00:00:00Z" })
      assert.sameDeepMembers(ended.turning.items, [
        turning("calls", 60, 100, "LICENSE_EXPIRED"),
        turning("sso", null, null, "LICENSE_EXPIRED"),
      ])
      assert.deepStrictEqual(yield* dry("PATCH", "/instances/a1", { name: "Other" }), { turning: all() })
    }),
  )

  it.effect("of deleting an instance: its usage and its held reservations", () =>
    Effect.gen(function* () {
      const { does, dry, use } = yield* setup
      yield* use("a1", 1)
      yield* use("a1", 2)
      const reservation = yield* does("POST", "/instances/a1/entitlements/calls/reservations", { quantity: 3 })
      const released = yield* does("POST", "/instances/a1/entitlements/calls/reservations", {})
      yield* does("DELETE", `/reservations/${released.id}`)
      const impact = yield* dry("DELETE", "/instances/a1")
      assert.strictEqual(impact.usageEvents.count, 2)
      assert.strictEqual(impact.usageEvents.items[0].entitlement, "calls")
      assert.match(impact.usageEvents.items[0].timestamp, /^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/)
      assert.deepStrictEqual(
        impact.reservations,
        all({ id: reservation.id, entitlement: "calls", expiresAt: reservation.expiresAt }),
      )
    }),
  )

  it.effect("of revoking an offline bundle, or deleting its instance: the bundles in force that are voided", () =>
    Effect.gen(function* () {
      const { does, dry } = yield* setup
      const issued: Array<{ readonly id: string; readonly sequence: number; readonly expiresAt: string }> = []
      for (let n = 0; n < 3; n++) {
        const { expiresAt, id, sequence } = yield* does("POST", "/instances/a1/offline-bundles", {})
        issued.push({ id, sequence, expiresAt })
      }
      const [first, second, third] = issued
      yield* does("DELETE", `/instances/a1/offline-bundles/${first?.id}`)
      assert.deepStrictEqual(yield* dry("DELETE", `/instances/a1/offline-bundles/${third?.id}`), {
        bundles: all(third ?? {}, second ?? {}),
      })
      assert.deepStrictEqual(yield* dry("DELETE", `/instances/a1/offline-bundles/${first?.id}`), { bundles: all() })
      assert.deepStrictEqual((yield* dry("DELETE", "/instances/a1")).bundles, all(third ?? {}, second ?? {}))
    }),
  )

  it.effect("of a deletion that something stands against is in the refusal, also of the real request", () =>
    Effect.gen(function* () {
      const { call, does, dry, use } = yield* setup
      yield* use("a1", 1)
      yield* does("PUT", "/instances/a2/entitlements/calls/override", { mode: "ADD", value: 1 })
      for (const query of ["", "?dryRun=true"]) {
        assert.deepStrictEqual(blockingOf(yield* call("DELETE", `/customers/acme${query}`)), [
          { kind: "instances", ...all(acme("a1"), acme("a2"), acme("b1"), acme("b2")) },
        ])
        assert.deepStrictEqual(blockingOf(yield* call("DELETE", `/entitlements/calls${query}`)), [
          { kind: "licenses", ...all({ slug: "pro" }, { slug: "pro-v2" }) },
          { kind: "overrides", ...all(acme("a2")) },
          { kind: "usage", ...all(acme("a1")) },
        ])
      }
      assert.deepStrictEqual(yield* dry("DELETE", "/entitlements/sso"), { blocking: [] })
      const component = yield* does("POST", "/components", { name: "part", version: "1" })
      const release = yield* does("POST", "/releases", { version: "1.0.0", componentIds: [component.id] })
      const zone = yield* does("POST", "/deployment-zones", { name: "eu", type: "production", releaseId: release.id })
      yield* does("PATCH", "/instances/b1", { deploymentZoneId: zone.id })
      assert.deepStrictEqual(blockingOf(yield* call("DELETE", `/components/${component.slug}?dryRun=true`)), [
        { kind: "releases", ...all({ slug: release.slug }) },
      ])
      assert.deepStrictEqual(blockingOf(yield* call("DELETE", `/releases/${release.slug}?dryRun=true`)), [
        { kind: "deploymentZones", ...all({ slug: zone.slug }) },
      ])
      assert.deepStrictEqual(blockingOf(yield* call("DELETE", `/deployment-zones/${zone.slug}?dryRun=true`)), [
        { kind: "instances", ...all(acme("b1")) },
      ])
    }),
  )

  it.effect("of a metadata field: the records whose values would be rejected", () =>
    Effect.gen(function* () {
      const { does, dry } = yield* setup
      const field = yield* does("POST", "/metadata-fields", {
        key: "racks",
        label: "Racks",
        resourceType: "INSTANCE",
        jsonSchema: { type: "integer" },
      })
      yield* does("PATCH", "/instances/a1", { metadata: { racks: 3 } })
      yield* does("PATCH", "/instances/a2", { metadata: { racks: 30 } })
      assert.deepStrictEqual(
        yield* dry("PATCH", `/metadata-fields/${field.id}`, { jsonSchema: { type: "integer", maximum: 9 } }),
        {
          invalid: all(acme("a2")),
        },
      )
      assert.deepStrictEqual(yield* dry("PATCH", `/metadata-fields/${field.id}`, { label: "Cabinets" }), {
        invalid: all(),
      })
      assert.deepStrictEqual(yield* dry("POST", `/metadata-fields/${field.id}/archive`), {
        invalid: all(acme("a1"), acme("a2")),
      })
    }),
  )

  it.effect("of deactivating a connector: its integration records", () =>
    Effect.gen(function* () {
      const { does, dry } = yield* setup
      const name = "service.integration.crm.hubspot"
      yield* does("PUT", `/connectors/${name}/activation`)
      yield* does("POST", `/customers/acme/integrations/${name}`, { external_id: "c1" })
      yield* does("POST", `/instances/a1/integrations/${name}`, { external_id: "i1" })
      assert.deepStrictEqual(yield* dry("DELETE", `/connectors/${name}/activation`), {
        integrationRecords: all(
          { kind: "CUSTOMER", slug: "acme", externalId: "c1" },
          { kind: "INSTANCE", slug: "a1", externalId: "i1" },
        ),
      })
    }),
  )

  it.effect("names no instance to a caller without read:instances, but counts them", () =>
    Effect.gen(function* () {
      const { call, dry, tenant, tokenWith, use } = yield* setup
      yield* use("a1", 60)
      const token = yield* tokenWith(tenant, ["write:licenses", "write:customers"])
      const unnamed = (count: number) => ({ count, truncated: false, items: [] })
      const impact = yield* dry("POST", "/licenses/pro/archive", undefined, token)
      assert.deepStrictEqual(impact.instances, unnamed(2))
      assert.deepStrictEqual(yield* dry("PUT", "/licenses/pro/entitlements/calls", { value: 50 }, token), {
        turning: unnamed(1),
      })
      assert.deepStrictEqual(blockingOf(yield* call("DELETE", "/customers/acme", undefined, token)), [
        { kind: "instances", ...unnamed(4) },
      ])
    }),
  )
})
