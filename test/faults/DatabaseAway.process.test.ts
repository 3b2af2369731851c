import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { databaseProxy } from "../support/cable.ts"
import { request } from "../support/http.ts"
import { freePorts, randomCredential, start } from "../support/ServiceProcess.ts"
import { TestDatabase, testSql } from "../support/TestDatabase.ts"

describe("an unreachable database", { timeout: 120_000 }, () => {
  it.live(
    "while the database is unreachable, requests get 503 with Retry-After and readiness fails; then the service recovers",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestDatabase
        const wire = yield* databaseProxy(Redacted.value(url))
        const operator = randomCredential()
        const [core, platform, internal] = yield* freePorts(3)
        const service = yield* start(["serve"], {
          SERVICE_DATABASE_URL: wire.url,
          SERVICE_SECRET_KEY: randomBytes(32).toString("base64"),
          SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL: operator,
          SERVICE_CORE_PORT: String(core),
          SERVICE_PLATFORM_PORT: String(platform),
          SERVICE_INTERNAL_PORT: String(internal),
        })
        yield* service.ready
        const organizations = (options: object = {}) =>
          Effect.promise(() =>
            request("GET", `${service.platform}/api/platform/organizations`, { token: operator, ...options }),
          )
        const health = (kind: string) =>
          Effect.promise(() => request("GET", `http://127.0.0.1:${internal}/health/${kind}`))
        assert.strictEqual((yield* organizations()).status, 200)

        wire.cut()
        for (let attempt = 0; attempt < 10; attempt++) {
          const response = yield* organizations()
          assert.strictEqual(response.status, 503, response.text)
          assert.strictEqual(response.body.code, "Service.Unavailable")
          assert.isNotNull(response.headers.get("retry-after"))
          assert.notMatch(response.text, /127\.0\.0\.1|ECONN|socket|postgres/i)
        }
        assert.strictEqual((yield* health("ready")).status, 503)
        assert.strictEqual((yield* health("live")).status, 200)

        wire.mend()
        const deadline = Date.now() + 10_000
        let status = 0
        while (status !== 200 && Date.now() < deadline) {
          status = (yield* organizations()).status
          yield* Effect.sleep(100)
        }
        assert.strictEqual(status, 200)
        assert.strictEqual((yield* health("ready")).status, 200)
        assert.strictEqual(service.process.exitCode, null)
      }).pipe(Effect.provide(Layer.fresh(testSql))),
  )

  it.live("two processes on one database see each other's writes and revocations immediately", () =>
    Effect.gen(function* () {
      const { url } = yield* TestDatabase
      const operator = randomCredential()
      const key = randomBytes(32).toString("base64")
      const node = Effect.gen(function* () {
        const [core, platform, internal] = yield* freePorts(3)
        return yield* start(["serve"], {
          SERVICE_DATABASE_URL: Redacted.value(url),
          SERVICE_SECRET_KEY: key,
          SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL: operator,
          SERVICE_CORE_PORT: String(core),
          SERVICE_PLATFORM_PORT: String(platform),
          SERVICE_INTERNAL_PORT: String(internal),
        })
      })
      const [one, two] = yield* Effect.all([node, node], { concurrency: 2 })
      yield* Effect.all([one.ready, two.ready], { concurrency: 2 })
      const scenario = async () => {
        const organizations = `${one.platform}/api/platform/organizations`
        const organization = await request("POST", organizations, { token: operator, body: { name: "Acme" } })
        const tokens = `${organizations}/${organization.body.id}/tokens`
        for (let round = 0; round < 20; round++) {
          const minted = await request("POST", tokens, { token: operator, body: { name: `round ${round}` } })
          const token = String(minted.body.token)
          const written = await request("POST", `${one.core}/api/components`, {
            token,
            body: { name: "part", version: `${round}` },
          })
          const read = await request("GET", `${two.core}/api/components/${written.body.slug}`, { token })
          assert.deepStrictEqual(read.body, written.body)
          const page = await request("GET", `${one.core}/api/components?limit=1`, { token })
          if (page.body.hasMore === true) {
            const next = await request("GET", `${two.core}/api/components?limit=1&cursor=${page.body.nextCursor}`, {
              token,
            })
            assert.strictEqual(next.status, 200)
          }
          assert.strictEqual(
            (await request("DELETE", `${tokens}/${minted.body.slug}`, { token: operator })).status,
            204,
          )
          assert.strictEqual((await request("GET", `${two.core}/api/me`, { token })).status, 401)
        }
      }
      yield* Effect.promise(scenario)
      const credentials = yield* Effect.promise(() =>
        request("GET", `${two.platform}/api/platform/credentials`, { token: operator }),
      )
      assert.strictEqual(credentials.body.items.length, 1)
      const sql = yield* PgClient.PgClient
      const dump = yield* sql<{ text: string }>`SELECT string_agg(credentials::text, ' ') AS text FROM credentials`
      assert.notInclude(dump[0]?.text, operator.slice(4, 30))
    }).pipe(Effect.provide(Layer.fresh(testSql))),
  )
})
