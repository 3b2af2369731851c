/** The stored events of a stream in the order of their positions, for the tree of their hashes and for retention. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { isRemoved } from "../../../kernel/database/RemovedOrganizations.ts"
import {
  decoded,
  decodedColumn,
  decodedOne,
  decodedValue,
  executed,
  records,
} from "../../../kernel/database/Statements.ts"
import { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { EventOrdering } from "../EventOrdering.ts"
import { prunedTo } from "./PagesSql.ts"
import { eventByKey } from "./PlacingSql.ts"
import { EventsRepo } from "../Repo.ts"
import type { PlacedStream } from "../Repo.ts"
import type { StoredEvent } from "./EventText.ts"

export type { PlacedStream }

/** A stored event at its position. */
export interface LogEvent extends StoredEvent {
  readonly position: number
  /** The record that the event is about, as it is stored beside `data`. */
  readonly resource: string | null
  /** The owner of that record, as it is stored beside `data`. */
  readonly owner: string | null
  /** Whether filters of the stream find it by its own name, record, owner and actor. */
  readonly isIndexed: boolean
}

/** A stream of an organization. */
const EventStream = Schema.Struct({
  organizationId: OrganizationId,
  /** The last position. */
  head: Schema.Int,
  /** The tree of hashes has the positions after `base` up to `sealed`. */
  base: Schema.Int,
  sealed: Schema.Int,
  /** The number of its log, from 1. */
  log: Schema.Int,
})
export type EventStream = typeof EventStream.Type

/** How many events the tree of a stream has. */
export const sizeOf = ({ base, sealed }: EventStream): number => sealed - base

/** The events from the start of a stream up to a position. */
const CountedPrefix = Schema.Struct({
  /** How many events are stored up to there. */
  count: Schema.Int,
  /** Whether all of them are records of retention. */
  isOnlyRecords: Schema.Boolean,
})

/** What retention can delete, with the last position to delete. */
type Prefix = typeof CountedPrefix.Type & { readonly upTo: number }

interface EventLogQueries {
  /** Assigns positions to committed events that have none. */
  readonly place: (organizationId: OrganizationId) => Effect.Effect<void>
  /** Until the transaction ends, only this transaction assigns positions in this stream: those of its own events too. */
  readonly lockPlacing: (organizationId: OrganizationId) => Effect.Effect<void>
  /** Organizations that have events without a position, but for removed ones. */
  readonly unplaced: Effect.Effect<ReadonlyArray<OrganizationId>>
  /** Locks the placing in streams, and more under names of the caller, as far as these locks are free. Returns the streams. */
  readonly lockFree: (
    organizationIds: ReadonlyArray<OrganizationId>,
    more: (organizationId: OrganizationId) => string,
  ) => Effect.Effect<ReadonlyArray<OrganizationId>>
  /** How many streams a transaction may change. */
  readonly maxTogether: number
  /**
   * Assigns positions to up to `count` events of each stream. Their leaves are added to the tree if it has all others. Returns the
   * streams that grew. Call it under {@link lockPlacing}.
   */
  readonly placeSome: (
    organizationIds: ReadonlyArray<OrganizationId>,
    count: number,
  ) => Effect.Effect<ReadonlyArray<PlacedStream>>
  /** How many events are stored outside of the positions after `base` up to `last`, where readers find them. */
  readonly countOutside: (organizationId: OrganizationId, base: number, last: number) => Effect.Effect<number>
  /** The streams of all organizations, but for removed ones. */
  readonly streams: Effect.Effect<ReadonlyArray<EventStream>>
  /** The stream of an organization; without events, one that is empty. */
  readonly stream: (organizationId: OrganizationId) => Effect.Effect<EventStream>
  /** Up to `count` events after a position. */
  readonly readAfter: (
    organizationId: OrganizationId,
    position: number,
    count: number,
  ) => Effect.Effect<ReadonlyArray<LogEvent>>
  /** The events after a position, up to another one. */
  readonly readBetween: (
    organizationId: OrganizationId,
    after: number,
    last: number,
  ) => Effect.Effect<ReadonlyArray<LogEvent>>
  /** The position of a stored event, if it has one. */
  readonly positionOf: (organizationId: OrganizationId, eventId: string) => Effect.Effect<Option.Option<number>>
  /** When the first event of a stream occurred; none if it has no events. */
  readonly oldest: (organizationId: OrganizationId) => Effect.Effect<Option.Option<Date>>
  /** Organizations whose first event occurred before an instant, but for removed ones. */
  readonly startingBefore: (at: Date) => Effect.Effect<ReadonlyArray<OrganizationId>>
  /** The events up to a position that occurred before an instant and wait for no delivery: those before the first one that is another. */
  readonly prefix: (organizationId: OrganizationId, before: Date, sealedTo: number) => Effect.Effect<Prefix>
  /** Deletes the events up to a position. Their leaves stay. */
  readonly deleteUpTo: (organizationId: OrganizationId, position: number) => Effect.Effect<void>
}

const COLUMNS = `organization_id AS "organizationId", id, type, occurred_at AS "timestamp", actor, resource, owner,
  data::text AS data, previous::text AS previous`

const placing = (repo: EventsRepo["Service"], ordering: EventOrdering["Service"]) =>
  ({
    place: ordering.assignPositions,

    lockPlacing: repo.lockOrdering,

    unplaced: repo.unordered,

    lockFree: repo.lockFreeOrderings,

    maxTogether: repo.maxTogether,

    placeSome: (organizationIds, count) => repo.assignPositions(organizationIds, { count, isSealed: true }),
  }) satisfies Partial<EventLogQueries>

const idsIn = decodedColumn("id", OrganizationId)

const streams = (sql: PgClient.PgClient) => {
  const columns = sql.literal(
    `organization_id AS "organizationId", head::float8 AS head, base::float8 AS base, sealed_to::float8 AS sealed, log`,
  )

  return {
    streams: decoded(EventStream)(sql`
      SELECT ${columns} FROM event_streams WHERE NOT ${sql.literal(isRemoved("event_streams.organization_id"))}`),

    stream: (organizationId) =>
      Effect.map(
        decodedOne(EventStream)(sql`SELECT ${columns} FROM event_streams WHERE organization_id = ${organizationId}`),
        Option.getOrElse((): EventStream => ({ organizationId, head: 0, base: 0, sealed: 0, log: 1 })),
      ),

    startingBefore: (at) =>
      idsIn(sql`
        SELECT stream.organization_id AS id FROM event_streams stream
        CROSS JOIN LATERAL (
          SELECT event.occurred_at FROM event_positions placed
          JOIN events event ON event.organization_id = placed.organization_id AND event.id = placed.event_id
          WHERE placed.organization_id = stream.organization_id AND placed.position > stream.pruned_to
          ORDER BY placed.position LIMIT 1) AS first
        WHERE first.occurred_at < ${at} AND NOT ${sql.literal(isRemoved("stream.organization_id"))}`),
  } satisfies Partial<EventLogQueries>
}

const countIn = decodedValue("count", Schema.Int)
const positionIn = decodedValue("position", Schema.Int)
const instantIn = decodedValue("at", Schema.Date)

const reads = (sql: PgClient.PgClient) => {
  /** The stored events after a position. */
  const events = (organizationId: OrganizationId, after: number) => sql`
    SELECT event.*, placed.position::float8 AS position,
      (placed.type, placed.resource, placed.actor_id) IS NOT DISTINCT FROM (event.type, event.resource, event.actor->>'id')
        AND coalesce(placed.owner = event.owner, placed.owner IS NULL) AS "isIndexed"
    FROM event_positions placed CROSS JOIN ${eventByKey(sql, organizationId, COLUMNS, "placed.event_id")} AS event
    WHERE placed.organization_id = ${organizationId} AND placed.position > ${after}`

  return {
    countOutside: (organizationId, base, last) =>
      Effect.map(
        countIn(sql`
          SELECT (
            (SELECT count(*) FROM events WHERE organization_id = ${organizationId}) - (
              SELECT count(*) FROM event_positions placed
              CROSS JOIN ${eventByKey(sql, organizationId, "id", "placed.event_id")} AS event
              WHERE placed.organization_id = ${organizationId} AND placed.position > ${base}
                AND placed.position > ${prunedTo(sql, organizationId)} AND placed.position <= ${last})
          )::int AS count`),
        Option.getOrElse(() => 0),
      ),

    readAfter: (organizationId, position, count) =>
      records<LogEvent>()(sql`${events(organizationId, position)} ORDER BY placed.position LIMIT ${count}`),

    readBetween: (organizationId, after, last) =>
      records<LogEvent>()(sql`
        ${events(organizationId, after)} AND placed.position <= ${last} ORDER BY placed.position`),

    positionOf: (organizationId, eventId) =>
      positionIn(sql`
        SELECT placed.position::float8 AS position FROM event_positions placed
        CROSS JOIN ${eventByKey(sql, organizationId, "id", "placed.event_id")} AS event
        WHERE placed.organization_id = ${organizationId} AND placed.event_id = ${eventId}`),

    oldest: (organizationId) =>
      instantIn(sql`
        SELECT event.occurred_at AS at FROM event_positions placed
        CROSS JOIN ${eventByKey(sql, organizationId, "occurred_at", "placed.event_id")} AS event
        WHERE placed.organization_id = ${organizationId} AND placed.position > ${prunedTo(sql, organizationId)}
        ORDER BY placed.position LIMIT 1`),
  } satisfies Partial<EventLogQueries>
}

const retention = (sql: PgClient.PgClient, repo: EventsRepo["Service"]) =>
  ({
    prefix: Effect.fnUntraced(function* (organizationId, before, sealedTo) {
      const upTo = Option.match(yield* repo.firstRetained(organizationId, before), {
        onNone: () => sealedTo,
        onSome: (position) => Math.min(sealedTo, position - 1),
      })
      const counted = yield* decodedOne(CountedPrefix)(sql`
        SELECT count(*)::int AS count, coalesce(bool_and(event.type = 'EVENTS_PRUNED'), true) AS "isOnlyRecords"
        FROM event_positions placed CROSS JOIN ${eventByKey(sql, organizationId, "type", "placed.event_id")} AS event
        WHERE placed.organization_id = ${organizationId} AND placed.position > ${prunedTo(sql, organizationId)}
          AND placed.position <= ${upTo}`)
      return { upTo, ...Option.getOrThrow(counted) }
    }),

    deleteUpTo: Effect.fnUntraced(function* (organizationId, position) {
      yield* repo.deleteUpTo(organizationId, position)
      yield* executed(sql`
        UPDATE event_positions SET event_id = NULL, type = NULL, resource = NULL, owner = NULL, actor_id = NULL
        WHERE organization_id = ${organizationId} AND event_positions.position > ${prunedTo(sql, organizationId)}
          AND event_positions.position <= ${position}`)
      yield* executed(sql`
        UPDATE event_streams SET pruned_to = greatest(pruned_to, ${position}) WHERE organization_id = ${organizationId}`)
    }),
  }) satisfies Partial<EventLogQueries>

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const repo = yield* EventsRepo
  return {
    ...placing(repo, yield* EventOrdering),
    ...streams(sql),
    ...reads(sql),
    ...retention(sql, repo),
  } satisfies EventLogQueries
})

/** Reads and deletes events by their positions. */
export class EventLog extends Context.Service<EventLog, EventLogQueries>()("keyshelf/events/log/EventLog") {
  static readonly layer = Layer.effect(EventLog, make)
}
