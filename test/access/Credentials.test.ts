import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { createHash } from "node:crypto"
import { TokenIssuer } from "../../src/domains/access/tokens/TokenIssuer.ts"
import { AccessRepo } from "../../src/domains/access/Repo.ts"
import { Credentials } from "../../src/domains/access/tokens/Credentials.ts"
import { TokenHasher } from "../../src/domains/access/tokens/TokenHasher.ts"
import { platformIdentity } from "../../src/kernel/contract/Caller.ts"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import type { OrganizationId } from "../../src/kernel/values/Identifiers.ts"
import { TestService } from "../support/TestService.ts"

const issueIn = Effect.fnUntraced(function* (organizationId: OrganizationId, expiresAt: Date | null = null) {
  const tokenIssuer = yield* TokenIssuer
  const transactions = yield* Transactions
  return yield* transactions.run(
    tokenIssuer.issue({
      kind: "organization",
      organizationId,
      owner: platformIdentity,
      parentId: null,
      issuer: platformIdentity,
      request: { name: "test", expiresAt },
      scopes: ["read:*"],
      taken: () => new Error("taken"),
    }),
  )
})

layer(TestService.separate, { excludeTestServices: true })("credentials", (it) => {
  it.effect("a token works before the instant of its expiry, and fails at it", () =>
    Effect.gen(function* () {
      const { tenant } = yield* TestService
      const { organizationId } = yield* tenant()
      const credentials = yield* Credentials
      yield* Effect.gen(function* () {
        yield* TestClock.setTime(new Date("2030-01-01T00:00:00Z").getTime())
        const { token } = yield* issueIn(organizationId, new Date("2030-01-02T00:00:00Z"))
        yield* TestClock.setTime(new Date("2030-01-01T23:59:59.999Z").getTime())
        assert.strictEqual((yield* credentials.authenticate("organization", token)).kind, "organization")
        yield* TestClock.setTime(new Date("2030-01-02T00:00:00Z").getTime())
        assert.strictEqual(
          (yield* Effect.flip(credentials.authenticate("organization", token)))._tag,
          "Auth.InvalidCredential",
        )
      }).pipe(Effect.provide(TestClock.layer()))
    }),
  )

  it.effect("the database stores two hashes, and no part of the secret except its last four characters", () =>
    Effect.gen(function* () {
      const { tenant } = yield* TestService
      const { organizationId } = yield* tenant()
      const { record, token } = yield* issueIn(organizationId)
      const sql = yield* PgClient.PgClient
      const [row] = yield* sql<{ text: string; lookup: Uint8Array; salt: Uint8Array; verification: Uint8Array }>`
        SELECT credentials::text AS text, lookup_hash AS lookup, salt, verification_hash AS verification
        FROM credentials WHERE id = ${record.id}`
      const secret = Redacted.value(token)
      assert.notInclude(row?.text, secret.slice(4, 20))
      assert.deepStrictEqual(Buffer.from(row?.lookup ?? []), createHash("sha256").update(secret).digest())
      const unpeppered = createHash("sha256")
        .update(row?.salt ?? "")
        .update(secret)
        .digest()
      assert.notDeepEqual(Buffer.from(row?.verification ?? []), unpeppered)
    }),
  )

  it.effect("a token whose row has a verification hash without the pepper is rejected", () =>
    Effect.gen(function* () {
      const { tenant } = yield* TestService
      const { organizationId } = yield* tenant()
      const { record, token } = yield* issueIn(organizationId)
      const sql = yield* PgClient.PgClient
      yield* sql`UPDATE credentials SET verification_hash = sha256(salt || ${Buffer.from(Redacted.value(token))}::bytea)
        WHERE id = ${record.id}`
      const credentials = yield* Credentials
      assert.strictEqual(
        (yield* Effect.flip(credentials.authenticate("organization", token)))._tag,
        "Auth.InvalidCredential",
      )
    }),
  )

  it.effect("a token whose row was changed is rejected until the row is restored", () =>
    Effect.gen(function* () {
      const { tenant } = yield* TestService
      const { organizationId } = yield* tenant()
      const { record, token } = yield* issueIn(organizationId)
      const other = yield* issueIn(organizationId)
      const sql = yield* PgClient.PgClient
      const credentials = yield* Credentials
      const outcome = Effect.match(credentials.authenticate("organization", token), {
        onFailure: ({ _tag }) => _tag,
        onSuccess: ({ id }) => id,
      })
      const copy = (from: string, columns: string) =>
        sql`UPDATE credentials SET (${sql.literal(columns)}) = (SELECT ${sql.literal(columns)} FROM credentials WHERE id = ${from})
          WHERE id = ${record.id}`
      assert.strictEqual(yield* outcome, record.id)
      const [before] = yield* sql<{ salt: Uint8Array; verification: Uint8Array }>`
        SELECT salt, verification_hash AS verification FROM credentials WHERE id = ${record.id}`
      for (const columns of ["salt", "verification_hash", "salt, verification_hash"]) {
        yield* copy(other.record.id, columns)
        assert.strictEqual(yield* outcome, "Auth.InvalidCredential", columns)
        yield* sql`UPDATE credentials SET salt = ${before?.salt}, verification_hash = ${before?.verification}
          WHERE id = ${record.id}`
        assert.strictEqual(yield* outcome, record.id)
      }
    }),
  )

  it.effect("a row that mixes the kinds, or a platform credential with another owner, violates a constraint", () =>
    Effect.gen(function* () {
      const { tenant } = yield* TestService
      const { organizationId } = yield* tenant()
      const { record } = yield* issueIn(organizationId)
      const sql = yield* PgClient.PgClient
      for (const change of [
        "kind = 'platform'",
        "organization_id = NULL",
        "kind = 'platform', organization_id = NULL, owner_id = id",
      ]) {
        const error = yield* Effect.flip(sql`UPDATE credentials SET ${sql.literal(change)} WHERE id = ${record.id}`)
        assert.strictEqual(error.reason._tag, "ConstraintError")
      }
    }),
  )

  it.effect("all invalid credentials get the same response, except for its ids", () =>
    Effect.gen(function* () {
      const { core, operator, tenant } = yield* TestService
      const { organizationId } = yield* tenant()
      const revoked = yield* issueIn(organizationId)
      const repo = yield* AccessRepo
      yield* repo.revokeToken(
        { organizationId, ownerId: platformIdentity.id },
        revoked.record.slug,
        platformIdentity,
        new Date(),
      )
      const live = Redacted.value((yield* issueIn(organizationId)).token)
      const hasher = yield* TokenHasher
      const stranger = Redacted.value((yield* hasher.issue("organization")).token)
      const headers = [
        undefined,
        "",
        "Bearer",
        `Basic ${live}`,
        live,
        "Bearer ksh_",
        "Bearer nonsense",
        `Bearer ${stranger}`,
        `Bearer ${live}x`,
        `Bearer ${live.slice(0, -1)}`,
        `Bearer ${live.toUpperCase()}`,
        `Bearer ${Redacted.value(revoked.token)}`,
        `Bearer ${operator}`,
        `Bearer ksh_${"x".repeat(4000)}`,
        "Bearer eyJhbGciOiJub25lIn0.e30.",
      ]
      const shapes = new Set<string>()
      for (const authorization of headers) {
        const response = yield* core("GET", "/me", authorization === undefined ? {} : { headers: { authorization } })
        assert.strictEqual(response.status, 401, String(authorization))
        const stable = [...response.headers].filter(([name]) => name !== "x-request-id" && name !== "date")
        shapes.add(JSON.stringify([stable, { ...response.body, errorId: "" }]))
      }
      assert.strictEqual(shapes.size, 1)
      assert.strictEqual((yield* core("GET", "/me", { token: live })).status, 200)
    }),
  )

  it.effect("concurrent requests are each authenticated with their own token", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const tenants = yield* Effect.all(Array.from({ length: 10 }, () => tenant()))
      yield* Effect.forEach(
        Array.from({ length: 200 }, (_, index) => tenants[index % 10] as (typeof tenants)[number]),
        ({ organizationId, token }) =>
          Effect.map(core("GET", "/me", { token }), ({ body }) =>
            assert.strictEqual(body.organizationId, organizationId),
          ),
        { concurrency: 50 },
      )
    }),
  )
})
