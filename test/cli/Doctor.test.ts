import { assert, describe, it } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { Clock, ConfigProvider, Effect, Layer, Redacted } from "effect"
import { chmodSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import * as DatabaseChecks from "../../src/cli/doctor/DatabaseChecks.ts"
import { identityProvider } from "../../src/cli/doctor/PartnerChecks.ts"
import { line } from "../../src/cli/doctor/Report.ts"
import type { Finding } from "../../src/cli/doctor/Report.ts"
import { compare, known } from "../../src/cli/Schema.ts"
import { SecretBox } from "../../src/kernel/SecretBox.ts"
import * as Boxes from "../../src/runtime/SecretBox.ts"
import * as Secrets from "../../src/runtime/Secrets.ts"
import { Settings } from "../../src/runtime/Settings.ts"
import { freePorts, randomCredential, settings, start, temporaryDirectory } from "../support/ServiceProcess.ts"
import { testSql } from "../support/TestDatabase.ts"
import { emptyDatabase } from "./database.ts"

const doctor = Effect.fnUntraced(function* (env: Record<string, string>) {
  return yield* (yield* start(["doctor"], env)).ended
}, Effect.scoped)

const key = (byte: number) => Buffer.alloc(32, byte).toString("base64")

const withKeys = (keys: string) =>
  Settings.layer.pipe(
    Layer.provide(
      ConfigProvider.layer(
        ConfigProvider.fromEnvRecord({ SERVICE_DATABASE_URL: "postgres://x/x", SERVICE_SECRET_KEY: keys }),
      ),
    ),
    Layer.fresh,
  )

const states = (findings: ReadonlyArray<Finding>) => findings.map(({ state }) => state)
const texts = (findings: ReadonlyArray<Finding>) => findings.map(({ text }) => text).join("\n")

describe("keyshelf doctor", { timeout: 120_000 }, () => {
  it.live("finds all well beside the running service and without it, one line each, and tells no secret", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const credential = randomCredential()
      const env = yield* settings(directory, credential)
      const fresh = yield* doctor(env)
      assert.strictEqual(fresh.code, 0, fresh.output)
      assert.include(fresh.output, "the first start makes it")

      const service = yield* start(["serve"], env)
      yield* service.ready
      const beside = yield* doctor(env)
      assert.strictEqual(beside.code, 0, beside.output)
      assert.include(beside.output, `core 127.0.0.1:${env.SERVICE_CORE_PORT} is open: the service runs`)
      service.process.kill("SIGTERM")
      yield* service.ended

      const without = yield* doctor(env)
      assert.strictEqual(without.code, 0, without.output)
      assert.include(without.output, `core 127.0.0.1:${env.SERVICE_CORE_PORT} is free`)
      assert.match(without.output, /^ok +database +PostgreSQL \d+/m)
      assert.include(without.output, `all ${known.length} are applied`)
      for (const { output } of [fresh, beside, without]) {
        assert.notInclude(output, credential)
        for (const text of output.trim().split("\n").slice(0, -1)) assert.match(text, /^(ok|warning|FAILED) {2,}\S/)
      }

      chmodSync(join(env.SERVICE_DATA_DIR, "secret-key"), 0o644)
      assert.match((yield* doctor(env)).output, /^warning +directory .*chmod 600/m)
      rmSync(join(env.SERVICE_DATA_DIR, "secret-key"))
      const keyless = yield* doctor(env)
      assert.strictEqual(keyless.code, 1)
      assert.match(keyless.output, /^FAILED +directory .*is gone/m)
      assert.match(keyless.output, /^FAILED +keys .*There is no secret key/m)
    }),
  )

  it.live("names wrong settings, unknown ones, a database that is away and a port that is taken, and ends with 1", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const [port] = yield* freePorts(1)
      const holder = createServer().listen(Number(port), "127.0.0.1")
      yield* Effect.addFinalizer(() => Effect.sync(() => holder.close()))
      const wrong = yield* doctor({ SERVICE_DATABASE_POOL_SIZE: "many", SERVICE_DATA_DIR: join(directory, "data") })
      assert.strictEqual(wrong.code, 1)
      assert.match(wrong.output, /^FAILED +settings +SERVICE_DATABASE_POOL_SIZE is not valid/m)

      const away = yield* doctor({
        SERVICE_DATABASE_URL: "postgres://user:hidden@127.0.0.1:1/x",
        SERVICE_SECRET_KEY: key(3),
        SERVICE_CORE_PORT: String(port),
        SERVICE_PLATFORM_PORT: String(port),
        SERVICE_CORE_PROT: "8080",
      })
      assert.strictEqual(away.code, 1)
      assert.match(away.output, /^FAILED +database .*127\.0\.0\.1:1\/x/m)
      assert.match(away.output, /^warning +settings +SERVICE_CORE_PROT is set, but it is no setting/m)
      assert.match(away.output, new RegExp(`^warning +ports +core 127.0.0.1:${port} is in use by another process`, "m"))
      assert.match(away.output, /^FAILED +ports +SERVICE_PLATFORM_PORT names/m)
      assert.notInclude(away.output, "hidden")
      assert.notInclude(away.output, key(3))
    }),
  )

  it.live("tells a schema that is behind, ahead or has a gap", () =>
    Effect.sync(() => {
      const applied = known.map((name) => ({ id: Number(name.slice(0, 4)), name: name.slice(5) }))
      assert.deepStrictEqual(compare(applied), { pending: [], skipped: [], newer: [] })
      assert.deepStrictEqual(compare(applied.slice(0, -1)).pending, known.slice(-1))
      assert.deepStrictEqual(compare(applied.toSpliced(2, 1)).skipped, known.slice(2, 3))
      assert.deepStrictEqual(compare([...applied, { id: 9000, name: "later" }]).newer, ["9000_later"])
    }),
  )

  it.live("tells a database without tables", () =>
    Effect.gen(function* () {
      const url = yield* emptyDatabase
      const findings = yield* Effect.all([DatabaseChecks.schema, DatabaseChecks.partitions, DatabaseChecks.keys]).pipe(
        Effect.provide([PgClient.layer({ url, maxConnections: 1 }), withKeys(key(1))]),
      )
      assert.deepStrictEqual(findings.map(states), [["warning"], ["warning"], ["ok"]])
    }),
  )

  it.live("counts the days of history partitions that are left", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const at = (days: number) =>
        Effect.map(Clock.currentTimeMillis, (now) => new Date(now + days * 86_400_000).toISOString())
      const partition = Effect.fnUntraced(function* (name: string, from: number, to: number) {
        yield* sql.unsafe(
          `CREATE TABLE ${name} PARTITION OF webhook_attempts FOR VALUES FROM ('${yield* at(from)}') TO ('${yield* at(to)}')`,
        )
      })
      for (const row of yield* sql<{ name: string }>`SELECT inhrelid::regclass::text AS name FROM pg_inherits
        WHERE inhparent = 'webhook_attempts'::regclass`) {
        yield* sql.unsafe(`DROP TABLE ${row.name}`)
      }
      assert.deepStrictEqual(states(yield* DatabaseChecks.partitions), ["warning"])
      yield* partition("attempts_past", -3, -1)
      assert.deepStrictEqual(states(yield* DatabaseChecks.partitions), ["FAILED"])
      yield* partition("attempts_now", -1, 1.5)
      assert.deepStrictEqual(states(yield* DatabaseChecks.partitions), ["warning"])
      yield* partition("attempts_next", 1.5, 7.5)
      const well = yield* DatabaseChecks.partitions
      assert.deepStrictEqual(states(well), ["ok"])
      assert.include(texts(well), "7 more days")
    }).pipe(Effect.provide(testSql)),
  )

  it.live(
    "knows which keys stored secrets need: missing ones fail, old ones are counted until nothing needs them",
    () =>
      Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        const [organization] = yield* sql<{ id: string }>`
        INSERT INTO organizations (id, name, slug, created_at, created_by, updated_at, updated_by)
        VALUES (gen_random_uuid(), 'Acme', 'acme', now(), '{}', now(), '{}') RETURNING id`
        const sealed = yield* Effect.flatMap(SecretBox, (box) =>
          box.seal({ purpose: "test", boundTo: [] }, "secret"),
        ).pipe(
          Effect.provide(
            Boxes.layer.pipe(
              Layer.provide(Secrets.layerFrom([{ id: "2025", bytes: Redacted.make(new Uint8Array(32).fill(5)) }])),
            ),
          ),
        )
        yield* sql`INSERT INTO connector_settings (organization_id, connector_name, sealed, version, settings_schema, updated_at, updated_by)
        VALUES (${organization?.id ?? ""}, 'x', ${sealed}, '1', '{}', now(), '{}')`
        const look = (keys: string) => DatabaseChecks.keys.pipe(Effect.provide(withKeys(keys)))

        const lost = yield* look(`2026:${key(6)}`)
        assert.deepStrictEqual(states(lost), ["ok", "FAILED"])
        assert.include(texts(lost), 'The key "2025" is missing, and 1 connector_settings need it')
        const rotating = yield* look(`2026:${key(6)},2025:${key(5)},2024:${key(4)}`)
        assert.deepStrictEqual(states(rotating), ["ok", "ok", "ok"])
        assert.include(texts(rotating), 'The old key "2025" is still needed by 1 connector_settings')
        assert.include(texts(rotating), 'The old key "2024" is needed by nothing any more')
        yield* sql`DELETE FROM connector_settings`
        assert.include(texts(yield* look(`2026:${key(6)},2025:${key(5)}`)), 'The old key "2025" is needed by nothing')
      }).pipe(Effect.provide(testSql)),
  )

  it.live("asks the identity provider as the service does, and tells a wrong issuer", () =>
    Effect.gen(function* () {
      let issuer = ""
      const provider = createServer((request, response) => {
        const answers: Record<string, unknown> = {
          "/.well-known/openid-configuration": { issuer, jwks_uri: `${issuer}/keys` },
          "/keys": { keys: [{ kty: "OKP" }] },
        }
        response.end(JSON.stringify(answers[request.url ?? ""] ?? {}))
      })
      yield* Effect.acquireRelease(
        Effect.promise(() => new Promise<void>((done) => provider.listen(0, "127.0.0.1", done))),
        () => Effect.sync(() => provider.close()),
      )
      const origin = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
      const look = (env: Record<string, string>) =>
        identityProvider.pipe(Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord(env))))
      issuer = origin
      assert.deepStrictEqual(states(yield* look({ SERVICE_OIDC_ISSUER: origin })), ["ok", "ok"])
      assert.deepStrictEqual(
        states(yield* look({ SERVICE_OIDC_ISSUER: origin, SERVICE_OIDC_JWKS_URI: `${origin}/nothing` })),
        ["FAILED"],
      )
      issuer = "https://elsewhere.example"
      const wrong = yield* look({ SERVICE_OIDC_ISSUER: origin })
      assert.deepStrictEqual(states(wrong), ["FAILED"])
      assert.include(texts(wrong), 'calls itself "https://elsewhere.example"')
      assert.deepStrictEqual(yield* look({}), [])
    }),
  )

  it.live("keeps every finding on one line", () =>
    Effect.sync(() => assert.notInclude(line({ state: "FAILED", part: "database", text: "one\n  two" }), "\n")),
  )
})
