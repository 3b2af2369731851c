/** SQL of the organization streams. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import type { Option } from "effect"
import type { Fragment } from "effect/sql/Statement"
import type { EventRecord } from "../../kernel/contract/Event.ts"
import { Commits } from "../../kernel/database/Connections.ts"
import { isRemoved } from "../../kernel/database/RemovedOrganizations.ts"
import {
  decoded,
  decodedColumn,
  decodedValue,
  executed,
  planByIndexUnderFreeLocks,
  planByIndexUnderLock,
  records,
  returnedRow,
} from "../../kernel/database/Statements.ts"
import { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { isRecordId } from "./Model.ts"
import type { EventFilter, PositionedEvent } from "./Model.ts"
import { insertEvent, OutboxCondition, outboxInsertion } from "./OutboxSql.ts"
import { idsOfSlugs, idsOwnedBy, NamedRecords } from "./log/SubjectsSql.ts"
import type { NamedRecordsSql } from "./log/SubjectsSql.ts"
import { eventsUpTo, firstRetained, pageOf } from "./log/PagesSql.ts"
import { advanceHeads, eventByKey, insertPlaced, PLACED_COLUMNS } from "./log/PlacingSql.ts"

/** The last position of a stream. */
const StreamHead = Schema.Struct({
  organizationId: OrganizationId,
  head: Schema.Int,
  isRemoved: Schema.Boolean,
})
type StreamHead = typeof StreamHead.Type

/** A stream whose head has moved. */
export const AdvancedStream = Schema.Struct({
  organizationId: OrganizationId,
  /** The last position. */
  head: Schema.Int,
  /** The tree of the event log has the positions after `base` up to `sealedTo`. */
  base: Schema.Int,
  sealedTo: Schema.Int,
})

/** How a placing changed a stream. `placed` is how many of the last positions are new. */
const PlacedStream = Schema.Struct({ ...AdvancedStream.fields, placed: Schema.Int })
export type PlacedStream = typeof PlacedStream.Type

/** Which events are placed, of each of the organizations. */
export interface PlacingOptions {
  /** The maximum number; all if it is not given. */
  readonly count?: number
  /** Whether the tree of an event log that reached to the head follows. The nodes above its leaves must then be added. */
  readonly isSealed: boolean
}

interface EventQueries {
  /** Stores an event. */
  readonly insert: (event: EventRecord) => Effect.Effect<void>
  /** Stores an event and its outbox row. Returns whether an outbox row was stored. */
  readonly insertForDelivery: (event: EventRecord) => Effect.Effect<boolean>
  /**
   * Runs a change (`INSERT ... RETURNING`) and stores its event. If the change affects no row, stores no event and returns none;
   * otherwise returns whether an outbox row was stored. Without a transaction around it, all of this commits together.
   */
  readonly insertWithChange: (change: Fragment, event: EventRecord) => Effect.Effect<Option.Option<boolean>>
  /** Whether there are events without a position. */
  readonly hasUnordered: (organizationId: OrganizationId) => Effect.Effect<boolean>
  /** Of these organizations, those that have events without a position. */
  readonly withUnordered: (
    organizationIds: ReadonlyArray<OrganizationId>,
  ) => Effect.Effect<ReadonlyArray<OrganizationId>>
  /** All organizations that have events without a position, but for removed ones. Reads one event of each. */
  readonly unordered: Effect.Effect<ReadonlyArray<OrganizationId>>
  /** The last position of each stream. Streams without events are omitted. */
  readonly heads: (organizationIds: ReadonlyArray<OrganizationId>) => Effect.Effect<ReadonlyArray<StreamHead>>
  /** Serializes the ordering of one stream: locks it until the transaction ends. */
  readonly lockOrdering: (organizationId: OrganizationId) => Effect.Effect<void>
  /** Until the transaction ends, locks the ordering of streams and more under names of the caller, as far as these locks are free. */
  readonly lockFreeOrderings: (
    organizationIds: ReadonlyArray<OrganizationId>,
    more: (organizationId: OrganizationId) => string,
  ) => Effect.Effect<ReadonlyArray<OrganizationId>>
  /** How many streams a transaction may change. */
  readonly maxTogether: number
  /**
   * Assigns positions and leaves to committed events of organizations, after all existing positions. Returns the streams that grew.
   * Call it under the locks of {@link lockOrdering}.
   */
  readonly assignPositions: (
    organizationIds: ReadonlyArray<OrganizationId>,
    options: PlacingOptions,
  ) => Effect.Effect<ReadonlyArray<PlacedStream>>
  /** The filter with the ids of the records that it names by slug and, on request, of what belongs to them. */
  readonly resolve: (organizationId: OrganizationId, filter: EventFilter) => Effect.Effect<EventFilter>
  /** Reads events after a position, oldest first. Its filter is resolved. */
  readonly readAfter: (
    organizationId: OrganizationId,
    filter: EventFilter,
    position: number,
    count: number,
  ) => Effect.Effect<ReadonlyArray<PositionedEvent>>
  /** Reads events before a position, newest first. */
  readonly readBefore: (
    organizationId: OrganizationId,
    filter: EventFilter,
    position: number,
    count: number,
  ) => Effect.Effect<ReadonlyArray<PositionedEvent>>
  /** The position of the first event that occurred at an instant or later, or waits for a delivery. */
  readonly firstRetained: (organizationId: OrganizationId, from: Date) => Effect.Effect<Option.Option<number>>
  /** Deletes the rows of the events up to a position. */
  readonly deleteUpTo: (organizationId: OrganizationId, position: number) => Effect.Effect<void>
}

/** The most streams in a transaction: it holds their locks, for which readers wait. */
const MAX_TOGETHER = 50

const handedOverIn = decodedValue("handedOver", Schema.Boolean)

const insertions = (
  sql: PgClient.PgClient,
  askFor: Commits["Service"]["askFor"],
  enqueue: (organizationId: OrganizationId) => Fragment,
) => {
  /** The parts of a statement that store an event, once for each row of `from`, and that it has no position yet. */
  const stored = (event: EventRecord, from?: Fragment) => sql`
    event AS (${insertEvent(sql, event, from)} RETURNING organization_id, id, occurred_at),
    arrival AS (INSERT INTO event_arrivals (organization_id, event_id) SELECT organization_id, id FROM event)`

  return {
    insert: (event) => executed(sql`WITH ${stored(event)} SELECT 1`),

    insertForDelivery: (event) => returnedRow(sql`WITH ${stored(event)} ${enqueue(event.organizationId)} RETURNING 1`),

    insertWithChange: (change, event) =>
      handedOverIn(
        askFor(event.organizationId)(
          (client) => client`
            WITH change AS (${change}), ${stored(event, sql.literal("FROM change"))},
              delivery AS (${enqueue(event.organizationId)} RETURNING 1)
            SELECT EXISTS (SELECT 1 FROM delivery) AS "handedOver" FROM change`,
        ),
      ),
  } satisfies Partial<EventQueries>
}

/** The organizations that a statement selects as `id`. */
export const organizationIdsIn = decodedColumn("id", OrganizationId)

/** Which organizations have events without a position. */
const unordered = (sql: PgClient.PgClient) =>
  ({
    hasUnordered: (organizationId) =>
      returnedRow(sql`SELECT 1 FROM event_arrivals WHERE organization_id = ${organizationId} LIMIT 1`),

    withUnordered: (organizationIds) =>
      organizationIdsIn(sql`
        SELECT requested.id FROM unnest(${organizationIds}::uuid[]) AS requested (id)
        WHERE EXISTS (SELECT 1 FROM event_arrivals WHERE organization_id = requested.id)`),

    unordered: organizationIdsIn(sql`
      WITH RECURSIVE unordered (organization_id) AS (
        (SELECT organization_id FROM event_arrivals ORDER BY organization_id LIMIT 1)
        UNION ALL
        SELECT (
          SELECT next.organization_id FROM event_arrivals next
          WHERE next.organization_id > unordered.organization_id ORDER BY next.organization_id LIMIT 1)
        FROM unordered WHERE unordered.organization_id IS NOT NULL
      )
      SELECT unordered.organization_id AS id FROM unordered
      WHERE unordered.organization_id IS NOT NULL AND NOT ${sql.literal(isRemoved("unordered.organization_id"))}`),
  }) satisfies Partial<EventQueries>

const ordering = (sql: PgClient.PgClient) => {
  const headOf = (organization: Fragment) => sql`
    coalesce((SELECT before.head FROM event_streams before WHERE before.organization_id = ${organization}), 0)`

  const lockName = (organizationId: OrganizationId) => `events:${organizationId}`

  return {
    lockOrdering: (organizationId) => planByIndexUnderLock(sql, lockName(organizationId)),

    lockFreeOrderings: (organizationIds, more) =>
      Effect.map(
        planByIndexUnderFreeLocks(
          sql,
          organizationIds.flatMap((id) => [more(id), lockName(id)]),
        ),
        (names) => organizationIds.filter((id) => names.has(more(id)) && names.has(lockName(id))),
      ),

    maxTogether: MAX_TOGETHER,

    // The statement reads `event_streams` as it was before: there the head is the last position before the new ones. Arrivals are read
    // in the order of their index, so nothing is sorted. One without an event gets no position.
    assignPositions: (organizationIds, { count, isSealed }) =>
      decoded(PlacedStream)(sql`
        WITH placed AS MATERIALIZED (
          SELECT stream.id AS organization_id, ${headOf(sql.literal("stream.id"))} AS head, next.*
          FROM unnest(${organizationIds}::uuid[]) AS stream (id)
          CROSS JOIN LATERAL (
            SELECT arrival.location, event.*, count(event.id) OVER (ORDER BY arrival.event_id) AS number,
              count(event.id) OVER () AS count
            FROM (
              SELECT ctid AS location, event_id FROM event_arrivals WHERE organization_id = stream.id
              ORDER BY event_id LIMIT ${count ?? null}::bigint
            ) AS arrival
            LEFT JOIN ${eventByKey(sql, sql.literal("stream.id"), PLACED_COLUMNS, "arrival.event_id")} AS event ON true
          ) AS next
        ), gone AS (
          DELETE FROM event_arrivals WHERE ctid = ANY (ARRAY (SELECT location FROM placed))
        ), added AS (
          ${insertPlaced(sql, sql.literal("placed.head"), sql.literal("placed WHERE placed.id IS NOT NULL"))}
        )
        ${advanceHeads(sql, isSealed, sql.literal("placed WHERE number = 1 AND id IS NOT NULL"))},
          (head - ${headOf(sql.literal("event_streams.organization_id"))})::float8 AS placed`),
  } satisfies Partial<EventQueries>
}

const reads = (sql: PgClient.PgClient) => {
  const read = (
    organizationId: OrganizationId,
    filter: EventFilter,
    count: number,
    bounds: { readonly condition: Fragment; readonly order: Fragment },
  ) => records<PositionedEvent>()(pageOf(sql, organizationId, filter, { ...bounds, count }))

  return {
    heads: (organizationIds) =>
      decoded(StreamHead)(sql`
        SELECT organization_id AS "organizationId", head::float8 AS head,
          ${sql.literal(isRemoved("event_streams.organization_id"))} AS "isRemoved"
        FROM event_streams
        WHERE organization_id = ANY(${organizationIds}::uuid[])`),

    readAfter: (organizationId, filter, position, count) =>
      read(organizationId, filter, count, { condition: sql`> ${position}`, order: sql.literal("ASC") }),

    readBefore: (organizationId, filter, position, count) =>
      read(organizationId, filter, count, { condition: sql`< ${position}`, order: sql.literal("DESC") }),
  } satisfies Partial<EventQueries>
}

const resolution = (sql: PgClient.PgClient, named: NamedRecordsSql | undefined) =>
  ({
    resolve: Effect.fnUntraced(function* (organizationId, filter) {
      if (filter.resources === undefined || named === undefined) return filter
      const subjects = new Set(filter.resources)
      const slugs = filter.resources.filter((name) => !isRecordId(name))
      if (slugs.length > 0) {
        for (const id of yield* idsOfSlugs(sql, named, organizationId, slugs)) subjects.add(id)
      }
      if (filter.isRelated === true) {
        for (const id of yield* idsOwnedBy(sql, named, organizationId, [...subjects])) subjects.add(id)
      }
      return { ...filter, resources: [...subjects] }
    }),
  }) satisfies Partial<EventQueries>

const retention = (sql: PgClient.PgClient) =>
  ({
    firstRetained: (organizationId, from) =>
      firstRetained(
        sql,
        organizationId,
        from,
        sql`EXISTS (
          SELECT 1 FROM webhook_outbox waiting
          WHERE waiting.organization_id = ${organizationId} AND waiting.event_id = event.id)`,
      ),

    deleteUpTo: (organizationId, position) =>
      executed(sql`
        DELETE FROM events WHERE ctid = ANY (ARRAY (${eventsUpTo(sql, organizationId, position, "ctid")}))`),
  }) satisfies Partial<EventQueries>

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const { askFor } = yield* Commits
  return {
    ...insertions(sql, askFor, outboxInsertion(sql, yield* OutboxCondition)),
    ...unordered(sql),
    ...ordering(sql),
    ...reads(sql),
    ...resolution(sql, yield* NamedRecords),
    ...retention(sql),
  } satisfies EventQueries
})

/** Stores and reads events. */
export class EventsRepo extends Context.Service<EventsRepo, EventQueries>()("keyshelf/events/Repo") {
  static readonly layer = Layer.effect(EventsRepo, make)
}
