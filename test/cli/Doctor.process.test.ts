import { assert, describe, it } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { Clock, ConfigProvider, Effect, Layer, Redacted } from "effect"
import { randomUUID } from "node:crypto"
import { chmodSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import type { TokenHashes } from "../../src/domains/access/Model.ts"
import { TokenHasher } from "../../src/domains/access/tokens/TokenHasher.ts"
import * as DatabaseChecks from "../../src/cli/doctor/DatabaseChecks.ts"
import * as KeyChecks from "../../src/cli/doctor/KeyChecks.ts"
import { identityProvider } from "../../src/cli/doctor/PartnerChecks.ts"
import { formatFinding } from "../../src/cli/doctor/Report.ts"
import type { Finding } from "../../src/cli/doctor/Report.ts"
import { compare, knownMigrations } from "../../src/cli/database/Schema.ts"
import { settingsSealContext } from "../../src/domains/connectors/settings/ConnectorSettings.ts"
import { platformIdentity } from "../../src/kernel/contract/Caller.ts"
import { Secrets as InstallationSecrets } from "../../src/kernel/ports/KeyRing.ts"
import { SecretBox } from "../../src/kernel/ports/SecretBox.ts"
import type { SealContext } from "../../src/kernel/ports/SecretBox.ts"
import type { OrganizationId } from "../../src/kernel/values/Identifiers.ts"
import * as Boxes from "../../src/infra/SecretBox.ts"
import * as Secrets from "../../src/infra/KeyRing.ts"
import { Settings } from "../../src/infra/Settings.ts"
import { secretPlace } from "../../src/domains/webhooks/endpoints/SigningSecrets.ts"
import { freePorts, randomCredential, settings, start } from "../support/ServiceProcess.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { testSql } from "../support/TestDatabase.ts"
import { organizationIdOf } from "../support/organizationIds.ts"
import { emptyDatabase } from "./database.ts"

const doctor = Effect.fnUntraced(function* (env: Record<string, string>) {
  return yield* (yield* start(["doctor"], env)).ended
}, Effect.scoped)

const key = (byte: number) => Buffer.alloc(32, byte).toString("base64")

const withKeys = (keys: string, env: Record<string, string> = {}) =>
  Settings.layer.pipe(
    Layer.provide(
      ConfigProvider.layer(
        ConfigProvider.fromEnvRecord({ SERVICE_DATABASE_URL: "postgres://x/x", SERVICE_SECRET_KEY: keys, ...env }),
      ),
    ),
    Layer.fresh,
  )

const secretsOf = (id: string, byte: number) =>
  Secrets.layerFrom([{ id, bytes: Redacted.make(new Uint8Array(32).fill(byte)) }])

const seal = (place: SealContext, id: string, byte: number) =>
  Effect.flatMap(SecretBox, (box) => box.seal(place, "secret")).pipe(
    Effect.provide(Boxes.layer.pipe(Layer.provide(secretsOf(id, byte)))),
  )

const storeOrganization = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const [organization] = yield* sql<{ id: string }>`
    INSERT INTO organizations (id, name, slug, created_at, created_by, updated_at, updated_by)
    VALUES (gen_random_uuid(), 'Acme', 'acme', now(), '{}', now(), '{}') RETURNING id`
  return organizationIdOf(organization?.id ?? "")
})

const storeSettings = Effect.fnUntraced(function* (organizationId: OrganizationId, id: string, byte: number) {
  const sql = yield* PgClient.PgClient
  const sealed = yield* seal(settingsSealContext(organizationId, "x"), id, byte)
  yield* sql`
    INSERT INTO connector_settings (organization_id, connector_name, sealed, version, settings_schema, updated_at, updated_by)
    VALUES (${organizationId}, 'x', ${sealed}, '1', '{}', now(), '{}')`
})

const storeWebhookSecret = Effect.fnUntraced(function* (organizationId: OrganizationId, id: string, byte: number) {
  const sql = yield* PgClient.PgClient
  const endpointId = randomUUID()
  const sealed = yield* seal(secretPlace(organizationId, endpointId), id, byte)
  yield* sql`
    INSERT INTO webhook_endpoints (organization_id, id, url, event_names, created_at, created_by, updated_at, updated_by)
    VALUES (${organizationId}, ${endpointId}, 'https://hooks.example', '{}', now(), '{}', now(), '{}')`
  yield* sql`
    INSERT INTO webhook_secrets (organization_id, endpoint_id, id, sealed, created_at)
    VALUES (${organizationId}, ${endpointId}, ${randomUUID()}, ${sealed}, now())`
})

const storeToken = Effect.fnUntraced(function* (hashes: TokenHashes) {
  const sql = yield* PgClient.PgClient
  yield* sql`
    INSERT INTO credentials (id, kind, owner_id, actor, name, slug, scopes, lookup_hash, salt, verification_hash, pepper_id,
      last_four, created_at, created_by)
    VALUES (gen_random_uuid(), 'platform', ${platformIdentity.id}, '{}', 'first', 'first', '{}', ${hashes.lookupHash},
      ${hashes.salt}, ${hashes.verificationHash}, ${hashes.pepperId}, ${hashes.lastFour}, now(), '{}')`
})

const states = (findings: ReadonlyArray<Finding>) => findings.map(({ state }) => state)
const texts = (findings: ReadonlyArray<Finding>) => findings.map(({ text }) => text).join("\n")

describe("the check of open files", () => {
  const onLinux = process.platform === "linux"
  const title = `names the limit and how to raise it${onLinux ? "" : " (skipped: only Linux reports the limit)"}`
  it.live.skipIf(!onLinux)(title, () =>
    Effect.gen(function* () {
      const env = { SERVICE_DATABASE_URL: "postgres://u@127.0.0.1:1/x", SERVICE_SECRET_KEY: key(1) }
      const few = yield* (yield* start(["doctor"], env, undefined, 128)).ended
      assert.match(
        few.output,
        /^warning +files +128 files may be open: at most 64 .*Raise the limit to 1312 .*ulimit -n/m,
      )
      const enough = yield* (yield* start(["doctor"], env, undefined, 1024)).ended
      assert.match(enough.output, /^ok +files +1024 files may be open: at most 696 /m)
    }),
  )
})

describe("keyshelf doctor", { timeout: 120_000 }, () => {
  it.live("reports no failure with the service running or stopped, one line per finding, without secrets", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const credential = randomCredential()
      const env = yield* settings(directory, credential)
      const fresh = yield* doctor(env)
      assert.strictEqual(fresh.code, 0, fresh.output)
      assert.include(fresh.output, "the first start creates it")

      const service = yield* start(["serve"], env)
      yield* service.ready
      const running = yield* doctor(env)
      assert.strictEqual(running.code, 0, running.output)
      // Eight in the pool, eight for changes, one each for the hot path, attempt results and LISTEN.
      assert.include(running.output, "this process opens up to 19")
      assert.include(running.output, `core 127.0.0.1:${env.SERVICE_CORE_PORT} is open: the service is running`)
      service.process.kill("SIGTERM")
      yield* service.ended

      const stopped = yield* doctor(env)
      assert.strictEqual(stopped.code, 0, stopped.output)
      assert.include(stopped.output, `core 127.0.0.1:${env.SERVICE_CORE_PORT} is free`)
      assert.match(stopped.output, /^ok +database +PostgreSQL \d+/m)
      assert.include(stopped.output, `all ${knownMigrations.length} are applied`)
      for (const { output } of [fresh, running, stopped]) {
        assert.notInclude(output, credential)
        for (const text of output.trim().split("\n").slice(0, -1)) assert.match(text, /^(ok|warning|FAILED) {2,}\S/)
      }

      chmodSync(join(env.SERVICE_DATA_DIR, "secret-key"), 0o644)
      assert.match((yield* doctor(env)).output, /^warning +directory .*chmod 600/m)
      const file = join(env.SERVICE_DATA_DIR, "secret-key")
      writeFileSync(file, key(9))
      const another = yield* doctor(env)
      assert.strictEqual(another.code, 1)
      assert.match(another.output, /^FAILED +keys .*secret-key does not open 1 of 1 tokens/m)
      rmSync(file)
      const keyless = yield* doctor(env)
      assert.strictEqual(keyless.code, 1)
      assert.match(keyless.output, /^FAILED +directory .*is missing/m)
      assert.match(keyless.output, /^FAILED +keys .*There is no secret key/m)
    }),
  )

  it.live("names invalid and unknown settings, an unreachable database and a port in use, and exits with 1", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      // Nothing listens on the internal port, whatever runs on this machine.
      const [port, internal] = yield* freePorts(2)
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
        SERVICE_INTERNAL_PORT: String(internal),
        SERVICE_CORE_PROT: "8080",
      })
      assert.strictEqual(away.code, 1)
      assert.match(away.output, /^FAILED +database .*127\.0\.0\.1:1\/x/m)
      assert.match(away.output, /^warning +settings +SERVICE_CORE_PROT is set, but this version has no such setting/m)
      assert.match(away.output, new RegExp(`^warning +ports +core 127.0.0.1:${port} is in use by another process`, "m"))
      assert.match(away.output, /^FAILED +ports +SERVICE_PLATFORM_PORT is/m)
      assert.notInclude(away.output, "hidden")
      assert.notInclude(away.output, key(3))
    }),
  )

  it.live("distinguishes pending, skipped and newer migrations", () =>
    Effect.sync(() => {
      const applied = knownMigrations.map((name) => ({ id: Number(name.slice(0, 4)), name: name.slice(5) }))
      assert.deepStrictEqual(compare(applied), { pending: [], skipped: [], newer: [] })
      assert.deepStrictEqual(compare(applied.slice(0, -1)).pending, knownMigrations.slice(-1))
      assert.deepStrictEqual(compare([{ id: 9000, name: "later" }]).skipped, knownMigrations)
      assert.deepStrictEqual(compare([...applied, { id: 9000, name: "later" }]).newer, ["9000_later"])
    }),
  )

  it.live("warns about migrations and partitions of a database without tables", () =>
    Effect.gen(function* () {
      const url = yield* emptyDatabase
      const findings = yield* Effect.all([DatabaseChecks.schema, DatabaseChecks.partitions, KeyChecks.keys]).pipe(
        Effect.provide([PgClient.layer({ url, maxConnections: 1 }), withKeys(key(1))]),
      )
      assert.deepStrictEqual(findings.map(states), [["warning"], ["warning"], ["ok"]])
    }),
  )

  it.live("warns only if autovacuum is off", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const [server] = yield* sql<{ autovacuum: string }>`SELECT current_setting('autovacuum') AS autovacuum`
      const findings = yield* DatabaseChecks.server.pipe(Effect.provide(withKeys(key(1))))
      assert.strictEqual(texts(findings).includes("autovacuum is off"), server?.autovacuum === "off")
    }).pipe(Effect.provide(testSql)),
  )

  it.live("counts the days for which history partitions exist", () =>
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
      const enough = yield* DatabaseChecks.partitions
      assert.deepStrictEqual(states(enough), ["ok"])
      assert.include(texts(enough), "7 more days")
    }).pipe(Effect.provide(testSql)),
  )

  it.live("a missing key fails; an old key is listed with its uses until nothing needs it", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      yield* storeSettings(yield* storeOrganization, "2025", 5)
      const check = (keys: string) => KeyChecks.keys.pipe(Effect.provide(withKeys(keys)))

      const lost = yield* check(`2026:${key(6)}`)
      assert.deepStrictEqual(states(lost), ["ok", "FAILED"])
      assert.include(texts(lost), 'The key "2025" is missing, and 1 connector_settings need it')
      const rotating = yield* check(`2026:${key(6)},2025:${key(5)},2024:${key(4)}`)
      assert.deepStrictEqual(states(rotating), ["ok", "ok", "ok", "ok"])
      assert.include(texts(rotating), 'The key "2025" opens 1 connector settings')
      assert.include(texts(rotating), 'The old key "2025" is still needed by 1 connector_settings')
      assert.include(texts(rotating), 'The old key "2024" is no longer needed')
      yield* sql`DELETE FROM connector_settings`
      assert.include(texts(yield* check(`2026:${key(6)},2025:${key(5)}`)), 'The old key "2025" is no longer needed')
    }).pipe(Effect.provide(testSql)),
  )

  it.live(
    "opens stored secrets of each kind: a different key with the same id fails, with the secrets that need the previous one",
    () =>
      Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        const organizationId = yield* storeOrganization
        yield* storeSettings(organizationId, "default", 5)
        yield* storeWebhookSecret(organizationId, "default", 5)
        const check = (keys: string) => KeyChecks.keys.pipe(Effect.provide(withKeys(keys)))

        const right = yield* check(key(5))
        assert.deepStrictEqual(states(right), ["ok", "ok"])
        assert.include(texts(right), 'The key "default" opens 1 connector settings, 1 webhook secrets')
        const other = yield* check(key(6))
        assert.deepStrictEqual(states(other), ["ok", "FAILED"])
        assert.include(
          texts(other),
          'The key "default" of SERVICE_SECRET_KEY does not open 1 of 1 connector settings, 1 of 1 webhook secrets',
        )
        assert.include(texts(other), "Restore the previous key")
        // A key that was replaced and used since opens only some values.
        yield* storeWebhookSecret(organizationId, "default", 6)
        const used = yield* check(key(6))
        assert.deepStrictEqual(states(used), ["ok", "FAILED"])
        assert.include(texts(used), "1 of 1 connector settings, 1 of 2 webhook secrets")
        yield* sql`DELETE FROM connector_settings`
        yield* sql`DELETE FROM webhook_endpoints`
        yield* sql`DELETE FROM webhook_secrets`
        assert.deepStrictEqual(states(yield* check(key(6))), ["ok"])
      }).pipe(Effect.provide(testSql)),
  )

  it.live("a key used only by tokens cannot be checked, unless one token is known", () =>
    Effect.gen(function* () {
      const token = randomCredential()
      const hasher = yield* Effect.provide(TokenHasher, TokenHasher.layer.pipe(Layer.provide(secretsOf("default", 5))))
      yield* storeToken(hasher.hash(Redacted.make(token)))
      const check = (keys: string, env: Record<string, string> = {}) =>
        KeyChecks.keys.pipe(Effect.provide(withKeys(keys, env)))

      const unknown = yield* check(key(6))
      assert.deepStrictEqual(states(unknown), ["ok", "ok"])
      assert.include(texts(unknown), 'The key "default" cannot be checked: 1 tokens use it')
      const known = { SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL: token }
      assert.include(texts(yield* check(key(5), known)), 'The key "default" opens 1 tokens')
      const wrong = yield* check(key(6), known)
      assert.deepStrictEqual(states(wrong), ["ok", "FAILED"])
      assert.notInclude(texts(wrong), token)
    }).pipe(Effect.provide(testSql)),
  )

  it.live("a key is compared with its first use, even if no stored value needs it", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const check = (keys: string) => KeyChecks.keys.pipe(Effect.provide(withKeys(keys)))
      const [first] = (yield* Effect.provide(InstallationSecrets, secretsOf("default", 5))).keysFor("check-value")
      yield* sql`
        INSERT INTO secret_key_checks (key_id, check_value, first_used_at) VALUES (${first.id}, ${first.bytes}, now())`

      const right = yield* check(key(5))
      assert.deepStrictEqual(states(right), ["ok", "ok"])
      assert.include(texts(right), 'The key "default" fits')
      assert.deepStrictEqual(states(yield* check(`2026:${key(6)},default:${key(5)}`)), ["ok", "ok", "ok"])
      for (const keys of [key(6), `2026:${key(5)},default:${key(6)}`]) {
        const wrong = yield* check(keys)
        assert.include(states(wrong), "FAILED")
        assert.include(texts(wrong), 'The key "default" of SERVICE_SECRET_KEY does not fit')
      }
      const rows = yield* sql<{ id: string }>`SELECT key_id AS id FROM secret_key_checks`
      assert.deepStrictEqual(rows, [{ id: "default" }])
    }).pipe(Effect.provide(testSql)),
  )

  it.live("reads the identity provider as the service does, and reports a wrong issuer", () =>
    Effect.gen(function* () {
      let issuer = ""
      let endpoints = {}
      const provider = createServer((request, response) => {
        const documents: Record<string, unknown> = {
          "/.well-known/openid-configuration": { issuer, jwks_uri: `${issuer}/keys`, ...endpoints },
          "/keys": { keys: [{ kty: "OKP" }] },
        }
        response.end(JSON.stringify(documents[request.url ?? ""] ?? {}))
      })
      yield* Effect.acquireRelease(
        Effect.promise(() => new Promise<void>((done) => provider.listen(0, "127.0.0.1", done))),
        () => Effect.sync(() => provider.close()),
      )
      const origin = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
      const check = (env: Record<string, string>) =>
        identityProvider.pipe(Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord(env))))
      issuer = origin
      assert.deepStrictEqual(states(yield* check({ SERVICE_OIDC_ISSUER: origin })), ["ok", "ok"])
      assert.deepStrictEqual(
        states(yield* check({ SERVICE_OIDC_ISSUER: origin, SERVICE_OIDC_JWKS_URI: `${origin}/nothing` })),
        ["FAILED"],
      )
      const console = { SERVICE_OIDC_ISSUER: origin, SERVICE_OIDC_CLIENT_ID: "console" }
      const unable = yield* check(console)
      assert.deepStrictEqual(states(unable), ["ok", "ok", "warning"])
      assert.include(texts(unable), "people cannot sign in to the console")
      endpoints = { authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token` }
      for (const keys of [{}, { SERVICE_OIDC_JWKS_URI: `${origin}/keys` }]) {
        assert.deepStrictEqual(states(yield* check({ ...console, ...keys })), ["ok", "ok", "ok"])
      }
      issuer = "https://elsewhere.example"
      const wrong = yield* check({ SERVICE_OIDC_ISSUER: origin })
      assert.deepStrictEqual(states(wrong), ["FAILED"])
      assert.include(texts(wrong), 'the provider\'s issuer is "https://elsewhere.example"')
      assert.deepStrictEqual(yield* check({}), [])
    }),
  )

  it.live("a finding is printed on one line", () =>
    Effect.sync(() =>
      assert.notInclude(formatFinding({ state: "FAILED", part: "database", text: "one\n  two" }), "\n"),
    ),
  )
})
