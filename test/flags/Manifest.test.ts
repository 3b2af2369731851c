import { assert, layer } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"
import { published } from "./published.ts"
import { tenantWithCalls } from "./tenant.ts"

layer(TestService.separate, { excludeTestServices: true })("the flag manifest", (it) => {
  const MANIFEST = "/openfeature/v0/manifest"

  it.effect("the manifest lists flags with a fallback by key and matches the OpenFeature schema", () =>
    Effect.gen(function* () {
      const { call } = yield* tenantWithCalls
      assert.deepStrictEqual((yield* call("GET", MANIFEST)).body, { flags: [] })
      const flags = [
        { key: "zoom", type: "integer", metadata: { fallback_value: 0 } },
        { key: "Limits", type: "object", metadata: { fallback_value: { most: 3 } } },
        { key: "beta", type: "boolean", metadata: { fallback_value: false }, description: "Two\nlines" },
        { key: "theme", type: "string", metadata: { fallback_value: "" }, name: "Theme" },
        { key: "none", type: "string", metadata: { team: "x" } },
        { key: "cleared", type: "string", metadata: { fallback_value: null } },
      ]
      for (const flag of flags) assert.strictEqual((yield* call("POST", "/feature-flags", flag)).status, 201)
      const response = yield* call("GET", MANIFEST)
      assert.strictEqual(response.status, 200)
      assert.strictEqual(response.headers.get("content-type"), "application/json")
      assert.strictEqual(response.headers.get("x-manifest-capabilities"), "read")
      assert.deepStrictEqual(response.body, {
        flags: [
          { key: "Limits", name: "Limits", description: "", type: "object", defaultValue: { most: 3 } },
          { key: "beta", name: "beta", description: "Two lines", type: "boolean", defaultValue: false },
          { key: "theme", name: "Theme", description: "", type: "string", defaultValue: "" },
          { key: "zoom", name: "zoom", description: "", type: "integer", defaultValue: 0 },
        ],
      })
      assert.strictEqual(published.manifest(response.body), "")
      // The published API schema has no floats, but the client and its file format do.
      yield* call("POST", "/feature-flags", { key: "share", type: "float", metadata: { fallback_value: 0.15 } })
      const all: ReadonlyArray<{ key: string; type: string; description: string; defaultValue: unknown }> =
        (yield* call("GET", MANIFEST)).body.flags
      const file = {
        flags: Object.fromEntries(
          all.map(({ defaultValue, description, key, type }) => [key, { flagType: type, description, defaultValue }]),
        ),
      }
      assert.strictEqual(Object.keys(file.flags).length, 5)
      assert.strictEqual(published.manifestFile(file), "")
    }),
  )

  it.effect("the manifest returns 304 for its ETag until a flag changes", () =>
    Effect.gen(function* () {
      const { call } = yield* tenantWithCalls
      yield* call("POST", "/feature-flags", { key: "theme", type: "string", metadata: { fallback_value: "light" } })
      const first = yield* call("GET", MANIFEST)
      const etag = first.headers.get("etag") ?? ""
      assert.match(etag, /^(W\/)?"[^"]+"$/)
      const again = yield* call("GET", MANIFEST, undefined, { "if-none-match": etag })
      assert.strictEqual(again.status, 304)
      assert.strictEqual(again.text, "")
      assert.strictEqual(again.headers.get("etag"), etag)
      yield* call("PUT", "/feature-flags/theme", { metadata: { fallback_value: "dark" } })
      const changed = yield* call("GET", MANIFEST, undefined, { "if-none-match": etag })
      assert.strictEqual(changed.status, 200)
      assert.strictEqual(changed.body.flags[0].defaultValue, "dark")
    }),
  )

  it.effect("errors on the manifest's path are problems with the `error.message` that the OpenFeature CLI prints", () =>
    Effect.gen(function* () {
      const { call, core, tenant, tokenWith } = yield* tenantWithCalls
      const responses = [
        yield* core("GET", MANIFEST),
        yield* core("GET", MANIFEST, { token: yield* tokenWith(tenant, ["read:releases"]) }),
        yield* call("GET", "/openfeature/v0/unknown"),
        yield* call("POST", MANIFEST, {}),
      ]
      assert.deepStrictEqual(
        responses.map(({ status }) => status),
        [401, 403, 404, 405],
      )
      for (const { body, headers, status } of responses) {
        assert.strictEqual(headers.get("content-type"), "application/problem+json")
        assert.strictEqual(published.manifestError(body), "")
        assert.deepStrictEqual(body.error, { message: body.detail, status })
      }
      assert.notProperty((yield* core("GET", "/feature-flags")).body, "error")
    }),
  )
})

layer(TestService.separate, { excludeTestServices: true })("the flag manifest without its table", (it) => {
  it.effect("a failing manifest returns 500 with `error.message` and no internals", () =>
    Effect.gen(function* () {
      const { call } = yield* tenantWithCalls
      const sql = yield* PgClient.PgClient
      yield* sql`ALTER TABLE feature_flags RENAME TO feature_flags_elsewhere`
      const { body, status } = yield* call("GET", "/openfeature/v0/manifest")
      assert.strictEqual(status, 500)
      assert.strictEqual(body.code, "Service.InternalError")
      assert.deepStrictEqual(body.error, { message: body.detail, status: 500 })
    }),
  )
})
