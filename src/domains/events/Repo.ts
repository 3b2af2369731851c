/** SQL of the organization streams. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option } from "effect"
import type { Fragment } from "effect/sql/Statement"
import type { EventRecord } from "../../kernel/contract/Event.ts"
import { Commits } from "../../kernel/database/Connections.ts"
import { isRemoved } from "../../kernel/database/RemovedOrganizations.ts"
import {
  eventRecords,
  executed,
  hasCitus,
  planByIndexUnderLock,
  record,
  records,
  returnedRow,
} from "../../kernel/database/Statements.ts"
import type { EventFilter, PositionedEvent } from "./Model.ts"
import { OutboxCondition, outboxInsertion } from "./OutboxSql.ts"
import { boundsOf, resourceOf } from "./Rules.ts"

/** Beyond every position: the highest `bigint`. */
const END = "9223372036854775807"

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const { askFor } = yield* Commits
  const isSharded = yield* hasCitus(sql)
  const columns = sql.literal(`id, type, occurred_at AS "timestamp", organization_id AS "organizationId", actor,
    data::text AS data, previous::text AS previous, position::text AS position`)

  const enqueue = outboxInsertion(sql, yield* OutboxCondition)

  /** The statement that stores the event, once for each row of `from`. */
  const insertion = (event: EventRecord, from: Fragment = sql.literal("")) => sql`
    INSERT INTO events (organization_id, id, type, occurred_at, actor, resource, data, previous)
    SELECT ${event.organizationId}::uuid, ${event.id}::uuid, ${event.type}, ${event.timestamp}::timestamptz,
      ${sql.json(event.actor)}::jsonb, ${resourceOf(event.data)}, ${JSON.stringify(event.data)}::text::json,
      ${event.previous === undefined ? null : JSON.stringify(event.previous)}::text::json ${from}`

  /**
   * The conditions of a time range: the exact one, and one on positions, without which a page would read the stream
   * from its start, or to its end. The primary key finds the events that bound the positions.
   */
  const timeRange = (organizationId: string, filter: EventFilter, events: string): ReadonlyArray<Fragment> => {
    const bounds = boundsOf(filter)
    const positionOf = (condition: Fragment, order: string) => sql`(
      SELECT bound.position FROM events bound
      WHERE bound.organization_id = ${organizationId} AND bound.position IS NOT NULL AND bound.id ${condition}
      ORDER BY bound.id ${sql.literal(order)} LIMIT 1)`
    const row = sql.literal(events)
    return [
      ...(filter.since === undefined || bounds.since === undefined
        ? []
        : [
            sql`${row}.occurred_at >= ${filter.since}`,
            sql`${row}.position > coalesce(${positionOf(sql`< ${bounds.since}::uuid`, "DESC")}, 0)`,
          ]),
      ...(filter.until === undefined || bounds.until === undefined
        ? []
        : [
            sql`${row}.occurred_at < ${filter.until}`,
            sql`${row}.position < coalesce(${positionOf(sql`>= ${bounds.until}::uuid`, "ASC")}, ${sql.literal(END)})`,
          ]),
    ]
  }

  /** The next unplaced events, by id, with their locations: under the lock of the ordering, no other transaction changes their rows. */
  const unplaced = (organizationId: string, limit: Fragment) => sql`
    unplaced AS MATERIALIZED (
      SELECT location, row_number() OVER (ORDER BY id) AS number, count(*) OVER () AS total FROM (
        SELECT ctid AS location, id FROM events
        WHERE organization_id = ${organizationId} AND position IS NULL ORDER BY id ${limit}
      ) AS event
    ), stream AS (
      INSERT INTO event_streams (organization_id, head)
      SELECT ${organizationId}::uuid, total FROM unplaced WHERE number = 1
      ON CONFLICT (organization_id) DO UPDATE SET head = event_streams.head + excluded.head
      RETURNING head
    )`

  /** Assigns positions to the events of {@link unplaced}. */
  const placement = (organizationId: string) => sql`
    UPDATE events SET position = stream.head - unplaced.total + unplaced.number FROM unplaced, stream
    WHERE events.organization_id = ${organizationId} AND events.ctid = unplaced.location`

  /**
   * Assigns positions on Citus, where no statement changes two distributed tables. The first events by id get them, as many as the
   * first statement found: an event that commits after it waits for the next call.
   */
  const placeByShard = Effect.fnUntraced(function* (organizationId: string, limit: Fragment) {
    const [found] = yield* records<{ readonly count: number; readonly head: string }>()(sql`
      SELECT
        (SELECT count(*)::int FROM (
          SELECT 1 FROM events WHERE organization_id = ${organizationId} AND position IS NULL ${limit}) AS event) AS count,
        coalesce((SELECT head FROM event_streams WHERE organization_id = ${organizationId}), 0)::text AS head`)
    if (found === undefined || found.count === 0) return
    yield* executed(sql`
      UPDATE events SET position = ${found.head}::bigint + unplaced.number
      FROM (
        SELECT location, row_number() OVER (ORDER BY id) AS number FROM (
          SELECT ctid AS location, id FROM events
          WHERE organization_id = ${organizationId} AND position IS NULL ORDER BY id LIMIT ${found.count}
        ) AS event
      ) AS unplaced
      WHERE events.organization_id = ${organizationId} AND events.ctid = unplaced.location`)
    yield* executed(sql`
      INSERT INTO event_streams (organization_id, head) VALUES (${organizationId}, ${found.count})
      ON CONFLICT (organization_id) DO UPDATE SET head = event_streams.head + excluded.head`)
  })

  const place = (organizationId: string, limit: Fragment) =>
    isSharded
      ? placeByShard(organizationId, limit)
      : executed(sql`WITH ${unplaced(organizationId, limit)} ${placement(organizationId)}`)

  // Steps from each type to the next one in the index, instead of reading all events of the actor.
  const typesOfActor = (organizationId: string, actor: string): Fragment => {
    const next = (after: Fragment) => sql`(
      SELECT typed.type FROM events typed
      WHERE typed.organization_id = ${organizationId} AND typed.actor->>'id' = ${actor} AND typed.position IS NOT NULL
        ${after} ORDER BY typed.type LIMIT 1)`
    return sql`(
      WITH RECURSIVE types (type) AS (
        SELECT ${next(sql``)} UNION ALL
        SELECT ${next(sql`AND typed.type > types.type`)} FROM types WHERE types.type IS NOT NULL
      ) SELECT type FROM types WHERE type IS NOT NULL) AS wanted`
  }

  /**
   * Reads events on one side of a position. With names or an actor, reads one index range per name and merges the ranges. So
   * neither a rare nor a frequent name causes a scan of the whole stream.
   */
  const read = (
    organizationId: string,
    filter: EventFilter,
    count: number,
    { condition, order }: { readonly condition: Fragment; readonly order: Fragment },
  ) => {
    const conditions = (events: string): Fragment =>
      sql.and([
        sql`${sql.literal(events)}.organization_id = ${organizationId}`,
        sql`${sql.literal(events)}.position ${condition}`,
        ...timeRange(organizationId, filter, events),
        ...(filter.actor === undefined ? [] : [sql`${sql.literal(events)}.actor->>'id' = ${filter.actor}`]),
      ])
    if (filter.resource !== undefined || (filter.types === undefined && filter.actor === undefined)) {
      const about = filter.resource === undefined ? sql`` : sql`AND resource = ${filter.resource}`
      const named = filter.types === undefined ? sql`` : sql`AND type = ANY(${filter.types}::text[])`
      return eventRecords<PositionedEvent>()(sql`
        SELECT ${columns} FROM events WHERE ${conditions("events")} ${about} ${named}
        ORDER BY events.position ${order} LIMIT ${count}`)
    }
    const wanted =
      filter.types === undefined
        ? typesOfActor(organizationId, filter.actor ?? "")
        : sql`unnest(${filter.types}::text[]) AS wanted (type)`
    return eventRecords<PositionedEvent>()(sql`
      SELECT ${columns} FROM events
      WHERE events.organization_id = ${organizationId} AND events.position = ANY(ARRAY(
        SELECT found.position FROM ${wanted}
        CROSS JOIN LATERAL (
          SELECT ranged.position FROM events ranged
          WHERE ${conditions("ranged")} AND ranged.type = wanted.type
          ORDER BY ranged.position ${order} LIMIT ${count}
        ) AS found
        ORDER BY found.position ${order} LIMIT ${count}))
      ORDER BY events.position ${order}`)
  }

  return {
    insert: (event: EventRecord) => Effect.asVoid(Effect.orDie(insertion(event))),

    /**
     * Stores the event and its outbox row in one statement. Returns whether an outbox row was stored.
     */
    insertForDelivery: (event: EventRecord) =>
      returnedRow(sql`
        WITH event AS (${insertion(event)} RETURNING organization_id, id, occurred_at)
        ${enqueue(event.organizationId)} RETURNING 1`),

    /**
     * Runs a change (`INSERT ... RETURNING`) and stores its event in one statement. If the change affects no row,
     * stores no event and returns none; otherwise returns whether an outbox row was stored.
     */
    insertWithChange: (change: Fragment, event: EventRecord) =>
      Effect.map(
        record<{ readonly handedOver: boolean }>()(
          askFor(event.organizationId)(
            (client) => client`
              WITH change AS (${change}), event AS (
                ${insertion(event, sql.literal("FROM change"))} RETURNING organization_id, id, occurred_at
              ), delivery AS (${enqueue(event.organizationId)} RETURNING 1)
              SELECT EXISTS (SELECT 1 FROM delivery) AS "handedOver" FROM change`,
          ),
        ),
        Option.map(({ handedOver }) => handedOver),
      ),

    hasUnordered: (organizationId: string) =>
      returnedRow(sql`SELECT 1 FROM events WHERE organization_id = ${organizationId} AND position IS NULL LIMIT 1`),

    /** Returns the organizations that have events without a position. */
    withUnordered: (organizationIds: ReadonlyArray<string>) =>
      Effect.map(
        records<{ readonly id: string }>()(sql`
          ${
            isSharded
              ? sql`
                SELECT DISTINCT organization_id AS id FROM events
                WHERE organization_id = ANY(${organizationIds}::uuid[]) AND position IS NULL`
              : sql`
                SELECT requested.id FROM unnest(${organizationIds}::uuid[]) AS requested (id)
                WHERE EXISTS (SELECT 1 FROM events WHERE organization_id = requested.id AND position IS NULL)`
          }`),
        (rows) => rows.map(({ id }) => id),
      ),

    /** The last position of each stream. Streams without events are omitted. */
    heads: (organizationIds: ReadonlyArray<string>) =>
      records<{ readonly organizationId: string; readonly head: string; readonly isRemoved: boolean }>()(sql`
        SELECT organization_id AS "organizationId", head::text AS head,
          ${sql.literal(isRemoved("event_streams.organization_id"))} AS "isRemoved"
        FROM event_streams
        WHERE organization_id = ANY(${organizationIds}::uuid[])`),

    /** Serializes the ordering of one stream: locks it until the transaction ends. */
    lockOrdering: (organizationId: string) => planByIndexUnderLock(sql, `events:${organizationId}`),

    /** Assigns positions to committed events, after all existing positions. Call it under the lock of {@link lockOrdering}. */
    assignPositions: (organizationId: string) => place(organizationId, sql.literal("")),

    /** {@link assignPositions} to the first `count` events. */
    assignSome: (organizationId: string, count: number) => place(organizationId, sql`LIMIT ${count}`),

    /**
     * The part of a statement that assigns positions as {@link assignSome} does, but not on Citus. Its result `placed`
     * has the positions, the numbers of the events from 1, and an expression on their rows as `text`.
     */
    placing: (organizationId: string, count: number, text: string) => sql`
      ${unplaced(organizationId, sql`LIMIT ${count}`)}, placed AS (
        ${placement(organizationId)} RETURNING events.position, unplaced.number, ${sql.literal(text)} AS text
      )`,

    /** Reads events after a position, oldest first. */
    readAfter: (organizationId: string, filter: EventFilter, position: number, count: number) =>
      read(organizationId, filter, count, { condition: sql`> ${position}`, order: sql.literal("ASC") }),

    /** Reads events before a position, newest first. */
    readBefore: (organizationId: string, filter: EventFilter, position: number, count: number) =>
      read(organizationId, filter, count, { condition: sql`< ${position}`, order: sql.literal("DESC") }),
  }
})

/** Stores and reads events. */
export class EventsRepo extends Context.Service<EventsRepo, Effect.Success<typeof make>>()("keyshelf/events/Repo") {
  static readonly layer = Layer.effect(EventsRepo, make)
}
