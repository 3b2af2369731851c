/** SQL of the organization's stream. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option } from "effect"
import type { Fragment } from "effect/sql/Statement"
import type { EventRecord } from "../../kernel/contract/Event.ts"
import { Commits } from "../../kernel/database/Connections.ts"
import { eventRecords, lockName, record, records, touched } from "../../kernel/database/Statements.ts"
import type { EventFilter, PlacedEvent } from "./Model.ts"
import { lowestIdAt, resourceOf } from "./Rules.ts"

/**
 * Whose events are handed over to webhook deliveries: of organizations with an endpoint (default), which spares all others a
 * row for each change and the work of finding out that nobody listens; or `all`, where another system knows who listens.
 */
export const HandedOver = Context.Reference<"subscribed" | "all">("keyshelf.reference/events/HandedOver", {
  defaultValue: () => "subscribed",
})

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const { ask } = yield* Commits
  const columns = sql.literal(`id, type, occurred_at AS "timestamp", organization_id AS "organizationId", actor,
    data::text AS data, position::text AS position`)

  const whom = yield* HandedOver
  // The row that hands an event to its webhook deliveries, of the event in the statement's `event`.
  const handOver = sql.literal(`INSERT INTO webhook_outbox (organization_id, event_id, due_at)
    SELECT organization_id, id, occurred_at FROM event${
      whom === "all"
        ? ""
        : ` WHERE EXISTS (
      SELECT 1 FROM webhook_endpoints endpoint
      WHERE endpoint.organization_id = event.organization_id AND endpoint.disabled_at IS NULL)`
    }`)

  /** Stores the event, or as many as there are rows in `from`. */
  const insertion = (event: EventRecord, from: Fragment = sql.literal("")) => sql`
    INSERT INTO events (organization_id, id, type, occurred_at, actor, resource, data)
    SELECT ${event.organizationId}::uuid, ${event.id}::uuid, ${event.type}, ${event.timestamp}::timestamptz,
      ${sql.json(event.actor)}::jsonb, ${resourceOf(event.data)}, ${JSON.stringify(event.data)}::text::json ${from}`

  return {
    insert: (event: EventRecord) => Effect.asVoid(Effect.orDie(insertion(event))),

    /**
     * Stores the event and, in the same statement, what hands it to the webhook deliveries. Answers whether it is handed over.
     */
    insertForDelivery: (event: EventRecord) =>
      touched(sql`
        WITH event AS (${insertion(event)} RETURNING organization_id, id, occurred_at) ${handOver} RETURNING 1`),

    /**
     * Runs a change (`INSERT ... RETURNING`) together with its event, in one statement. Answers nothing if the change touched no
     * row, else whether the event is handed over; it is stored only then.
     */
    insertWith: (change: Fragment, event: EventRecord) =>
      Effect.map(
        record<{ readonly handedOver: boolean }>()(
          ask(
            (own) => own`
              WITH change AS (${change}), event AS (
                ${insertion(event, sql.literal("FROM change"))} RETURNING organization_id, id, occurred_at
              ), delivery AS (${handOver} RETURNING 1)
              SELECT EXISTS (SELECT 1 FROM delivery) AS "handedOver" FROM change`,
          ),
        ),
        Option.map(({ handedOver }) => handedOver),
      ),

    hasUnplaced: (organizationId: string) =>
      touched(sql`SELECT 1 FROM events WHERE organization_id = ${organizationId} AND position IS NULL LIMIT 1`),

    /** Those of the organizations that have events without a position. */
    withUnplaced: (organizationIds: ReadonlyArray<string>) =>
      Effect.map(
        records<{ readonly id: string }>()(sql`
          SELECT asked.id FROM unnest(${organizationIds}::uuid[]) AS asked (id)
          WHERE EXISTS (SELECT 1 FROM events WHERE organization_id = asked.id AND position IS NULL)`),
        (rows) => rows.map(({ id }) => id),
      ),

    /** The last position of each of these streams that has one. */
    heads: (organizationIds: ReadonlyArray<string>) =>
      records<{ readonly organizationId: string; readonly head: string }>()(sql`
        SELECT organization_id AS "organizationId", head::text AS head FROM event_streams
        WHERE organization_id = ANY(${organizationIds}::uuid[])`),

    /** Waits for whoever places events of this organization now. Held until the transaction ends. */
    lockPlacing: (organizationId: string) => lockName(sql, `events:${organizationId}`),

    /** Gives committed events their positions behind all that had one. */
    placeCommitted: (organizationId: string) =>
      Effect.asVoid(
        Effect.orDie(sql`
          WITH unplaced AS MATERIALIZED (
            SELECT id, row_number() OVER (ORDER BY id) AS number, count(*) OVER () AS total FROM events
            WHERE organization_id = ${organizationId} AND position IS NULL
          ), stream AS (
            INSERT INTO event_streams (organization_id, head)
            SELECT ${organizationId}::uuid, total FROM unplaced WHERE number = 1
            ON CONFLICT (organization_id) DO UPDATE SET head = event_streams.head + excluded.head
            RETURNING head
          )
          UPDATE events SET position = stream.head - unplaced.total + unplaced.number FROM unplaced, stream
          WHERE events.organization_id = ${organizationId} AND events.id = unplaced.id`),
      ),

    /**
     * Events behind a position. With several names each is read by its own range of the index, and the ranges are merged:
     * neither a rare name nor a frequent one makes the whole stream be read.
     */
    readAfter: (organizationId: string, filter: EventFilter, position: number, count: number) => {
      const about = filter.resource === undefined ? sql`` : sql`AND resource = ${filter.resource}`
      if (filter.types === undefined || filter.resource !== undefined) {
        const named = filter.types === undefined ? sql`` : sql`AND type = ANY(${filter.types}::text[])`
        return eventRecords<PlacedEvent>()(sql`
          SELECT ${columns} FROM events
          WHERE organization_id = ${organizationId} AND events.position > ${position} ${about} ${named}
          ORDER BY events.position LIMIT ${count}`)
      }
      return eventRecords<PlacedEvent>()(sql`
        SELECT ${columns} FROM events
        WHERE organization_id = ${organizationId} AND events.position = ANY(ARRAY(
          SELECT found.position FROM unnest(${filter.types}::text[]) AS wanted (type)
          CROSS JOIN LATERAL (
            SELECT ranged.position FROM events ranged
            WHERE ranged.organization_id = ${organizationId} AND ranged.type = wanted.type AND ranged.position > ${position}
            ORDER BY ranged.position LIMIT ${count}
          ) AS found
          ORDER BY found.position LIMIT ${count}))
        ORDER BY events.position`)
    },

    /**
     * Deletes events that happened before an instant, at most `limit`, and answers how many. Those that webhook deliveries
     * have not been made of stay. Ids are in the order of time, so the primary key finds the old ones.
     */
    deleteBefore: (at: Date, limit: number) =>
      Effect.map(
        records<{ readonly id: string }>()(sql`
          WITH old AS MATERIALIZED (
            SELECT found.organization_id, found.id FROM organizations
            CROSS JOIN LATERAL (
              SELECT events.organization_id, events.id FROM events
              WHERE events.organization_id = organizations.id AND events.id < ${lowestIdAt(at)} AND occurred_at < ${at}
                AND NOT EXISTS (
                  SELECT 1 FROM webhook_outbox waiting
                  WHERE waiting.organization_id = events.organization_id AND waiting.event_id = events.id)
              ORDER BY events.id LIMIT ${limit}
            ) AS found
            LIMIT ${limit}
          )
          DELETE FROM events USING old WHERE events.organization_id = old.organization_id AND events.id = old.id
          RETURNING events.id`),
        (rows) => rows.length,
      ),
  }
})

/** Rows of events. */
export class EventsRepo extends Context.Service<EventsRepo, Effect.Success<typeof make>>()("keyshelf/events/Repo") {
  static readonly layer = Layer.effect(EventsRepo, make)
}
