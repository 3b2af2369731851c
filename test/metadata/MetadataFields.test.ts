import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { rejection } from "../instances/Shop.ts"
import { TestService } from "../support/TestService.ts"

const absent = "0199aaaa-0000-7000-8000-000000000000"

/** A new organization, and functions that call the API and create fields in it. */
const definer = Effect.gen(function* () {
  const service = yield* TestService
  const tenant = yield* service.tenant()
  const call = (method: string, path: string, body?: unknown) =>
    service.core(method, path, { token: tenant.token, ...(body === undefined ? {} : { body }) })
  const field = (more: object = {}) =>
    call("POST", "/metadata-fields", {
      key: "region",
      label: "Region",
      resourceType: "DEPLOYMENT_ZONE",
      jsonSchema: { type: "string" },
      ...more,
    })
  return { service, tenant, call, field }
})

layer(TestService.layer, { excludeTestServices: true })("metadata fields", (it) => {
  it.effect("creating, updating, archiving and unarchiving a field each emit an event", () =>
    Effect.gen(function* () {
      const { call, field } = yield* definer
      const jsonSchema = { type: "object", properties: { z: { type: "string" }, a: { type: "integer" } } }
      const created = yield* field({ jsonSchema, displayOrder: 3 })
      const { body } = created
      assert.strictEqual(created.status, 201)
      assert.strictEqual(created.headers.get("location"), `/api/metadata-fields/${body.id}`)
      assert.deepStrictEqual(body, {
        id: body.id,
        key: "region",
        label: "Region",
        resourceType: "DEPLOYMENT_ZONE",
        jsonSchema,
        displayOrder: 3,
        createdAt: body.createdAt,
        updatedAt: body.createdAt,
        createdBy: { id: body.createdBy.id, name: "system:platform" },
        updatedBy: body.createdBy,
      })
      const path = `/metadata-fields/${body.id}`
      const changed = yield* call("PATCH", path, { label: "Area", jsonSchema: { type: "integer" }, displayOrder: null })
      assert.strictEqual(changed.status, 200)
      assert.deepStrictEqual(changed.body, {
        ...body,
        label: "Area",
        jsonSchema: { type: "integer" },
        displayOrder: 0,
        updatedAt: changed.body.updatedAt,
      })
      const archived = yield* call(
        "POST",
        `${path.toUpperCase().replace("/METADATA-FIELDS", "/metadata-fields")}/archive`,
      )
      assert.strictEqual(archived.status, 200)
      assert.match(archived.body.archivedAt, /^\d{4}-.*Z$/)
      assert.deepStrictEqual((yield* call("POST", `${path}/archive`)).body, archived.body)
      assert.deepStrictEqual((yield* call("GET", "/metadata-fields")).body.items, [archived.body])
      const back = yield* call("POST", `${path}/unarchive`)
      assert.deepStrictEqual([back.status, "archivedAt" in back.body], [200, false])
      assert.deepStrictEqual((yield* call("POST", `${path}/unarchive`)).body, back.body)
      const events = (yield* call("GET", "/events")).body.items.filter(({ type }: { type: string }) =>
        type.startsWith("METADATA_FIELD_"),
      )
      assert.deepStrictEqual(
        events.map((event: { type: string; data: unknown }) => [event.type, event.data]),
        [
          ["METADATA_FIELD_CREATED", body],
          ["METADATA_FIELD_UPDATED", changed.body],
          ["METADATA_FIELD_ARCHIVED", archived.body],
          ["METADATA_FIELD_UNARCHIVED", back.body],
        ],
      )
    }),
  )

  it.effect("the properties of a schema are returned in the order in which they were sent", () =>
    Effect.gen(function* () {
      const { call, field } = yield* definer
      const jsonSchema = { type: "object", required: ["b"], properties: { zz: true, b: true, aaa: true } }
      yield* field({ jsonSchema })
      const [read] = (yield* call("GET", "/metadata-fields")).body.items
      assert.strictEqual(JSON.stringify(read.jsonSchema), JSON.stringify(jsonSchema))
    }),
  )

  it.effect("a key that another active field of the resource type has is rejected", () =>
    Effect.gen(function* () {
      const { call, field } = yield* definer
      const first = (yield* field()).body
      assert.strictEqual((yield* field({ resourceType: "INSTANCE" })).status, 201)
      assert.deepStrictEqual(rejection(yield* field()), {
        status: 409,
        code: "CreateMetadataField.KeyTaken",
        places: [],
      })
      yield* call("POST", `/metadata-fields/${first.id}/archive`)
      const second = (yield* field()).body
      const rejected = yield* call("POST", `/metadata-fields/${first.id}/unarchive`)
      assert.deepStrictEqual(rejection(rejected), { status: 409, code: "UnarchiveMetadataField.KeyTaken", places: [] })
      yield* call("POST", `/metadata-fields/${second.id}/archive`)
      assert.strictEqual((yield* call("POST", `/metadata-fields/${first.id}/unarchive`)).status, 200)
    }),
  )

  it.effect("exactly one of several concurrent requests for the same key succeeds", () =>
    Effect.gen(function* () {
      const { call, field } = yield* definer
      const many = Array.from({ length: 8 })
      const responses = yield* Effect.all(
        many.map(() => field()),
        { concurrency: "unbounded" },
      )
      assert.strictEqual(responses.filter(({ status }) => status === 201).length, 1)
      assert.strictEqual(responses.filter(({ body }) => body.code === "CreateMetadataField.KeyTaken").length, 7)
      const archived: Array<string> = []
      for (let index = 0; index < 4; index++) {
        const { body } = yield* field({ key: "tier" })
        yield* call("POST", `/metadata-fields/${body.id}/archive`)
        archived.push(body.id)
      }
      const back = yield* Effect.all(
        [
          ...archived.map((id) => call("POST", `/metadata-fields/${id}/unarchive`)),
          field({ key: "tier" }),
          field({ key: "tier" }),
        ],
        { concurrency: "unbounded" },
      )
      assert.strictEqual(back.filter(({ status }) => status < 300).length, 1)
      assert.isTrue(back.every(({ status }) => status < 300 || status === 409))
    }),
  )

  it.effect("fields are listed by display order, including archived ones, and can be filtered by resource type", () =>
    Effect.gen(function* () {
      const { call, field } = yield* definer
      yield* field({ key: "c", displayOrder: 2 })
      yield* field({ key: "a" })
      const last = (yield* field({ key: "b", displayOrder: 2 })).body
      yield* field({ key: "i", resourceType: "INSTANCE", displayOrder: -1 })
      yield* call("POST", `/metadata-fields/${last.id}/archive`)
      const page = (query: string) =>
        Effect.map(call("GET", `/metadata-fields${query}`), ({ body }) => ({
          ...body,
          keys: body.items.map(({ key }: { key: string }) => key),
        }))
      assert.deepStrictEqual((yield* page("")).keys, ["i", "a", "c", "b"])
      assert.deepStrictEqual((yield* page("?resourceType=INSTANCE")).keys, ["i"])
      const first = yield* page("?resourceType=DEPLOYMENT_ZONE&limit=2")
      assert.deepStrictEqual([first.keys, first.hasMore], [["a", "c"], true])
      const next = yield* page(`?resourceType=DEPLOYMENT_ZONE&limit=2&cursor=${first.nextCursor}`)
      assert.deepStrictEqual([next.keys, next.hasMore, next.nextCursor], [["b"], false, ""])
      const foreignCursor = yield* call("GET", `/metadata-fields?limit=2&cursor=${first.nextCursor}`)
      assert.deepStrictEqual(rejection(foreignCursor).code, "Request.InvalidCursor")
      assert.deepStrictEqual(rejection(yield* call("GET", "/metadata-fields?resourceType=CUSTOMER")).places, [
        "query.resourceType",
      ])
    }),
  )

  it.effect("missing properties, changes of key or resource type, and ids that are not UUIDs are rejected", () =>
    Effect.gen(function* () {
      const { call, field } = yield* definer
      assert.deepStrictEqual(rejection(yield* call("POST", "/metadata-fields", {})).places.sort(), [
        "body.jsonSchema",
        "body.key",
        "body.label",
        "body.resourceType",
      ])
      for (const jsonSchema of [true, [], "x", null]) {
        assert.deepStrictEqual(rejection(yield* field({ jsonSchema })).places, ["body.jsonSchema"])
      }
      for (const key of ["", "__proto__", "a b", "x".repeat(101), ".x"]) {
        assert.deepStrictEqual(rejection(yield* field({ key })).places, ["body.key"])
      }
      const { id } = (yield* field()).body
      for (const property of ["key", "resourceType", "archivedAt"]) {
        assert.deepStrictEqual(rejection(yield* call("PATCH", `/metadata-fields/${id}`, { [property]: "INSTANCE" })), {
          status: 422,
          code: "Request.ValidationFailed",
          places: [`body.${property}`],
        })
      }
      for (const [method, path, body] of [
        ["PATCH", "", { label: "x" }],
        ["POST", "/archive", undefined],
        ["POST", "/unarchive", undefined],
        ["POST", "/dry-run", { value: 1 }],
      ] as const) {
        assert.deepStrictEqual(rejection(yield* call(method, `/metadata-fields/region${path}`, body)).places, [
          "path.metadataFieldId",
        ])
        assert.strictEqual(
          rejection(yield* call(method, `/metadata-fields/${absent}${path}`, body)).code,
          "MetadataField.NotFound",
        )
      }
    }),
  )

  it.effect("an unsafe schema is rejected with its place on create and update, and nothing is stored", () =>
    Effect.gen(function* () {
      const { call, field } = yield* definer
      const jsonSchema = { properties: { code: { pattern: "(a" }, other: { $ref: "https://example.com/s.json" } } }
      assert.deepStrictEqual(rejection(yield* field({ jsonSchema })), {
        status: 422,
        code: "Request.ValidationFailed",
        places: ["body.jsonSchema/properties/other/$ref"],
      })
      assert.deepStrictEqual((yield* call("GET", "/metadata-fields")).body.items, [])
      const { id } = (yield* field()).body
      const change = yield* call("PATCH", `/metadata-fields/${id}`, { jsonSchema: { $async: true } })
      assert.deepStrictEqual(rejection(change).places, ["body.jsonSchema/$async"])
    }),
  )

  it.effect("the property name __proto__ is rejected anywhere in a schema", () =>
    Effect.gen(function* () {
      const { service, tenant } = yield* definer
      const send = (jsonSchema: string) =>
        service.core("POST", "/metadata-fields", {
          token: tenant.token,
          rawBody: `{"key":"k","label":"l","resourceType":"INSTANCE","jsonSchema":${jsonSchema}}`,
        })
      assert.deepStrictEqual(rejection(yield* send(`{"properties":{"__proto__":{"type":"string"}}}`)).places, [
        "body.jsonSchema/properties/__proto__",
      ])
      assert.deepStrictEqual(rejection(yield* send(`{"__proto__":{"type":"string"}}`)).places, [
        "body.jsonSchema/__proto__",
      ])
      const deep = yield* send(`{"not":`.repeat(20_000) + "{}" + "}".repeat(20_000))
      assert.strictEqual(deep.status, 422, deep.text.slice(0, 300))
    }),
  )

  it.effect("a dry-run returns whether a value is valid, and the places of its errors", () =>
    Effect.gen(function* () {
      const { call, field } = yield* definer
      const jsonSchema = { type: "object", properties: { racks: { items: { maximum: 9 } } }, required: ["name"] }
      const { id } = (yield* field({ jsonSchema })).body
      const run = (value: unknown) => call("POST", `/metadata-fields/${id}/dry-run`, { value })
      const valid = yield* run({ name: "x", racks: [1, 2] })
      assert.deepStrictEqual([valid.status, valid.body], [200, { valid: true, errors: [] }])
      const wrong = yield* run({ racks: [1, 10] })
      assert.deepStrictEqual(
        [wrong.status, wrong.body],
        [
          200,
          {
            valid: false,
            errors: [
              { location: "body.value", message: 'must have the property "name"' },
              { location: "body.value/racks/1", message: "must be at most 9" },
            ],
          },
        ],
      )
      assert.deepStrictEqual((yield* run(null)).body.errors[0].location, "body.value")
      assert.deepStrictEqual(rejection(yield* call("POST", `/metadata-fields/${id}/dry-run`, {})).places, [
        "body.value",
      ])
      for (const tooMuch of ["x".repeat(16 * 1024), [[[[1]]]], "\u0000"]) {
        assert.deepStrictEqual(rejection(yield* run(tooMuch)).places, ["body.value"])
      }
    }),
  )

  it.effect("another organization's field is not found, and its key can be used again", () =>
    Effect.gen(function* () {
      const owner = yield* definer
      const other = yield* definer
      const { id } = (yield* owner.field()).body
      assert.strictEqual((yield* other.call("PATCH", `/metadata-fields/${id}`, { label: "x" })).status, 404)
      assert.strictEqual((yield* other.call("POST", `/metadata-fields/${id}/archive`)).status, 404)
      assert.strictEqual((yield* other.call("POST", `/metadata-fields/${id}/unarchive`)).status, 404)
      assert.strictEqual((yield* other.call("POST", `/metadata-fields/${id}/dry-run`, { value: 1 })).status, 404)
      assert.deepStrictEqual((yield* other.call("GET", "/metadata-fields")).body.items, [])
      assert.strictEqual((yield* other.field()).status, 201)
    }),
  )

  it.effect("two organizations can use the same $id, and neither can reference the other's schema", () =>
    Effect.gen(function* () {
      const one = yield* definer
      const two = yield* definer
      const schema = (type: string) => ({ $id: "https://example.com/shared", type, $defs: { [type]: { type } } })
      const first = (yield* one.field({ jsonSchema: schema("string") })).body
      const second = (yield* two.field({ jsonSchema: schema("integer") })).body
      const verdict = (owner: typeof one, id: string, value: unknown) =>
        Effect.map(owner.call("POST", `/metadata-fields/${id}/dry-run`, { value }), ({ body }) => body.valid)
      assert.isTrue(yield* verdict(one, first.id, "x"))
      assert.isFalse(yield* verdict(two, second.id, "x"))
      assert.isTrue(yield* verdict(two, second.id, 1))
      const reaching = yield* two.field({ key: "k", jsonSchema: { $ref: "https://example.com/shared#/$defs/string" } })
      assert.deepStrictEqual(rejection(reaching).places, ["body.jsonSchema/$ref"])
    }),
  )
})
