/** SQL of the organization's stream. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import type { EventRecord } from "../kernel/Event.ts"
import { lockName, records, touched } from "../kernel/Sql.ts"

/** An event with its place in the stream. */
export type PlacedEvent = EventRecord & { readonly position: string }

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  return {
    insert: (event: EventRecord) =>
      Effect.asVoid(
        Effect.orDie(sql`
          INSERT INTO events (organization_id, id, type, occurred_at, actor, data)
          VALUES (${event.organizationId}, ${event.id}, ${event.type}, ${event.timestamp}, ${sql.json(event.actor)},
            ${JSON.stringify(event.data)}::text::json)`),
      ),

    hasUnplaced: (organizationId: string) =>
      touched(sql`SELECT 1 FROM events WHERE organization_id = ${organizationId} AND position IS NULL LIMIT 1`),

    /** Waits for whoever places events of this organization now. Held until the transaction ends. */
    lockPlacing: (organizationId: string) => lockName(sql, `events:${organizationId}`),

    /** Gives committed events their positions behind all that have one. */
    placeCommitted: (organizationId: string) =>
      Effect.asVoid(
        Effect.orDie(sql`
          WITH last AS (
            SELECT coalesce(max(position), 0) AS position FROM events
            WHERE organization_id = ${organizationId} AND position IS NOT NULL
          ), placed AS (
            SELECT id, (SELECT position FROM last) + row_number() OVER (ORDER BY id) AS position FROM events
            WHERE organization_id = ${organizationId} AND position IS NULL
          )
          UPDATE events SET position = placed.position FROM placed
          WHERE events.organization_id = ${organizationId} AND events.id = placed.id`),
      ),

    readAfter: (organizationId: string, position: number, count: number) =>
      records<PlacedEvent>()(sql`
        SELECT id, type, occurred_at AS "timestamp", organization_id AS "organizationId", actor, data,
          position::text AS position
        FROM events WHERE organization_id = ${organizationId} AND events.position > ${position}
        ORDER BY events.position LIMIT ${count}`),
  }
})

/** Rows of events. */
export class EventsRepo extends Context.Service<EventsRepo, Effect.Success<typeof make>>()("keyshelf/events/Repo") {
  static readonly layer = Layer.effect(EventsRepo, make)
}
