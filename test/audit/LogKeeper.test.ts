import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import { LogKeeper } from "../../src/domains/audit/log/LogKeeper.ts"
import * as Worker from "../../src/domains/audit/Worker.ts"
import { HealthChecks } from "../../src/kernel/ports/HealthChecks.ts"
import { allowInventedEvents } from "../support/recorded.ts"
import { TestService } from "../support/TestService.ts"
import { waitUntil } from "../webhooks/EngineFixture.ts"
import { openLog } from "./support.ts"

allowInventedEvents()

layer(TestService.separate, { excludeTestServices: true })("the keeper of event logs", (it) => {
  it.effect("seals and signs without a request", () =>
    Effect.gen(function* () {
      const { addMany, organizationId, size, sql } = yield* openLog
      const { step } = yield* LogKeeper
      yield* addMany(2_500)
      yield* Effect.repeat(step, { while: (more) => more })
      assert.isAtLeast(yield* size, 2_500)
      const checkpoints = sql<{ size: number }>`
        SELECT size::int AS size FROM event_checkpoints WHERE organization_id = ${organizationId}`
      assert.deepStrictEqual(yield* checkpoints, [{ size: yield* size }])
      // Another one follows after five minutes only.
      yield* addMany(10)
      yield* Effect.repeat(step, { while: (more) => more })
      assert.strictEqual((yield* checkpoints).length, 1)
    }),
  )

  it.effect("reports a log that was rewritten in the health part `audit`, and works on the others", () =>
    Effect.gen(function* () {
      const [rewritten, intact] = [yield* openLog, yield* openLog]
      yield* rewritten.addMany(10)
      yield* rewritten.note
      const { organizationId, sql } = rewritten
      yield* sql`UPDATE event_positions SET leaf = ${Buffer.alloc(32)} WHERE organization_id = ${organizationId} AND position = 4`
      yield* sql`
        UPDATE event_checkpoints SET signed_at = (signed_at AT TIME ZONE 'UTC' - interval '6 minutes') AT TIME ZONE 'UTC'`
      yield* rewritten.addMany(1)
      yield* intact.addMany(5)
      const parts = yield* HealthChecks
      yield* Layer.build(Worker.layer)
      const state = Effect.flatMap(
        Effect.sync(() => parts.get("audit")),
        (part) => part ?? Effect.die(new Error("There is no such part")),
      )
      yield* waitUntil(
        "the part is down",
        Effect.map(state, ({ status }) => status === "down"),
      )
      yield* waitUntil(
        "the other log is sealed",
        Effect.map(intact.size, (size) => size >= 5),
      )
      const notes = yield* sql`SELECT 1 FROM event_checkpoints WHERE organization_id = ${organizationId}`
      assert.strictEqual(notes.length, 1)
    }).pipe(Effect.scoped),
  )
})

layer(TestService.separate, { excludeTestServices: true })("the keeper of event logs of another process", (it) => {
  it.effect(
    "reports a changed log in the health part `audit` after a request that was refused, without waiting for the next checkpoint",
    () =>
      Effect.gen(function* () {
        const { addMany, get, note, organizationId, sql } = yield* openLog
        const { step } = yield* LogKeeper
        yield* addMany(10)
        yield* note
        yield* note
        yield* Effect.repeat(step, { while: (more) => more })
        yield* sql`UPDATE event_positions SET leaf = ${Buffer.alloc(32)} WHERE organization_id = ${organizationId} AND position = 4`
        yield* step
        const refused = yield* get("/events/checkpoint")
        assert.deepStrictEqual([refused.status, refused.body.code], [409, "EventCheckpoint.Inconsistent"])
        assert.isTrue(Exit.isFailure(yield* Effect.exit(step)))
      }),
  )
})
