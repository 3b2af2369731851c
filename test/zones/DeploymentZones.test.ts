import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newId } from "../../src/kernel/values/Identifiers.ts"
import { TestService } from "../support/TestService.ts"
import type { Tenant } from "../support/TestService.ts"

/** Stores an instance that uses the zone, with its customer and license. Returns the effect that deletes it. */
const putInstanceOn = Effect.fnUntraced(function* (tenant: Tenant, zoneId: string) {
  const sql = yield* PgClient.PgClient
  const id = yield* newId
  const at = new Date("2026-01-01T00:00:00Z")
  const actor = sql.json({ id, name: "test" })
  const audit = { created_at: at, created_by: actor, updated_at: at, updated_by: actor }
  const row = { organization_id: tenant.organizationId, id, slug: "on-the-zone", name: "on the zone" }
  yield* sql`INSERT INTO customers ${sql.insert({ ...row, ...audit })}`
  yield* sql`INSERT INTO license_families ${sql.insert({
    organization_id: tenant.organizationId,
    id,
    slug: row.slug,
    last_version: 1,
    created_at: at,
    created_by: actor,
  })}`
  yield* sql`INSERT INTO licenses ${sql.insert({
    ...row,
    ...audit,
    family_id: id,
    version: 1,
    type: "PAID",
    is_default: false,
    lifecycle_state: "PUBLISHED",
  })}`
  yield* sql`INSERT INTO instances ${sql.insert({
    ...row,
    ...audit,
    customer_id: id,
    license_id: id,
    deployment_zone_id: zoneId,
    start_license_date: at,
    metadata: sql.json({}),
  })}`
  return Effect.asVoid(sql`DELETE FROM instances WHERE organization_id = ${tenant.organizationId} AND id = ${id}`)
})

layer(TestService.layer, { excludeTestServices: true })("deployment zones", (it) => {
  it.effect("a zone is created, read, changed and deleted", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const created = yield* core("POST", "/deployment-zones", {
        token,
        body: { name: "Berlin plant", type: "production" },
      })
      assert.strictEqual(created.status, 201)
      assert.strictEqual(created.headers.get("location"), "/api/deployment-zones/berlin-plant")
      const { body } = created
      assert.deepStrictEqual(body, {
        id: body.id,
        name: "Berlin plant",
        slug: "berlin-plant",
        description: null,
        type: "production",
        metadata: {},
        releaseId: null,
        releaseSlug: null,
        releaseAccess: "WARN",
        createdAt: body.createdAt,
        updatedAt: body.createdAt,
        createdBy: { id: body.createdBy.id, name: "system:platform" },
        updatedBy: body.createdBy,
      })
      const changed = yield* core("PUT", "/deployment-zones/berlin-plant", {
        token,
        body: { name: "Berlin", description: "hall 3", type: "line 7", metadata: {} },
      })
      assert.strictEqual(changed.status, 204)
      const read = (yield* core("GET", "/deployment-zones/berlin-plant", { token })).body
      assert.deepStrictEqual(read, {
        ...body,
        name: "Berlin",
        description: "hall 3",
        type: "line 7",
        updatedAt: read.updatedAt,
      })
      assert.isAbove(Date.parse(read.updatedAt), Date.parse(body.updatedAt) - 1)
      assert.strictEqual((yield* core("DELETE", "/deployment-zones/berlin-plant", { token })).status, 204)
      const gone = yield* core("GET", "/deployment-zones/berlin-plant", { token })
      assert.deepStrictEqual([gone.status, gone.body.code], [404, "DeploymentZone.NotFound"])
      const events = (yield* core("GET", "/events", { token })).body.items.slice(-3)
      assert.deepStrictEqual(
        events.map((event: { type: string; data: unknown }) => [event.type, event.data]),
        [
          ["DEPLOYMENT_ZONE_CREATED", body],
          ["DEPLOYMENT_ZONE_UPDATED", read],
          ["DEPLOYMENT_ZONE_DELETED", read],
        ],
      )
    }),
  )

  it.effect("an update keeps omitted properties, clears optional ones on null and rejects null elsewhere", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      yield* core("POST", "/deployment-zones", {
        token,
        body: { name: "Plant", description: "north", type: "staging" },
      })
      const change = (body: object) => core("PUT", "/deployment-zones/plant", { token, body })
      const read = Effect.map(core("GET", "/deployment-zones/plant", { token }), ({ body }) => body)
      yield* change({ name: "Works" })
      const renamed = yield* read
      assert.deepStrictEqual([renamed.name, renamed.description, renamed.type], ["Works", "north", "staging"])
      assert.strictEqual((yield* change({ description: null, metadata: null })).status, 204)
      assert.deepStrictEqual([(yield* read).description, (yield* read).metadata], [null, {}])
      for (const body of [{ name: null }, { type: null }, { type: "" }, { type: "x".repeat(65) }, { slug: "other" }]) {
        assert.strictEqual((yield* change(body)).status, 422, JSON.stringify(body))
      }
      assert.strictEqual((yield* read).name, "Works")
    }),
  )

  it.effect("a zone without a type is rejected", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const rejected = yield* core("POST", "/deployment-zones", { token, body: { name: "Plant" } })
      assert.strictEqual(rejected.status, 422)
      assert.strictEqual(rejected.body.errors[0].location, "body.type")
    }),
  )

  it.effect("without metadata fields, every metadata key is rejected", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const body = { name: "Plant", type: "production", metadata: { region: "eu", racks: 3 } }
      const rejected = yield* core("POST", "/deployment-zones", { token, body })
      assert.strictEqual(rejected.status, 422)
      assert.deepStrictEqual(
        rejected.body.errors.map((error: { location: string; value: unknown }) => [error.location, error.value]),
        [
          ["body.metadata.region", "eu"],
          ["body.metadata.racks", 3],
        ],
      )
      yield* core("POST", "/deployment-zones", { token, body: { ...body, metadata: {} } })
      const changed = yield* core("PUT", "/deployment-zones/plant", { token, body: { metadata: { region: "eu" } } })
      assert.deepStrictEqual([changed.status, changed.body.errors[0].location], [422, "body.metadata.region"])
    }),
  )

  it.effect("a taken slug is rejected if explicit, and gets a suffix if generated", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const body = { name: "Plant", type: "production" }
      yield* core("POST", "/deployment-zones", { token, body })
      assert.match((yield* core("POST", "/deployment-zones", { token, body })).body.slug, /^plant-[a-z0-9]{6}$/)
      const rejected = yield* core("POST", "/deployment-zones", { token, body: { ...body, slug: "plant" } })
      assert.deepStrictEqual([rejected.status, rejected.body.code], [409, "CreateDeploymentZone.SlugTaken"])
    }),
  )

  it.effect("zones are listed newest first, page by page", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      for (const name of ["one", "two", "three"]) {
        yield* core("POST", "/deployment-zones", { token, body: { name, type: "production" } })
      }
      const names = (items: ReadonlyArray<{ name: string }>) => items.map((zone) => zone.name)
      const first = (yield* core("GET", "/deployment-zones?limit=2", { token })).body
      assert.deepStrictEqual([names(first.items), first.hasMore], [["three", "two"], true])
      const last = (yield* core("GET", `/deployment-zones?limit=2&cursor=${first.nextCursor}`, { token })).body
      assert.deepStrictEqual([names(last.items), last.hasMore, last.nextCursor], [["one"], false, ""])
    }),
  )

  it.effect("a zone can be deleted only after the instances that use it", () =>
    Effect.gen(function* () {
      const service = yield* TestService
      const { core } = service
      const tenant = yield* service.tenant()
      const { token } = tenant
      const zone = yield* core("POST", "/deployment-zones", { token, body: { name: "Plant", type: "production" } })
      const removeInstance = yield* putInstanceOn(tenant, zone.body.id)
      const rejected = yield* core("DELETE", "/deployment-zones/plant", { token })
      assert.deepStrictEqual([rejected.status, rejected.body.code], [409, "DeleteDeploymentZone.InUse"])
      yield* removeInstance
      assert.strictEqual((yield* core("DELETE", "/deployment-zones/plant", { token })).status, 204)
    }),
  )

  it.effect("a zone of another organization is not found", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const owner = yield* tenant()
      const other = yield* tenant()
      yield* core("POST", "/deployment-zones", { token: owner.token, body: { name: "Plant", type: "production" } })
      const { token } = other
      assert.strictEqual((yield* core("GET", "/deployment-zones/plant", { token })).status, 404)
      assert.strictEqual((yield* core("PUT", "/deployment-zones/plant", { token, body: {} })).status, 404)
      assert.strictEqual((yield* core("DELETE", "/deployment-zones/plant", { token })).status, 404)
      assert.strictEqual((yield* core("GET", "/deployment-zones/plant/deployments", { token })).status, 404)
    }),
  )

  it.effect("reading requires read:deployment_zones, writing requires write:deployment_zones", () =>
    Effect.gen(function* () {
      const service = yield* TestService
      const tenant = yield* service.tenant()
      const token = yield* service.tokenWith(tenant, ["read:deployment_zones"])
      assert.strictEqual((yield* service.core("GET", "/deployment-zones", { token })).status, 200)
      const body = { name: "Plant", type: "production" }
      const rejected = yield* service.core("POST", "/deployment-zones", { token, body })
      assert.deepStrictEqual([rejected.status, rejected.body.code], [403, "Auth.MissingScope"])
    }),
  )
})
