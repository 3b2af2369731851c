import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { LogReader } from "../../src/domains/audit/log/LogReader.ts"
import { allowInventedEvents } from "../support/recorded.ts"
import { TestService } from "../support/TestService.ts"
import { openLog } from "./support.ts"

allowInventedEvents()

type Log = Effect.Success<typeof openLog>

/** The findings about a log: what they are, and where. */
const findingsOf = Effect.fnUntraced(function* (log: Log, savedNotes: ReadonlyArray<string> = []) {
  const { verification } = yield* (yield* LogReader).verify({
    organizationId: log.organizationId,
    keys: [],
    savedNotes,
  })
  return [...verification.findings()].map((finding): ReadonlyArray<unknown> => [
    finding.kind,
    "note" in finding ? finding.size : finding.position,
  ])
})

/** A log of more than 600 sealed events, and its newest note. */
const sealedLog = Effect.gen(function* () {
  const log = yield* openLog
  yield* log.addMany(600)
  // The first note creates the key, whose event belongs to the second one.
  yield* log.note
  return { log, note: yield* log.note }
})

layer(TestService.layer, { excludeTestServices: true })("verifying a stored log", (it) => {
  it.effect("finds nothing in a log that nobody changed, while it grows, and counts what is not sealed", () =>
    Effect.gen(function* () {
      const { log, note } = yield* sealedLog
      yield* log.addMany(7)
      assert.deepStrictEqual(yield* findingsOf(log, [note]), [])
      const { verification } = yield* (yield* LogReader).verify({
        organizationId: log.organizationId,
        keys: [],
        savedNotes: [],
      })
      assert.strictEqual(verification.unsealedCount(), 7)
      assert.strictEqual(verification.size(), yield* log.size)
    }),
  )

  it.effect("names each row that was edited, column by column", () =>
    Effect.gen(function* () {
      const { log } = yield* sealedLog
      const { organizationId, sql } = log
      const edits = [
        sql`UPDATE events SET data = '{"name":"other"}' WHERE organization_id = ${organizationId} AND position = 5`,
        sql`UPDATE events SET type = 'COMPONENT_DELETED' WHERE organization_id = ${organizationId} AND position = 300`,
        sql`UPDATE events SET actor = actor || '{"name":"Nobody"}' WHERE organization_id = ${organizationId} AND position = 301`,
        sql`UPDATE events SET occurred_at = (occurred_at AT TIME ZONE 'UTC' + interval '1 second') AT TIME ZONE 'UTC'
          WHERE organization_id = ${organizationId} AND position = 302`,
        sql`UPDATE events SET previous = '{}' WHERE organization_id = ${organizationId} AND position = 303`,
        sql`UPDATE events SET id = ${randomUUID()} WHERE organization_id = ${organizationId} AND position = 304`,
        sql`UPDATE events SET resource = 'hidden' WHERE organization_id = ${organizationId} AND position = 305`,
      ]
      yield* Effect.all(edits)
      assert.deepStrictEqual(
        yield* findingsOf(log),
        [5, 300, 301, 302, 303, 304, 305].map((position) => ["EVENT_CHANGED", position]),
      )
    }),
  )

  it.effect("names rows that were removed, swapped or put in the place of others", () =>
    Effect.gen(function* () {
      const { log } = yield* sealedLog
      const { organizationId, sql } = log
      const at = (position: number) => sql`organization_id = ${organizationId} AND position = ${position}`
      yield* sql`DELETE FROM events WHERE ${at(10)}`
      yield* sql`UPDATE events SET position = 1000000 WHERE ${at(20)}`
      yield* sql`UPDATE events SET position = 20 WHERE ${at(21)}`
      yield* sql`UPDATE events SET position = 21 WHERE ${at(1_000_000)}`
      assert.deepStrictEqual(yield* findingsOf(log), [
        ["EVENT_MISSING", 10],
        ["EVENT_CHANGED", 20],
        ["EVENT_CHANGED", 21],
      ])
    }),
  )

  it.effect("finds mended hashes, of leaves and of nodes, by the stored checkpoints", () =>
    Effect.gen(function* () {
      const { log, note } = yield* sealedLog
      const { organizationId, sql } = log
      const size = yield* log.size
      yield* sql`DELETE FROM event_hashes WHERE organization_id = ${organizationId} AND level = 8 AND index = 1`
      assert.deepStrictEqual(yield* findingsOf(log), [["HISTORY_REWRITTEN", 512]])
      yield* sql`UPDATE event_hashes SET hash = ${Buffer.alloc(32, 1)} WHERE organization_id = ${organizationId} AND level = 8`
      assert.deepStrictEqual(yield* findingsOf(log), [
        ["HISTORY_REWRITTEN", 256],
        ["HISTORY_REWRITTEN", 512],
      ])
      yield* sql`DELETE FROM event_hashes WHERE organization_id = ${organizationId} AND level = 0 AND index = 99`
      assert.deepStrictEqual((yield* findingsOf(log))[0], ["EVENT_CHANGED", 100])
      yield* sql`DELETE FROM event_checkpoints WHERE organization_id = ${organizationId}`
      assert.deepStrictEqual((yield* findingsOf(log, [note])).at(-1), ["HISTORY_REWRITTEN", size])
    }),
  )

  it.effect("finds a log that was cut off by a note that was saved elsewhere only", () =>
    Effect.gen(function* () {
      const { log, note } = yield* sealedLog
      const { organizationId, sql } = log
      const size = yield* log.size
      yield* sql`DELETE FROM events WHERE organization_id = ${organizationId} AND (position > 500 OR position IS NULL)`
      yield* sql`DELETE FROM event_hashes WHERE organization_id = ${organizationId} AND index >= 500 AND level = 0`
      yield* sql`DELETE FROM event_hashes WHERE organization_id = ${organizationId} AND index >= 1 AND level = 8`
      yield* sql`DELETE FROM event_checkpoints WHERE organization_id = ${organizationId}`
      assert.deepStrictEqual(yield* findingsOf(log), [])
      assert.deepStrictEqual(yield* findingsOf(log, [note]), [["LOG_SHORTER", size]])
    }),
  )

  it.effect("does not take the note of another log", () =>
    Effect.gen(function* () {
      const { log } = yield* sealedLog
      const other = yield* sealedLog
      assert.deepStrictEqual(yield* findingsOf(log, [other.note]), [["CHECKPOINT_INVALID", undefined]])
    }),
  )
})
