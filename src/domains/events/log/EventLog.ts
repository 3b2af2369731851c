/** The stored events of a stream in the order of their positions, for the tree of their hashes and for retention. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option } from "effect"
import type { Fragment } from "effect/sql/Statement"
import { isRemoved } from "../../../kernel/database/RemovedOrganizations.ts"
import { executed, hasCitus, record, records } from "../../../kernel/database/Statements.ts"
import { EventOrdering } from "../EventOrdering.ts"
import { EventsRepo } from "../Repo.ts"
import { EVENT_TEXT } from "./EventText.ts"
import type { StoredEvent } from "./EventText.ts"

/** A stored event at its position. */
export interface LogEvent extends StoredEvent {
  readonly position: number
  /** The column that the filter `resource` of the stream compares. */
  readonly resource: string | null
}

/** A stream: its last position, the position before the first event of its tree, and the number of its log, from 1. */
export interface EventStream {
  readonly organizationId: string
  readonly head: number
  readonly base: number
  readonly log: number
}

/** What retention can delete: events from the start of a stream. */
interface Prefix {
  /** The last position to delete. */
  readonly upTo: number
  /** How many events are stored up to there. */
  readonly count: number
  /** Whether all of them are records of retention. */
  readonly isOnlyRecords: boolean
}

type Row = Omit<LogEvent, "position"> & { readonly position: string }

const located = ({ position, ...event }: Row): LogEvent => ({ ...event, position: Number(position) })

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const ordering = yield* EventOrdering
  const repo = yield* EventsRepo
  const isSharded = yield* hasCitus(sql)
  const columns =
    sql.literal(`organization_id AS "organizationId", id, type, occurred_at AS "timestamp", actor, resource,
    data::text AS data, previous::text AS previous, position::text AS position`)
  const streamColumns = sql.literal(
    `organization_id AS "organizationId", head::float8 AS head, base::float8 AS base, log`,
  )

  /**
   * The condition that an event of `kept` may wait for a delivery, on Citus: the outbox is on the coordinator. An event with a smaller id
   * than all that wait does not. Ids rise with time, so few others are kept.
   */
  const followsWaiting = (organizationId: string) =>
    Effect.map(
      record<{ readonly id: string }>()(sql`
        SELECT event_id AS id FROM webhook_outbox WHERE organization_id = ${organizationId} ORDER BY event_id LIMIT 1`),
      Option.match({ onNone: () => sql`false`, onSome: ({ id }) => sql`kept.id >= ${id}::uuid` }),
    )

  return {
    /** Assigns positions to committed events that have none. */
    place: ordering.assignPositions,

    /** Until the transaction ends, only this transaction assigns positions in this stream: those of its own events too. */
    lockPlacing: repo.lockOrdering,

    /** Organizations that have events without a position, but for removed ones. Reads one event of each. */
    unplaced: Effect.map(
      records<{ readonly id: string }>()(
        isSharded
          ? sql`
        SELECT DISTINCT organization_id AS id FROM events
        WHERE position IS NULL AND NOT ${sql.literal(isRemoved("events.organization_id"))}`
          : sql`
        WITH RECURSIVE unplaced (organization_id) AS (
          (SELECT organization_id FROM events WHERE position IS NULL ORDER BY organization_id LIMIT 1)
          UNION ALL
          SELECT (
            SELECT events.organization_id FROM events
            WHERE events.position IS NULL AND events.organization_id > unplaced.organization_id
            ORDER BY events.organization_id LIMIT 1)
          FROM unplaced WHERE unplaced.organization_id IS NOT NULL
        )
        SELECT unplaced.organization_id AS id FROM unplaced
        WHERE unplaced.organization_id IS NOT NULL AND NOT ${sql.literal(isRemoved("unplaced.organization_id"))}`,
      ),
      (rows) => rows.map(({ id }) => id),
    ),

    /** Assigns positions to up to `count` events. Call it under {@link lockPlacing}. */
    placeSome: repo.assignSome,

    /**
     * On Citus: the part of a statement that reads up to `count` events behind the first `size` of the tree. Its result `next` is
     * that of {@link placingNext}.
     */
    readingNext: (
      organizationId: string,
      { base, size }: { readonly base: number; readonly size: number },
      count: number,
    ) => sql`
      (SELECT position - ${base}::bigint - 1 AS index, row_number() OVER (ORDER BY position) - 1 AS number, text FROM (
        SELECT position, ${sql.literal(EVENT_TEXT)} AS text FROM events
        WHERE organization_id = ${organizationId} AND position > ${base + size}
        ORDER BY events.position LIMIT ${count}
      ) AS event) AS next`,

    /**
     * The part of a statement that assigns positions to up to `count` events, and reads up to `count` events that had one, behind the
     * first `size` of the tree. Its result `next` has their index in the tree, their number from 0, and their text. Call it under
     * {@link lockPlacing}, but not on Citus.
     */
    placingNext: (organizationId: string, size: Fragment, count: number) => {
      const base = sql`coalesce((SELECT base FROM event_streams WHERE organization_id = ${organizationId}), 0)`
      return sql`
        ${repo.placing(organizationId, count, EVENT_TEXT)}, stored AS MATERIALIZED (
          SELECT position, row_number() OVER (ORDER BY position) AS number, text FROM (
            SELECT position, ${sql.literal(EVENT_TEXT)} AS text FROM events
            WHERE organization_id = ${organizationId} AND position > ${base} + ${size}
            ORDER BY events.position LIMIT ${count}
          ) AS event
        ), next AS (
          SELECT position - ${base} - 1 AS index, number - 1 AS number, text FROM stored
          UNION ALL
          SELECT position - ${base} - 1, (SELECT count(*) FROM stored) + number - 1, text FROM placed
        )`
    },

    /** How many events stand outside of the positions after `base` and up to `last`, or have no position. */
    countOutside: (organizationId: string, base: number, last: number) =>
      Effect.map(
        record<{ readonly count: number }>()(sql`
          SELECT (
            (SELECT count(*) FROM events WHERE organization_id = ${organizationId} AND position IS NULL)
            + (SELECT count(*) FROM events WHERE organization_id = ${organizationId} AND position <= ${base})
            + (SELECT count(*) FROM events WHERE organization_id = ${organizationId} AND position > ${last})
          )::int AS count`),
        Option.match({ onNone: () => 0, onSome: ({ count }) => count }),
      ),

    /** The streams of all organizations, but for removed ones. */
    streams: records<EventStream>()(sql`
      SELECT ${streamColumns} FROM event_streams WHERE NOT ${sql.literal(isRemoved("event_streams.organization_id"))}`),

    /** The stream of an organization; without events, one that is empty. */
    stream: (organizationId: string) =>
      Effect.map(
        record<EventStream>()(
          sql`SELECT ${streamColumns} FROM event_streams WHERE organization_id = ${organizationId}`,
        ),
        Option.getOrElse((): EventStream => ({ organizationId, head: 0, base: 0, log: 1 })),
      ),

    /** Up to `count` events after a position. */
    readAfter: (organizationId: string, position: number, count: number) =>
      Effect.map(
        records<Row>()(sql`
          SELECT ${columns} FROM events WHERE organization_id = ${organizationId} AND events.position > ${position}
          ORDER BY events.position LIMIT ${count}`),
        (rows) => rows.map(located),
      ),

    /** The events after a position, up to another one. */
    readBetween: (organizationId: string, after: number, last: number) =>
      Effect.map(
        records<Row>()(sql`
          SELECT ${columns} FROM events
          WHERE organization_id = ${organizationId} AND events.position > ${after} AND events.position <= ${last}
          ORDER BY events.position`),
        (rows) => rows.map(located),
      ),

    /** The event with this id, if it has a position. */
    find: (organizationId: string, eventId: string) =>
      Effect.map(
        record<Row>()(sql`
          SELECT ${columns} FROM events
          WHERE organization_id = ${organizationId} AND id = ${eventId} AND position IS NOT NULL`),
        Option.map(located),
      ),

    /**
     * Begins the tree behind the last position that is missing. Only for a stream whose tree is empty: an earlier version may have
     * deleted events after the upgrade.
     */
    beginBehindGaps: (organizationId: string) =>
      executed(sql`
        UPDATE event_streams SET base = coalesce((
          SELECT max(placed.position) - 1 FROM (
            SELECT position, lag(position) OVER (ORDER BY position) AS before FROM events
            WHERE organization_id = ${organizationId} AND position IS NOT NULL
          ) AS placed
          WHERE placed.before IS DISTINCT FROM placed.position - 1
        ), head) WHERE organization_id = ${organizationId}`),

    /** The stream gets the next log. Its tree must be removed in the same transaction. */
    beginNextLog: (organizationId: string) =>
      executed(sql`UPDATE event_streams SET log = log + 1 WHERE organization_id = ${organizationId}`),

    /** When the first event of a stream occurred; none if it has no events. */
    oldest: (organizationId: string) =>
      Effect.map(
        record<{ readonly at: Date }>()(sql`
          SELECT occurred_at AS at FROM events WHERE organization_id = ${organizationId} AND position IS NOT NULL
          ORDER BY position LIMIT 1`),
        Option.map(({ at }) => at),
      ),

    /** Organizations whose first event occurred before an instant, but for removed ones. */
    startingBefore: (at: Date) =>
      Effect.map(
        records<{ readonly id: string }>()(
          isSharded
            ? sql`
          SELECT stream.organization_id AS id FROM event_streams stream
          CROSS JOIN LATERAL (
            SELECT occurred_at FROM events
            WHERE events.organization_id = stream.organization_id AND position IS NOT NULL ORDER BY position LIMIT 1) AS first
          WHERE first.occurred_at < ${at} AND NOT ${sql.literal(isRemoved("stream.organization_id"))}`
            : sql`
          SELECT organizations.id FROM organizations
          CROSS JOIN LATERAL (
            SELECT occurred_at FROM events
            WHERE events.organization_id = organizations.id AND position IS NOT NULL ORDER BY position LIMIT 1) AS first
          WHERE first.occurred_at < ${at} AND organizations.removed_at IS NULL`,
        ),
        (rows) => rows.map(({ id }) => id),
      ),

    /**
     * The events up to a position that occurred before an instant and wait for no delivery: those before the first one that is
     * another.
     */
    prefix: Effect.fnUntraced(function* (organizationId: string, before: Date, sealedTo: number) {
      const isWaiting = isSharded
        ? yield* followsWaiting(organizationId)
        : sql`EXISTS (
        SELECT 1 FROM webhook_outbox waiting
        WHERE waiting.organization_id = kept.organization_id AND waiting.event_id = kept.id)`
      return Option.getOrElse(
        yield* record<Prefix>()(sql`
          WITH last AS (
            SELECT least(${sealedTo}::bigint, coalesce((
              SELECT kept.position FROM events kept
              WHERE kept.organization_id = ${organizationId} AND kept.position IS NOT NULL AND (
                kept.occurred_at >= ${before} OR ${isWaiting})
              ORDER BY kept.position LIMIT 1) - 1, ${sealedTo}::bigint)) AS position
          )
          SELECT last.position::float8 AS "upTo", counted.count, counted."isOnlyRecords" FROM last
          CROSS JOIN LATERAL (
            SELECT count(*)::int AS count, coalesce(bool_and(type = 'EVENTS_PRUNED'), true) AS "isOnlyRecords" FROM events
            WHERE organization_id = ${organizationId} AND events.position <= last.position) AS counted`),
        (): Prefix => ({ upTo: 0, count: 0, isOnlyRecords: true }),
      )
    }),

    /** Deletes the events up to a position. */
    deleteUpTo: (organizationId: string, position: number) =>
      executed(sql`DELETE FROM events WHERE organization_id = ${organizationId} AND position <= ${position}`),
  }
})

/** Reads and deletes events by their positions. */
export class EventLog extends Context.Service<EventLog, Effect.Success<typeof make>>()("keyshelf/events/log/EventLog") {
  static readonly layer = Layer.effect(EventLog, make)
}
