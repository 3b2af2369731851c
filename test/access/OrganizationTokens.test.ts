import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Latch, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { OrganizationTokens } from "../../src/domains/access/OrganizationTokens.ts"
import { PlatformCredentials } from "../../src/domains/access/PlatformCredentials.ts"
import { Credentials } from "../../src/domains/access/tokens/Credentials.ts"
import { bySystem, Operator } from "../../src/kernel/contract/Caller.ts"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { TestService } from "../support/TestService.ts"

/** A platform credential, and effects that mint with it and revoke it. */
const parent = Effect.fnUntraced(function* (expiresAt: Date | null = null) {
  const { tenant } = yield* TestService
  const { organizationId } = yield* tenant()
  const [credentials, tokens] = [yield* PlatformCredentials, yield* OrganizationTokens]
  const { record } = yield* credentials.createLocally({ name: "parent", scopes: ["write:*"], expiresAt })
  const operator = { credentialId: record.id, ...bySystem, scopes: record.scopes }
  const asHolder = Effect.provideService(Operator, operator)
  return {
    mint: asHolder(tokens.mint(organizationId, { name: "child" })),
    revoke: asHolder(credentials.revoke(record.slug)),
  }
})

const works = (token: string) =>
  Effect.flatMap(Credentials, (credentials) => credentials.authenticate("organization", Redacted.make(token))).pipe(
    Effect.as(true),
    Effect.catch(() => Effect.succeed(false)),
  )

const untilLockWait = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  let isWaiting = false
  while (!isWaiting) {
    const [row] = yield* sql<{ waiting: boolean }>`
      SELECT count(*) > 0 AS waiting FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
    isWaiting = row?.waiting === true
    if (!isWaiting) yield* Effect.sleep("5 millis")
  }
})

/** Runs work in a transaction that stays open until `commit`. */
const heldOpen = Effect.fnUntraced(function* <A, E, R>(work: Effect.Effect<A, E, R>) {
  const transactions = yield* Transactions
  const [done, mayCommit] = [yield* Latch.make(), yield* Latch.make()]
  const fiber = yield* transactions
    .run(Effect.tap(work, () => Effect.andThen(done.open, mayCommit.await)))
    .pipe(Effect.forkChild)
  yield* done.await
  return { commit: Effect.andThen(mayCommit.open, Fiber.join(fiber)) }
})

layer(TestService.separate, { excludeTestServices: true })("minting and revoking the parent", (it) => {
  it.effect("a revocation waits for a mint in flight and revokes its token too", () =>
    Effect.gen(function* () {
      const { mint, revoke } = yield* parent()
      const minting = yield* heldOpen(mint)
      const revoking = yield* Effect.forkChild(revoke)
      yield* untilLockWait
      assert.isUndefined(revoking.pollUnsafe())
      const child = yield* minting.commit
      yield* Fiber.join(revoking)
      assert.isFalse(yield* works(child.token))
    }),
  )

  it.effect("a mint waits for a revocation in flight and is then rejected", () =>
    Effect.gen(function* () {
      const { mint, revoke } = yield* parent()
      const revoking = yield* heldOpen(revoke)
      const minting = yield* Effect.forkChild(Effect.flip(mint))
      yield* untilLockWait
      assert.isUndefined(minting.pollUnsafe())
      yield* revoking.commit
      assert.strictEqual((yield* Fiber.join(minting))._tag, "Auth.InvalidCredential")
    }),
  )

  it.effect("no token survives when mints and the revocation of their parent run concurrently", () =>
    Effect.gen(function* () {
      for (let round = 0; round < 5; round++) {
        const { mint, revoke } = yield* parent()
        const attempts = Array.from({ length: 12 }, () => Effect.option(mint))
        const [children] = yield* Effect.all([Effect.all(attempts, { concurrency: 12 }), revoke], { concurrency: 2 })
        for (const child of children) {
          if (child._tag === "Some") assert.isFalse(yield* works(child.value.token))
        }
        assert.strictEqual((yield* Effect.flip(mint))._tag, "Auth.InvalidCredential")
      }
    }),
  )

  it.effect("a mint is rejected if its parent expired during the request", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(new Date("2033-01-01T00:00:00Z").getTime())
      const { mint } = yield* parent(new Date("2033-01-01T00:01:00Z"))
      yield* TestClock.setTime(new Date("2033-01-01T00:00:59.999Z").getTime())
      assert.match((yield* mint).token, /^ksh_/)
      yield* TestClock.setTime(new Date("2033-01-01T00:01:00Z").getTime())
      assert.strictEqual((yield* Effect.flip(mint))._tag, "Auth.InvalidCredential")
    }).pipe(Effect.provide(TestClock.layer())),
  )
})
