import { assert, layer } from "@effect/vitest"
import { Effect, SchemaAST } from "effect"
import { TestService } from "../support/TestService.ts"
import { endpoints } from "./endpoints.ts"
import type { Endpoint } from "./endpoints.ts"
import { populate, scenarioOf } from "./scenarios.ts"

type Json = Readonly<Record<string, unknown>>

// What every write changes.
const withoutChange = ({ synced_at: _, updatedAt: __, updatedBy: ___, ...others }: Json): Json => others

const updates = endpoints.filter(({ hasBody, method }) => hasBody && (method === "PUT" || method === "PATCH"))

const readOnlyMembers = ({ bodies }: Endpoint): ReadonlyArray<string> =>
  bodies.flatMap(({ ast }) => {
    const encoded = SchemaAST.toEncoded(ast)
    return encoded._tag === "Objects"
      ? encoded.propertySignatures.flatMap(({ name, type }) =>
          type.annotations?.["readOnly"] === true ? [String(name)] : [],
        )
      : []
  })

const other = (value: unknown): unknown =>
  typeof value === "string" ? `${value}x` : typeof value === "boolean" ? !value : value === null ? "x" : [value]

const setup = Effect.gen(function* () {
  const service = yield* TestService
  const owner = yield* service.tenant()
  const fixture = yield* populate({ ...service, ...owner })
  const send = (endpoint: Endpoint, method: string, body?: Json) => {
    const platform = endpoint.api === "platform"
    const { path } = scenarioOf(endpoint, fixture)
    return (platform ? service.platform : service.core)(method, path, {
      token: platform ? service.operator : owner.token,
      ...(body === undefined ? {} : { body }),
    })
  }
  return { ...service, owner, fixture, send }
})

layer(TestService.layer, { excludeTestServices: true })("a record that was read", (it) => {
  it.effect("can be written back whole, which changes nothing", () =>
    Effect.gen(function* () {
      const { send } = yield* setup
      const written: Array<string> = []
      for (const endpoint of updates) {
        if (!endpoints.some(({ method, path }) => method === "GET" && path === endpoint.path)) continue
        const before = yield* send(endpoint, "GET")
        assert.strictEqual(before.status, 200, `${endpoint.id}: ${before.text}`)
        const response = yield* send(endpoint, endpoint.method, before.body)
        assert.isBelow(response.status, 300, `${endpoint.id}: ${response.text}`)
        const after = yield* send(endpoint, "GET")
        assert.deepStrictEqual(withoutChange(after.body), withoutChange(before.body), endpoint.id)
        written.push(endpoint.id)
      }
      assert.sameMembers(
        updates.map(({ id }) => id).filter((id) => !written.includes(id)),
        [
          "components.setImages",
          "licenseEntitlements.update",
          "memberships.update",
          "metadataFields.update",
          "releases.updateAccess",
        ],
      )
    }),
  )

  it.effect("is rejected at each member that cannot be changed and has another value", () =>
    Effect.gen(function* () {
      const { send } = yield* setup
      for (const endpoint of updates) {
        const read = yield* send(endpoint, "GET")
        if (read.status !== 200) continue
        for (const name of readOnlyMembers(endpoint)) {
          const response = yield* send(endpoint, endpoint.method, { ...read.body, [name]: other(read.body[name]) })
          assert.strictEqual(response.status, 422, `${endpoint.id}: ${response.text}`)
          assert.deepStrictEqual(
            response.body.errors.map(({ location }: { location: string }) => location),
            [`body.${name}`],
            endpoint.id,
          )
        }
      }
    }),
  )

  it.effect("in a list, as a grant or a metadata field, can be written back too", () =>
    Effect.gen(function* () {
      const { core, owner, fixture } = yield* setup
      const path = `/licenses/${fixture.license}/entitlements`
      const [grant] = (yield* core("GET", path, { token: owner.token })).body.items
      const at = `${path}/${fixture.entitlement}`
      assert.strictEqual((yield* core("PUT", at, { token: owner.token, body: grant })).status, 204)
      const moved = yield* core("PUT", at, { token: owner.token, body: { ...grant, entitlementSlug: "other" } })
      assert.strictEqual(moved.body.errors[0].location, "body.entitlementSlug")
      const [field] = (yield* core("GET", "/metadata-fields", { token: owner.token })).body.items
      const fieldPath = `/metadata-fields/${field.id}`
      assert.strictEqual((yield* core("PATCH", fieldPath, { token: owner.token, body: field })).status, 200)
      const renamed = yield* core("PATCH", fieldPath, { token: owner.token, body: { key: "other" } })
      assert.strictEqual(renamed.body.errors[0].location, "body.key")
    }),
  )

  it.effect("an instance moves if its record is written back with another license, by id or by slug", () =>
    Effect.gen(function* () {
      const { core, owner, fixture } = yield* setup
      const call = (method: string, path: string, body?: object) =>
        core(method, path, { token: owner.token, ...(body === undefined ? {} : { body }) })
      const path = `/instances/${fixture.instance}`
      const record = (yield* call("GET", path)).body
      const moved = yield* call("PATCH", path, { ...record, licenseSlug: fixture.draft })
      assert.deepStrictEqual([moved.status, moved.body.licenseSlug], [200, fixture.draft])
      const back = yield* call("PATCH", path, { ...moved.body, licenseId: record.licenseId })
      assert.deepStrictEqual([back.status, back.body.licenseSlug], [200, record.licenseSlug])
      const stale = yield* call("PATCH", path, { ...record, name: "Stale" })
      assert.strictEqual(stale.body.errors[0].location, "body.updatedAt")
    }),
  )
})
