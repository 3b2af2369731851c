import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { TestService } from "../support/TestService.ts"

const HUBSPOT = "service.integration.crm.hubspot"
const SECRET = "pat-na1-0123456789-s3cret"

const registered = Effect.fnUntraced(function* (settings_schema: object, name?: string) {
  const { operator, platform } = yield* TestService
  const connector = name ?? `service.integration.custom.a${randomUUID().slice(0, 8)}`
  const body = { name: connector, version: randomUUID(), settings_schema }
  const response = yield* platform("POST", "/platform/connectors", { token: operator, body })
  assert.isBelow(response.status, 300, response.text)
  return connector
})

const settingsOf = Effect.fnUntraced(function* (name: string) {
  const { core, tenant } = yield* TestService
  const owner = yield* tenant()
  const path = `/connectors/${name}/settings`
  return {
    ...owner,
    put: (settings: unknown) => core("PUT", path, { token: owner.token, body: { settings } }),
    get: core("GET", path, { token: owner.token }),
    remove: core("DELETE", path, { token: owner.token }),
  }
})

const secret = { type: "string", minLength: 3, writeOnly: true }

layer(TestService.layer, { excludeTestServices: true })("settings of connectors", (it) => {
  it.effect("can be stored, read and changed without their secret, and deleted", () =>
    Effect.gen(function* () {
      const { get, put, remove } = yield* settingsOf(HUBSPOT)
      assert.strictEqual((yield* get).body.code, "ConnectorSettings.NotFound")
      const stored = yield* put({ accessToken: SECRET })
      assert.strictEqual(stored.status, 200, stored.text)
      assert.deepStrictEqual(Object.keys(stored.body).sort(), [
        "connector_name",
        "settings",
        "updatedAt",
        "updatedBy",
        "version",
      ])
      assert.deepStrictEqual(stored.body.settings, { accessToken: "***" })
      assert.strictEqual(stored.body.updatedBy.name, "system:platform")
      assert.deepStrictEqual((yield* get).body, stored.body)
      for (const settings of [{ idProperty: "erp_id" }, { accessToken: "***", idProperty: "erp_id" }]) {
        const changed = yield* put(settings)
        assert.deepStrictEqual(changed.body.settings, { idProperty: "erp_id", accessToken: "***" })
      }
      const cleared = yield* put({ accessToken: null })
      assert.deepStrictEqual([cleared.status, cleared.body.errors?.[0].location], [422, "body.settings.accessToken"])
      assert.strictEqual((yield* remove).status, 204)
      assert.strictEqual((yield* remove).body.code, "ConnectorSettings.NotFound")
      assert.strictEqual((yield* put({ accessToken: "***" })).body.errors[0].location, "body.settings.accessToken")
      assert.strictEqual((yield* put({})).body.errors[0].location, "body.settings.accessToken")
    }),
  )

  it.effect("belong to one organization", () =>
    Effect.gen(function* () {
      const owner = yield* settingsOf(HUBSPOT)
      const stranger = yield* settingsOf(HUBSPOT)
      yield* owner.put({ accessToken: SECRET })
      assert.strictEqual((yield* stranger.get).status, 404)
      assert.strictEqual((yield* stranger.put({ accessToken: "***" })).status, 422)
      assert.strictEqual((yield* stranger.remove).status, 404)
      assert.strictEqual((yield* owner.get).status, 200)
    }),
  )

  it.effect("errors never echo a value that was sent", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      const name = yield* registered({
        type: "object",
        additionalProperties: false,
        properties: {
          token: { type: "string", enum: ["a", "b"], writeOnly: true },
          headers: {
            type: "object",
            writeOnly: true,
            additionalProperties: { type: "number" },
            propertyNames: { maxLength: 3 },
          },
          list: { type: "array", uniqueItems: true, items: { writeOnly: true, const: 1 } },
        },
      })
      const { put, token } = yield* settingsOf(name)
      const bodies: ReadonlyArray<unknown> = [
        { token: SECRET },
        { headers: { [SECRET]: "x" } },
        { headers: { x: SECRET } },
        { list: [SECRET, SECRET] },
        { other: SECRET },
        SECRET,
        [SECRET],
        { token: `${SECRET}\u0000` },
      ]
      for (const settings of bodies) {
        const response = yield* put(settings)
        assert.strictEqual(response.status, 422, response.text)
        assert.notInclude(response.text, SECRET)
      }
      const path = `/connectors/${name}/settings`
      const outside = yield* core("PUT", path, { token, body: { settings: {}, token: SECRET } })
      assert.strictEqual(outside.status, 422)
      assert.strictEqual(outside.body.errors[0].location, "body.token")
      assert.notInclude(outside.text, SECRET)
      const malformed = yield* core("PUT", path, { token, rawBody: `{"settings": {"token": "${SECRET}"` })
      assert.strictEqual(malformed.status, 400)
      assert.notInclude(malformed.text, SECRET)
    }),
  )

  it.effect("secrets are masked at any depth, and array items keep theirs by identity", () =>
    Effect.gen(function* () {
      const name = yield* registered({
        type: "object",
        properties: {
          auth: { oneOf: [{ $ref: "#/$defs/basic" }, { $ref: "#/$defs/bearer" }] },
          hooks: { type: "array", items: { allOf: [{ $ref: "#/$defs/hook" }] } },
        },
        $defs: {
          basic: {
            type: "object",
            required: ["user", "password"],
            additionalProperties: false,
            properties: { user: { type: "string" }, password: secret },
          },
          bearer: { type: "object", required: ["token"], additionalProperties: false, properties: { token: secret } },
          hook: { type: "object", required: ["id", "key"], properties: { id: { type: "string" }, key: secret } },
        },
      })
      const { get, put } = yield* settingsOf(name)
      const full = {
        auth: { user: "u", password: "first-secret" },
        hooks: [
          { id: "a", key: "key-a" },
          { id: "b", key: "key-b" },
        ],
      }
      const shown = {
        auth: { user: "u", password: "***" },
        hooks: [
          { id: "a", key: "***" },
          { id: "b", key: "***" },
        ],
      }
      assert.deepStrictEqual((yield* put(full)).body.settings, shown)
      assert.deepStrictEqual((yield* put(shown)).body.settings, shown)
      assert.strictEqual(
        (yield* put({ auth: { user: "v" }, hooks: [{ id: "b" }, { id: "c", key: "***" }] })).status,
        422,
      )
      const moved = yield* put({ auth: { user: "v" }, hooks: [{ id: "b" }] })
      assert.deepStrictEqual(moved.body.settings, {
        auth: { user: "v", password: "***" },
        hooks: [{ id: "b", key: "***" }],
      })
      const other = yield* put({ auth: { token: "second-secret" } })
      assert.strictEqual(other.status, 422)
      const switched = yield* put({ auth: { token: "second-secret", password: null } })
      assert.deepStrictEqual(switched.body.settings?.auth, { token: "***" }, switched.text)
      assert.deepStrictEqual((yield* get).body.settings.hooks, [{ id: "b", key: "***" }])
    }),
  )

  it.effect("an omitted object keeps its secret if it is valid with that alone, and is removed otherwise", () =>
    Effect.gen(function* () {
      const basic = {
        type: "object",
        required: ["user", "password"],
        additionalProperties: false,
        properties: { user: { type: "string" }, password: secret },
      }
      const bearer = { type: "object", required: ["token"], additionalProperties: false, properties: { token: secret } }
      const name = yield* registered({
        type: "object",
        properties: {
          region: { type: "string" },
          auth: { oneOf: [basic, bearer] },
          proxy: basic,
          hooks: {
            type: "array",
            items: {
              type: "object",
              required: ["id"],
              properties: { id: { type: "string" }, auth: basic, tls: bearer },
            },
          },
        },
      })
      const { get, put } = yield* settingsOf(name)
      const full = {
        region: "eu",
        auth: { user: "u", password: "first-secret" },
        proxy: { user: "p", password: "proxy-secret" },
        hooks: [{ id: "a", auth: { user: "h", password: "hook-secret" }, tls: { token: "hook-token" } }],
      }
      assert.strictEqual((yield* put(full)).status, 200)
      const without = yield* put({ region: "us", hooks: [{ id: "a" }] })
      assert.strictEqual(without.status, 200, without.text)
      assert.deepStrictEqual(without.body.settings, { region: "us", hooks: [{ id: "a", tls: { token: "***" } }] })
      assert.deepStrictEqual((yield* get).body, without.body)
      assert.strictEqual((yield* put({ auth: { user: "u", password: "***" } })).status, 422, "the secret is gone")

      assert.strictEqual((yield* put({ auth: { token: "second-secret" }, proxy: full.proxy })).status, 200)
      const kept = yield* put({ region: "ap" })
      assert.deepStrictEqual(kept.body.settings, {
        region: "ap",
        auth: { token: "***" },
        hooks: without.body.settings.hooks,
      })
      const wrong = yield* put({ region: 1 })
      assert.deepStrictEqual(wrong.body.errors[0].location, "body.settings.region")
    }),
  )

  it.effect("changing an address without sending the secrets again is rejected", () =>
    Effect.gen(function* () {
      const { put } = yield* settingsOf(HUBSPOT)
      yield* put({ accessToken: SECRET })
      for (const settings of [
        { baseUrl: "https://evil.example" },
        { baseUrl: "https://evil.example", accessToken: "***" },
      ]) {
        const response = yield* put(settings)
        assert.deepStrictEqual([response.status, response.body.errors[0].location], [422, "body.settings.baseUrl"])
      }
      assert.strictEqual((yield* put({ baseUrl: "https://api.hubapi.com" })).status, 200)
      assert.strictEqual((yield* put({ baseUrl: "https://eu.example", accessToken: SECRET })).status, 200)
      assert.strictEqual((yield* put({ accessToken: "***" })).status, 422)
    }),
  )

  it.effect("secrets of an older schema stay hidden, and the next PUT removes them", () =>
    Effect.gen(function* () {
      const name = yield* registered({ type: "object", properties: { old: secret } })
      const { get, put } = yield* settingsOf(name)
      yield* put({ old: SECRET })
      yield* registered({ type: "object" }, name)
      assert.deepStrictEqual((yield* get).body.settings, { old: "***" })
      assert.deepStrictEqual((yield* put({ plain: 1 })).body.settings, { plain: 1 })
      assert.deepStrictEqual((yield* get).body.settings, { plain: 1 })
    }),
  )

  it.effect("twenty concurrent changes keep the secret", () =>
    Effect.gen(function* () {
      const { get, put } = yield* settingsOf(HUBSPOT)
      yield* put({ accessToken: SECRET })
      const responses = yield* Effect.all(
        Array.from({ length: 20 }, (_, index) => put({ idProperty: `p${index}` })),
        { concurrency: "unbounded" },
      )
      assert.deepStrictEqual([...new Set(responses.map(({ status }) => status))], [200])
      assert.strictEqual((yield* get).body.settings.accessToken, "***")
    }),
  )

  it.effect("settings that are too large or too deep are rejected", () =>
    Effect.gen(function* () {
      const { put } = yield* settingsOf(yield* registered({ type: "object" }))
      let deep: unknown = 1
      for (let level = 0; level < 5000; level++) deep = [deep]
      for (const settings of [{ a: "x".repeat(65 * 1024) }, { deep }]) {
        assert.strictEqual((yield* put(settings)).body.errors[0].location, "body.settings")
      }
    }),
  )

  it.effect("no row of the database contains a secret", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const marker = `secret-${randomUUID()}`
      const owner = yield* settingsOf(HUBSPOT)
      const other = yield* settingsOf(HUBSPOT)
      yield* owner.put({ accessToken: marker })
      yield* other.put({ accessToken: "other" })
      const tables = yield* sql<{ name: string }>`
        SELECT table_name AS name FROM information_schema.tables
        WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`
      assert.isAbove(tables.length, 10)
      const forms = [marker, Buffer.from(marker).toString("hex"), Buffer.from(marker).toString("base64").slice(0, 40)]
      for (const { name } of tables) {
        const rows = yield* sql<{ text: string | null }>`SELECT string_agg(t::text, '') AS text FROM ${sql(name)} t`
        for (const form of forms) assert.notInclude(rows[0]?.text ?? "", form, name)
      }
      const [stored] = yield* sql<{ sealed: Uint8Array }>`
        SELECT sealed FROM connector_settings WHERE organization_id = ${owner.organizationId}`
      yield* sql`
        UPDATE connector_settings SET sealed = ${stored!.sealed} WHERE organization_id = ${other.organizationId}`
      assert.strictEqual((yield* owner.get).status, 200)
    }),
  )
})
