import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { TestService } from "../support/TestService.ts"

const keyed = (key: string) => ({ "idempotency-key": key })

layer(TestService.layer, { excludeTestServices: true })("Idempotency-Key", (it) => {
  it.effect("a retried request gets the first response and creates nothing again", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const call = { token, body: { name: "part", version: "1" }, headers: keyed(randomUUID()) }
      const first = yield* core("POST", "/components", call)
      const second = yield* core("POST", "/components", call)
      assert.strictEqual(first.headers.get("idempotent-replayed"), null)
      assert.strictEqual(second.headers.get("idempotent-replayed"), "true")
      assert.strictEqual(second.status, 201)
      assert.strictEqual(second.text, first.text)
      assert.strictEqual(second.headers.get("location"), first.headers.get("location"))
      assert.strictEqual((yield* core("GET", "/components", { token })).body.items.length, 1)
    }),
  )

  it.effect("a key that is reused for a different request is rejected", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const headers = keyed(randomUUID())
      yield* core("POST", "/components", { token, headers, body: { name: "part", version: "1" } })
      const other = yield* core("POST", "/components", { token, headers, body: { name: "part", version: "2" } })
      assert.strictEqual(other.status, 422)
      assert.strictEqual(other.body.code, "IdempotencyKey.Reused")
    }),
  )

  it.effect("a rejected request does not use up the key", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const headers = keyed(randomUUID())
      assert.strictEqual((yield* core("POST", "/components", { token, headers, body: { name: "" } })).status, 422)
      const body = { name: "part", version: "1" }
      assert.strictEqual((yield* core("POST", "/components", { token, headers, body })).status, 201)
    }),
  )

  it.effect("concurrent requests with one key create one component; the others get 409 or its response", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const call = { token, headers: keyed(randomUUID()), body: { name: "part", version: "1" } }
      const responses = yield* Effect.all(
        Array.from({ length: 20 }, () => core("POST", "/components", call)),
        { concurrency: "unbounded" },
      )
      for (const response of responses) {
        assert.isTrue(
          response.status === 201 || (response.status === 409 && response.body.code === "IdempotencyKey.InFlight"),
          response.text,
        )
      }
      assert.strictEqual((yield* core("GET", "/components", { token })).body.items.length, 1)
    }),
  )

  it.effect("callers may use the same key independently", () =>
    Effect.gen(function* () {
      const { core, tenant, tokenWith } = yield* TestService
      const owner = yield* tenant()
      const colleague = yield* tokenWith(owner, ["write:components"])
      const call = { headers: keyed(randomUUID()), body: { name: "part", version: "1" } }
      assert.strictEqual((yield* core("POST", "/components", { ...call, token: owner.token })).status, 201)
      const other = yield* core("POST", "/components", { ...call, token: colleague })
      assert.strictEqual(other.status, 201)
      assert.strictEqual(other.headers.get("idempotent-replayed"), null)
    }),
  )

  it.effect("a response with a secret is not stored, and its retry gets 409 with the created slug", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const account = yield* core("POST", "/service-accounts", { token, body: { name: "ci" } })
      const path = `/service-accounts/${account.body.slug}/tokens`
      const call = { token, headers: keyed(randomUUID()), body: { name: "deploys", scopes: ["read:releases"] } }
      const first = yield* core("POST", path, call)
      assert.strictEqual(first.status, 201)
      const again = yield* core("POST", path, call)
      assert.strictEqual(again.status, 409)
      assert.strictEqual(again.body.code, "IdempotencyKey.SecretNotReplayable")
      assert.include(again.body.detail, first.body.slug)
      const sql = yield* PgClient.PgClient
      const rows = yield* sql`SELECT body FROM idempotency_keys WHERE body LIKE ${`%${first.body.token}%`}`
      assert.strictEqual(rows.length, 0)
      assert.strictEqual((yield* core("GET", path, { token })).body.items.length, 1)
    }),
  )

  it.effect("a malformed key is rejected with its location", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const call = { token, headers: keyed("two words"), body: { name: "part", version: "1" } }
      const response = yield* core("POST", "/components", call)
      assert.strictEqual(response.status, 422)
      assert.strictEqual(response.body.errors[0].location, "header.idempotency-key")
    }),
  )
})
