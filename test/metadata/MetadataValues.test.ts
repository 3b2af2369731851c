import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { createShop, rejection, term } from "../instances/Shop.ts"
import { TestService } from "../support/TestService.ts"

/** A shop with a license and a customer, and functions that create and archive fields. */
const describedShop = Effect.gen(function* () {
  const shop = yield* createShop
  yield* shop.license("pro")
  yield* shop.customer("Acme")
  const field = (resourceType: string, key: string, jsonSchema: object) =>
    Effect.map(
      shop.call("POST", "/metadata-fields", { key, label: key, resourceType, jsonSchema }),
      ({ body }): string => body.id,
    )
  return { ...shop, field, archiveField: (id: string) => shop.call("POST", `/metadata-fields/${id}/archive`) }
})

const resources = [
  {
    type: "DEPLOYMENT_ZONE",
    collection: "/deployment-zones",
    body: (name: string) => ({ name, type: "production" }),
    change: "PUT",
  },
  {
    type: "INSTANCE",
    collection: "/instances",
    body: (name: string) => ({ name, customerSlug: "acme", licenseSlug: "pro", ...term }),
    change: "PATCH",
  },
] as const

layer(TestService.layer, { excludeTestServices: true })("values of metadata fields", (it) => {
  for (const { body, change, collection, type } of resources) {
    it.effect(
      `${type}: a value that is not valid for the active field of its key is rejected on create and update`,
      () =>
        Effect.gen(function* () {
          const { call, field } = yield* describedShop
          yield* field(type, "region", { properties: { code: { type: "string", pattern: "^[a-z]{2}$" } } })
          yield* field(type, "racks", { type: "integer", minimum: 1 })
          const wrong = { region: { code: "EU" }, racks: 0, floor: 3 }
          const rejected = yield* call("POST", collection, { ...body("one"), metadata: wrong })
          assert.deepStrictEqual(rejection(rejected), {
            status: 422,
            code: "Request.ValidationFailed",
            places: ["body.metadata.region/code", "body.metadata.racks", "body.metadata.floor"],
          })
          const metadata = { region: { code: "eu" }, racks: 2 }
          const created = yield* call("POST", collection, { ...body("one"), metadata })
          assert.deepStrictEqual([created.status, created.body.metadata], [201, metadata])
          const path = `${collection}/one`
          assert.deepStrictEqual(rejection(yield* call(change, path, { metadata: wrong })).places.length, 3)
          assert.deepStrictEqual((yield* call("GET", path)).body.metadata, metadata)
          yield* call(change, path, { metadata: { racks: 9 } })
          assert.deepStrictEqual((yield* call("GET", path)).body.metadata, { racks: 9 })
          yield* call(change, path, { metadata: null })
          assert.deepStrictEqual((yield* call("GET", path)).body.metadata, {})
        }),
    )

    it.effect(
      `${type}: a key that only another resource type or another organization has a field for is rejected`,
      () =>
        Effect.gen(function* () {
          const { call, field } = yield* describedShop
          const stranger = yield* describedShop
          yield* stranger.field(type, "region", {})
          yield* field(type === "INSTANCE" ? "DEPLOYMENT_ZONE" : "INSTANCE", "region", {})
          const rejected = yield* call("POST", collection, { ...body("one"), metadata: { region: 1 } })
          assert.deepStrictEqual(rejection(rejected).places, ["body.metadata.region"])
        }),
    )

    it.effect(`${type}: a value of an archived field can be retained or removed, but not changed or added`, () =>
      Effect.gen(function* () {
        const { archiveField, call, field } = yield* describedShop
        const id = yield* field(type, "region", {})
        yield* field(type, "racks", { type: "integer" })
        const region = { code: "eu", names: ["a", "b"] }
        yield* call("POST", collection, { ...body("one"), metadata: { region } })
        yield* archiveField(id)
        const put = (slug: string, metadata: object) => call(change, `${collection}/${slug}`, { metadata })
        // Equal as JSON: the order of properties does not matter.
        assert.isBelow((yield* put("one", { racks: 1, region: { names: ["a", "b"], code: "eu" } })).status, 300)
        for (const other of [{ code: "us", names: ["a", "b"] }, { code: "eu", names: ["b", "a"] }, null]) {
          assert.deepStrictEqual(rejection(yield* put("one", { region: other })).places, ["body.metadata.region"])
        }
        const late = yield* call("POST", collection, { ...body("two"), metadata: { region } })
        assert.deepStrictEqual(rejection(late).places, ["body.metadata.region"])
        assert.isBelow((yield* put("one", { racks: 1 })).status, 300)
        assert.deepStrictEqual(rejection(yield* put("one", { racks: 1, region })).places, ["body.metadata.region"])
      }),
    )

    it.effect(`${type}: if an archived and an active field share a key, the active one applies`, () =>
      Effect.gen(function* () {
        const { archiveField, call, field } = yield* describedShop
        yield* archiveField(yield* field(type, "region", { type: "string" }))
        yield* field(type, "region", { type: "integer" })
        const send = (region: unknown) => call("POST", collection, { ...body("one"), metadata: { region } })
        assert.deepStrictEqual(rejection(yield* send("eu")).places, ["body.metadata.region"])
        assert.strictEqual((yield* send(1)).status, 201)
      }),
    )

    it.effect(`${type}: a changed schema applies to the next write of metadata, not to other updates`, () =>
      Effect.gen(function* () {
        const { call, field } = yield* describedShop
        const id = yield* field(type, "region", { type: "string" })
        yield* field(type, "racks", {})
        yield* call("POST", collection, { ...body("one"), metadata: { region: "eu" } })
        yield* call("PATCH", `/metadata-fields/${id}`, { jsonSchema: { type: "integer" } })
        const put = (change_: object) => call(change, `${collection}/one`, change_)
        assert.isBelow((yield* put({ name: "renamed" })).status, 300)
        assert.isBelow((yield* put({ metadata: { region: "eu" } })).status, 300)
        const rejected = yield* put({ metadata: { region: "eu", racks: 1 } })
        assert.deepStrictEqual(rejection(rejected).places, ["body.metadata.region"])
      }),
    )
  }

  it.effect("a write waits for a concurrent change of its field and is then validated by the changed field", () =>
    Effect.gen(function* () {
      const { call, field, tenant } = yield* describedShop
      const sql = yield* PgClient.PgClient
      const id = yield* field("DEPLOYMENT_ZONE", "region", { type: "string" })
      const metadata = { region: "eu" }
      const write = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`UPDATE metadata_fields SET archived_at = created_at
            WHERE organization_id = ${tenant.organizationId} AND id = ${id}`
          const fiber = yield* Effect.forkChild(
            call("POST", "/deployment-zones", { name: "late", type: "production", metadata }),
          )
          yield* Effect.sleep("200 millis")
          assert.isUndefined(fiber.pollUnsafe())
          return fiber
        }),
      )
      assert.deepStrictEqual(rejection(yield* Fiber.join(write)).places, ["body.metadata.region"])
    }),
  )

  it.effect("a write with expensive schemas is rejected within a second of processor time", () =>
    Effect.gen(function* () {
      const { call, field } = yield* describedShop
      const costly = { items: { oneOf: Array.from({ length: 600 }, (_, index) => ({ const: index + 5 })) } }
      for (let index = 0; index < 20; index++) yield* field("DEPLOYMENT_ZONE", `f${index}`, costly)
      const metadata = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`f${index}`, Array(380).fill(1)]))
      const started = process.cpuUsage()
      const rejected = yield* call("POST", "/deployment-zones", { name: "z", type: "t", metadata })
      assert.deepStrictEqual(rejection(rejected).places[0], "body.metadata.f0")
      const { user } = process.cpuUsage(started)
      assert.isBelow(user / 1000, 1000)
    }),
  )
})
