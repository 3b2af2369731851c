import { assert, describe, it } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Option, Redacted } from "effect"
import { randomBytes, randomUUID } from "node:crypto"
import { comparing } from "../../src/app/InstallationKeys.ts"
import type { TokenHashes } from "../../src/domains/access/Model.ts"
import { TokenHasher } from "../../src/domains/access/tokens/TokenHasher.ts"
import { isFitting } from "../../src/domains/maintenance/SecretKeyRules.ts"
import { SecretKeys } from "../../src/domains/maintenance/SecretKeys.ts"
import { SecretKeysRepo } from "../../src/domains/maintenance/SecretKeysRepo.ts"
import { secretPlace } from "../../src/domains/webhooks/endpoints/SigningSecrets.ts"
import * as KeyRing from "../../src/infra/KeyRing.ts"
import * as Boxes from "../../src/infra/SecretBox.ts"
import { platformIdentity } from "../../src/kernel/contract/Caller.ts"
import { Secrets } from "../../src/kernel/ports/KeyRing.ts"
import { SecretBox } from "../../src/kernel/ports/SecretBox.ts"
import { randomCredential } from "../support/ServiceProcess.ts"
import { TestDatabase, testSql } from "../support/TestDatabase.ts"
import { organizationIdOf } from "../support/organizationIds.ts"

type Key = readonly [id: string, byte: number]

const ring = (...keys: ReadonlyArray<Key>) =>
  KeyRing.layerFrom(keys.map(([id, byte]) => ({ id, bytes: Redacted.make(new Uint8Array(32).fill(byte)) })))

/** Starts with these keys, as far as the keys are concerned. Returns the ids of those that do not fit. */
const start = (keys: ReadonlyArray<Key>, knownToken?: string) =>
  SecretKeys.use((secretKeys) =>
    secretKeys.confirm(Option.map(Option.fromUndefinedOr(knownToken), Redacted.make)),
  ).pipe(Effect.provide(comparing(ring(...keys)).pipe(Layer.provide(SecretKeysRepo.layer))))

const storedIds = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const rows = yield* sql<{ id: string }>`SELECT key_id AS id FROM secret_key_checks ORDER BY key_id`
  return rows.map(({ id }) => id)
})

const storeWebhookSecret = Effect.fnUntraced(function* (key: Key) {
  const sql = yield* PgClient.PgClient
  const [organizationId, endpointId] = [organizationIdOf(randomUUID()), randomUUID()]
  const sealed = yield* Effect.flatMap(SecretBox, (box) =>
    box.seal(secretPlace(organizationId, endpointId), "whsec"),
  ).pipe(Effect.provide(Boxes.layer.pipe(Layer.provide(ring(key)))))
  yield* sql`
    INSERT INTO organizations (id, name, slug, created_at, created_by, updated_at, updated_by)
    VALUES (${organizationId}, 'Acme', ${organizationId}, now(), '{}', now(), '{}')`
  yield* sql`
    INSERT INTO webhook_endpoints (organization_id, id, url, event_names, created_at, created_by, updated_at, updated_by)
    VALUES (${organizationId}, ${endpointId}, 'https://hooks.example', '{}', now(), '{}', now(), '{}')`
  yield* sql`
    INSERT INTO webhook_secrets (organization_id, endpoint_id, id, sealed, created_at)
    VALUES (${organizationId}, ${endpointId}, ${randomUUID()}, ${sealed}, now())`
})

const storeToken = Effect.fnUntraced(function* (token: string, key: Key) {
  const sql = yield* PgClient.PgClient
  const hasher = yield* Effect.provide(TokenHasher, TokenHasher.layer.pipe(Layer.provide(ring(key))))
  const hashes: TokenHashes = hasher.hash(Redacted.make(token))
  yield* sql`
    INSERT INTO credentials (id, kind, owner_id, actor, name, slug, scopes, lookup_hash, salt, verification_hash, pepper_id,
      last_four, created_at, created_by)
    VALUES (gen_random_uuid(), 'platform', ${platformIdentity.id}, '{}', 'first', ${randomUUID()}, '{}',
      ${hashes.lookupHash}, ${hashes.salt}, ${hashes.verificationHash}, ${hashes.pepperId}, ${hashes.lastFour}, now(), '{}')`
})

describe("a secret key at the start", () => {
  it.live("fits again after its first use; other bytes under its id do not fit, and change nothing", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* start([["default", 1]]), [])
      assert.deepStrictEqual(yield* start([["default", 1]]), [])
      assert.deepStrictEqual(yield* start([["default", 2]]), ["default"])
      assert.deepStrictEqual(
        yield* start([
          ["2026", 3],
          ["default", 2],
        ]),
        ["default"],
      )
      assert.deepStrictEqual(yield* storedIds, ["default"])
      assert.deepStrictEqual(yield* start([["default", 1]]), [])
    }).pipe(Effect.provide(testSql)),
  )

  it.live("is replaced in steps: appended, put first, and the old one removed, with both lists side by side", () =>
    Effect.gen(function* () {
      const [old, next]: readonly [Key, Key] = [
        ["default", 1],
        ["2026", 2],
      ]
      for (const keys of [[old], [old, next], [old], [next, old], [old, next], [next], [next, old], [next]]) {
        assert.deepStrictEqual(yield* start(keys), [])
      }
      assert.deepStrictEqual(yield* start([["2026", 9], old]), ["2026"])
      assert.deepStrictEqual(yield* start([next, ["default", 9]]), ["default"])
    }).pipe(Effect.provide(testSql)),
  )

  it.live("has a check value that is neither the key nor a key of another purpose", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      yield* start([["default", 1]])
      const [row] = yield* sql<{ value: Uint8Array }>`SELECT check_value AS value FROM secret_key_checks`
      const value = Buffer.from(row?.value ?? []).toString("hex")
      assert.lengthOf(value, 64)
      const secrets = yield* Effect.provide(Secrets, ring(["default", 1]))
      const others = ["token-pepper", "gateway-jwt", "cursor", "webhook-secret", "connector-settings"].map(
        (purpose) => secrets.keysFor(purpose)[0].bytes,
      )
      for (const other of [new Uint8Array(32).fill(1), ...others]) {
        assert.notStrictEqual(value, Buffer.from(other).toString("hex"))
      }
    }).pipe(Effect.provide(testSql)),
  )

  it.live("of two processes with different keys under a new id, exactly one fits", () =>
    Effect.gen(function* () {
      for (const id of Array.from({ length: 10 }, (_, index) => `key-${index}`)) {
        const both = yield* Effect.all([start([[id, 1]]), start([[id, 2]])], { concurrency: 2 })
        assert.sameDeepMembers(both, [[], [id]])
      }
    }).pipe(Effect.provide(testSql)),
  )
})

describe("a secret key at the first start that stores check values", () => {
  it.live("does not fit if it opens no stored secret, and is not stored; the key that opens it is", () =>
    Effect.gen(function* () {
      yield* storeWebhookSecret(["default", 1])
      assert.deepStrictEqual(yield* start([["default", 2]]), ["default"])
      assert.deepStrictEqual(
        yield* start([
          ["2026", 3],
          ["default", 2],
        ]),
        ["default"],
      )
      assert.deepStrictEqual(yield* storedIds, [])
      assert.deepStrictEqual(yield* start([["default", 1]]), [])
      assert.deepStrictEqual(yield* storedIds, ["default"])
    }).pipe(Effect.provide(testSql)),
  )

  it.live("does not fit if the bootstrap credential was hashed with another one", () =>
    Effect.gen(function* () {
      const token = randomCredential()
      yield* storeToken(token, ["default", 1])
      assert.deepStrictEqual(yield* start([["default", 2]], token), ["default"])
      assert.deepStrictEqual(yield* storedIds, [])
      assert.deepStrictEqual(yield* start([["default", 1]], token), [])
    }).pipe(Effect.provide(testSql)),
  )

  it.live("fits if nothing can verify it: tokens of unknown text, or values of a key that has retired", () =>
    Effect.gen(function* () {
      yield* storeToken(randomCredential(), ["default", 1])
      yield* storeWebhookSecret(["2025", 5])
      assert.deepStrictEqual(yield* start([["default", 1]], randomCredential()), [])
      assert.deepStrictEqual(yield* storedIds, ["default"])
    }).pipe(Effect.provide(testSql)),
  )

  it("fits if it opens some values: its predecessor under the same id was replaced", () => {
    const opening = (tried: number, opened: number) => ({ what: "webhook secrets", key: "default", tried, opened })
    assert.isTrue(isFitting("none", [opening(9, 1)]))
    assert.isTrue(isFitting("none", [opening(9, 0), opening(1, 1)]))
    assert.isFalse(isFitting("none", [opening(9, 0), opening(1, 0)]))
    assert.isTrue(isFitting("same", [opening(9, 0)]))
    assert.isFalse(isFitting("different", [opening(9, 9)]))
  })
})

describe("a secret key on a database that it cannot write", () => {
  const connected = (startupParameters: Record<string, string>) =>
    Layer.unwrap(
      Effect.map(TestDatabase, ({ url }) => PgClient.layer({ url, maxConnections: 1, startupParameters })),
    ).pipe(Layer.fresh)

  const behavesReadOnly = Effect.gen(function* () {
    assert.deepStrictEqual(yield* start([["default", 1]]), [])
    assert.deepStrictEqual(yield* start([["default", 2]]), ["default"])
    assert.deepStrictEqual(
      yield* start([
        ["2026", 3],
        ["default", 1],
      ]),
      [],
    )
    assert.deepStrictEqual(yield* storedIds, ["default"])
  })

  it.live("is compared, and a new key is accepted without being stored", () =>
    Effect.gen(function* () {
      yield* start([["default", 1]])
      yield* Effect.provide(behavesReadOnly, connected({ default_transaction_read_only: "on" }))
    }).pipe(Effect.provide(testSql)),
  )

  it.live("is compared by a role that may only read", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const role = `keyshelf_reader_${randomBytes(6).toString("hex")}`
      yield* start([["default", 1]])
      yield* Effect.acquireRelease(sql.unsafe(`CREATE ROLE ${role} LOGIN`), () =>
        Effect.orDie(Effect.andThen(sql.unsafe(`DROP OWNED BY ${role}`), sql.unsafe(`DROP ROLE ${role}`))),
      )
      // On Citus the role connects to the workers too, and tables with references are changed one after the other.
      yield* sql.withTransaction(
        Effect.andThen(
          sql`SELECT set_config('citus.multi_shard_modify_mode', 'sequential', true)`,
          sql.unsafe(`GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`),
        ),
      )
      yield* Effect.provide(behavesReadOnly, connected({ role }))
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )
})
