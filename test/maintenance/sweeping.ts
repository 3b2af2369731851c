/** Helpers for tests of the sweeper: a clock, tokens and rows. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { randomUUID } from "node:crypto"
import { TokenIssuer } from "../../src/domains/access/tokens/TokenIssuer.ts"
import { AccessRepo } from "../../src/domains/access/Repo.ts"
import { platformIdentity } from "../../src/kernel/contract/Caller.ts"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { TokenRetention } from "../../src/domains/access/tokens/Retention.ts"
import { EventRetention } from "../../src/domains/audit/Retention.ts"
import { Sweeper } from "../../src/domains/maintenance/Service.ts"
import { CurrentRetentionPeriods } from "../../src/kernel/ports/RetentionPeriods.ts"
import type { RetentionPeriods } from "../../src/kernel/ports/RetentionPeriods.ts"
import type { OrganizationId } from "../../src/kernel/values/Identifiers.ts"

const START = new Date("2032-01-01T00:00:00.000Z").getTime()
export const DAY = 24 * 60 * 60 * 1000
export const at = (millis: number) => new Date(START + millis)

/** Runs `use` on a test clock that starts at a fixed time. `then` sets it to that many milliseconds after the start. */
export const withTestClock = <A, E, R>(
  use: (then: (millis: number) => Effect.Effect<void>) => Effect.Effect<A, E, R>,
) =>
  Effect.andThen(
    TestClock.setTime(START),
    use((millis) => TestClock.setTime(START + millis)),
  ).pipe(Effect.provide(TestClock.layer()))

export const issue = Effect.fnUntraced(function* (options: {
  readonly organizationId: OrganizationId | null
  readonly expiresAt?: Date
  readonly parentId?: string
}) {
  const [tokenIssuer, transactions] = [yield* TokenIssuer, yield* Transactions]
  const { record } = yield* transactions.run(
    tokenIssuer.issue({
      kind: options.organizationId === null ? "platform" : "organization",
      organizationId: options.organizationId,
      owner: platformIdentity,
      parentId: options.parentId ?? null,
      issuer: platformIdentity,
      request: { name: `token ${randomUUID()}`, expiresAt: options.expiresAt ?? null },
      scopes: ["read:*"],
      taken: () => new Error("taken"),
    }),
  )
  return record
})

export const revoke = Effect.fnUntraced(function* (organizationId: OrganizationId | null, slug: string, when: Date) {
  const repo = yield* AccessRepo
  yield* repo.revokeToken({ organizationId, ownerId: platformIdentity.id }, slug, platformIdentity, when)
})

/** Whether each of the credentials is still stored. */
export const areStored = Effect.fnUntraced(function* (...tokens: ReadonlyArray<{ readonly id: string }>) {
  const repo = yield* AccessRepo
  const rows = new Set((yield* repo.findByIds(tokens.map(({ id }) => id))).map(({ id }) => id))
  return tokens.map(({ id }) => rows.has(id))
})

/** A sweeper of its own, with these retention periods. */
export const sweeperWith = (periods: RetentionPeriods) =>
  Layer.fresh(Sweeper.layer.pipe(Layer.provide(Layer.merge(TokenRetention.layer, EventRetention.layer)))).pipe(
    Layer.provide(Layer.succeed(CurrentRetentionPeriods, periods)),
  )

export const sweep = Effect.flatMap(Sweeper, (sweeper) => sweeper.sweep)

export const keysExpiring = Effect.fnUntraced(function* (expiresAt: Date, count: number) {
  const sql = yield* PgClient.PgClient
  const caller = randomUUID()
  yield* sql`
    INSERT INTO idempotency_keys (caller_id, key, fingerprint, status, expires_at)
    SELECT ${caller}::uuid, number::text, ''::bytea, 201, ${expiresAt} FROM generate_series(1, ${count}) number`
  return Effect.map(
    sql<{ count: number }>`SELECT count(*)::int AS count FROM idempotency_keys WHERE caller_id = ${caller}`,
    ([row]) => row?.count,
  )
})

export const expiryEvents = (organizationId: OrganizationId) =>
  Effect.flatMap(
    PgClient.PgClient,
    (sql) => sql<{ actor: { name: string }; data: Record<string, unknown> }>`
      SELECT actor, data FROM events WHERE organization_id = ${organizationId} AND type = 'TOKEN_EXPIRED'`,
  )
