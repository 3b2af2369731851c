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

/** The id of the event at a position, in SQL. */
const eventAt = ({ organizationId, sql }: Log, position: number) => sql`(
  SELECT event_id FROM event_positions WHERE organization_id = ${organizationId} AND position = ${position})`

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
      const at = (position: number) => sql`organization_id = ${organizationId} AND id = ${eventAt(log, position)}`
      const id = randomUUID()
      const another = { id, name: "Another", slug: "another" }
      const edits = [
        sql`UPDATE events SET data = '{"name":"other"}' WHERE ${at(5)}`,
        sql`UPDATE events SET type = 'COMPONENT_DELETED' WHERE ${at(300)}`,
        sql`UPDATE events SET actor = actor || '{"name":"Nobody"}' WHERE ${at(301)}`,
        sql`UPDATE events SET occurred_at = (occurred_at AT TIME ZONE 'UTC' + interval '1 second') AT TIME ZONE 'UTC'
          WHERE ${at(302)}`,
        sql`UPDATE events SET previous = '{}' WHERE ${at(303)}`,
        sql`UPDATE events SET id = ${id} WHERE ${at(304)}`,
        sql`UPDATE event_positions SET event_id = ${id} WHERE organization_id = ${organizationId} AND position = 304`,
        sql`UPDATE events SET resource = 'hidden' WHERE ${at(305)}`,
        sql`UPDATE events SET actor = actor || ${sql.json({ credential: another })} WHERE ${at(309)}`,
        ...["type", "resource", "actor_id"].map(
          (column, number) => sql`
            UPDATE event_positions SET ${sql(column)} = 'hidden'
            WHERE organization_id = ${organizationId} AND position = ${306 + number}`,
        ),
      ]
      yield* Effect.all(edits)
      assert.deepStrictEqual(
        yield* findingsOf(log),
        [5, 300, 301, 302, 303, 304, 305, 306, 307, 308, 309].map((position) => ["EVENT_CHANGED", position]),
      )
    }),
  )

  it.effect("names each event whose credential was edited or removed", () =>
    Effect.gen(function* () {
      const log = yield* openLog
      const { organizationId, sql } = log
      for (const name of ["One", "Two", "Three"]) yield* log.post("/components", { name, version: "1" })
      yield* log.note
      const positions = yield* sql<{ position: number; id: string }>`
        SELECT position::int AS position, event_id AS id FROM event_positions
        WHERE organization_id = ${organizationId} AND type = 'COMPONENT_CREATED' ORDER BY position`
      const [one, two] = positions
      yield* sql`UPDATE events SET actor = actor - 'credential' WHERE id = ${one?.id ?? ""}`
      yield* sql`UPDATE events SET actor = jsonb_set(actor, '{credential,slug}', '"other"') WHERE id = ${two?.id ?? ""}`
      assert.deepStrictEqual(yield* findingsOf(log), [
        ["EVENT_CHANGED", one?.position],
        ["EVENT_CHANGED", two?.position],
      ])
    }),
  )

  it.effect("names rows that were removed, swapped or put in the place of others", () =>
    Effect.gen(function* () {
      const { log } = yield* sealedLog
      const { organizationId, sql } = log
      const at = (position: number) => sql`organization_id = ${organizationId} AND position = ${position}`
      yield* sql`DELETE FROM events WHERE organization_id = ${organizationId} AND id = ${eventAt(log, 10)}`
      const leafAt = (position: number) => sql`(SELECT leaf FROM event_positions WHERE ${at(position)})`
      const [leaves] = yield* sql`SELECT ${leafAt(20)} AS "20", ${leafAt(21)} AS "21"`
      yield* sql`UPDATE event_positions SET position = 1000000 WHERE ${at(20)}`
      yield* sql`UPDATE event_positions SET position = 20, leaf = ${leaves?.["20"]} WHERE ${at(21)}`
      yield* sql`UPDATE event_positions SET position = 21, leaf = ${leaves?.["21"]} WHERE ${at(1_000_000)}`
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
      yield* sql`UPDATE event_positions SET leaf = NULL WHERE organization_id = ${organizationId} AND position = 100`
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
      yield* sql`DELETE FROM event_positions WHERE organization_id = ${organizationId} AND position > 500`
      yield* sql`DELETE FROM events WHERE organization_id = ${organizationId} AND id NOT IN (
        SELECT event_id FROM event_positions WHERE organization_id = ${organizationId})`
      yield* sql`UPDATE event_streams SET sealed_to = 500 WHERE organization_id = ${organizationId}`
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
