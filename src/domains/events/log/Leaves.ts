/** The leaves of the event log's tree: the hashes of the events, in the order of their positions. Placing stores them. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import type { Option } from "effect"
import { column, decoded, decodedOne, executed } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { EVENT_LEAF } from "./EventText.ts"

/** Leaves by their index in the tree, from `from` on, before `to`. */
interface Leaves {
  readonly from: number
  readonly to: number
}

const Leaf = Schema.Struct({ index: Schema.Int, hash: Schema.Uint8Array })
type Leaf = typeof Leaf.Type

/** The hashes below a node or a block, one after the other. */
export const HashesBelow = Schema.Struct({ index: Schema.Int, below: Schema.Uint8Array })
export type HashesBelow = typeof HashesBelow.Type

/** How far a tree reaches now. */
const Sealed = Schema.Struct({
  head: Schema.Int,
  base: Schema.Int,
  /** The last position of the tree. */
  sealed: Schema.Int,
  /** How many positions behind the tree were looked at. */
  reach: Schema.Int,
  /** How many of them have a leaf, up to the first one that has none. */
  follow: Schema.Int,
})
export type Sealed = typeof Sealed.Type

interface LeafQueries {
  /** Leaves in order. Missing ones are left out. */
  readonly read: (organizationId: OrganizationId, ranges: ReadonlyArray<Leaves>) => Effect.Effect<ReadonlyArray<Leaf>>
  /** The leaves of blocks of `width`, one after the other; those of each block as one text of bytes. */
  readonly blocks: (
    organizationId: OrganizationId,
    width: number,
    blocks: Leaves,
  ) => Effect.Effect<ReadonlyArray<HashesBelow>>
  /**
   * Adds the leaves of up to `count` positions behind the tree to it, up to the first one without a leaf. With `isWhole`, adds none if
   * there is one without. The nodes above must be added in the same transaction, under a lock of the log.
   */
  readonly advance: (
    organizationId: OrganizationId,
    count: number,
    mode: { readonly isWhole: boolean },
  ) => Effect.Effect<Option.Option<Sealed>>
  /** Stores the leaves of up to `count` positions behind the tree that have none, but whose event is stored: those of a log that begins. */
  readonly fill: (organizationId: OrganizationId, count: number) => Effect.Effect<void>
  /**
   * Begins the tree behind the last position without an event. Only for a stream whose tree is empty: an earlier version may have
   * deleted events before there was a log.
   */
  readonly beginBehindGaps: (organizationId: OrganizationId) => Effect.Effect<void>
  /** The stream gets the next log, without leaves. The nodes above them must be removed in the same transaction. */
  readonly beginNextLog: (organizationId: OrganizationId) => Effect.Effect<void>
}

const reads = (sql: PgClient.PgClient) => {
  const baseOf = (organizationId: OrganizationId) =>
    sql`coalesce((SELECT base FROM event_streams WHERE organization_id = ${organizationId}), 0)`

  return {
    read: (organizationId, ranges) =>
      decoded(Leaf)(sql`
        SELECT leaf.index, leaf.hash
        FROM unnest(
          (SELECT ${column("int8", ranges, ({ from }) => BigInt(from))}),
          ${column("int8", ranges, ({ to }) => BigInt(to))}
        ) AS wanted (first, last)
        CROSS JOIN LATERAL (
          SELECT (position - ${baseOf(organizationId)} - 1)::float8 AS index, leaf AS hash FROM event_positions
          WHERE organization_id = ${organizationId} AND leaf IS NOT NULL
            AND event_positions.position > ${baseOf(organizationId)} + wanted.first
            AND event_positions.position <= ${baseOf(organizationId)} + wanted.last
          ORDER BY event_positions.position
        ) AS leaf`),

    blocks: (organizationId, width, { from, to }) =>
      decoded(HashesBelow)(sql`
        SELECT block.index::float8 AS index, coalesce((
          SELECT string_agg(placed.leaf, ''::bytea ORDER BY placed.position) FROM event_positions placed
          WHERE placed.organization_id = ${organizationId}
            AND placed.position > ${baseOf(organizationId)} + block.index * ${width}::bigint
            AND placed.position <= ${baseOf(organizationId)} + (block.index + 1) * ${width}::bigint
        ), '') AS below
        FROM generate_series(${from}::bigint, ${to - 1}::bigint) AS block (index)`),
  } satisfies Partial<LeafQueries>
}

const growth = (sql: PgClient.PgClient) => {
  const sealedOf = (organizationId: OrganizationId) =>
    sql`(SELECT sealed_to FROM event_streams WHERE organization_id = ${organizationId})`

  return {
    advance: (organizationId, count, { isWhole }) =>
      decodedOne(Sealed)(sql`
        UPDATE event_streams SET sealed_to = next.sealed_to + CASE
          WHEN ${isWhole}::boolean AND next.follow < next.reach THEN 0 ELSE next.follow END
        FROM (
          SELECT tree.sealed_to, tree.reach, behind.follow FROM (
            SELECT sealed_to, least(head - sealed_to, ${count}::bigint) AS reach FROM event_streams
            WHERE organization_id = ${organizationId}
          ) AS tree
          CROSS JOIN LATERAL (
            SELECT coalesce(min(leaf.number) FILTER (WHERE NOT leaf.follows) - 1, count(*)) AS follow FROM (
              SELECT row_number() OVER (ORDER BY position) AS number,
                leaf IS NOT NULL AND position = tree.sealed_to + row_number() OVER (ORDER BY position) AS follows
              FROM event_positions
              WHERE organization_id = ${organizationId} AND event_positions.position > tree.sealed_to
                AND event_positions.position <= tree.sealed_to + tree.reach
            ) AS leaf
          ) AS behind
        ) AS next
        WHERE event_streams.organization_id = ${organizationId}
        RETURNING head::float8 AS head, base::float8 AS base, event_streams.sealed_to::float8 AS sealed,
          next.reach::float8 AS reach, next.follow::float8 AS follow`),

    fill: (organizationId, count) =>
      executed(sql`
        UPDATE event_positions SET leaf = (
          SELECT ${sql.literal(EVENT_LEAF)} FROM events
          WHERE events.organization_id = ${organizationId} AND events.id = event_positions.event_id)
        WHERE organization_id = ${organizationId} AND leaf IS NULL AND event_positions.position > ${sealedOf(organizationId)}
          AND event_positions.position <= ${sealedOf(organizationId)} + ${count}::bigint`),
  } satisfies Partial<LeafQueries>
}

const beginnings = (sql: PgClient.PgClient) =>
  ({
    beginBehindGaps: (organizationId) =>
      executed(sql`
        UPDATE event_streams SET base = last.gap, sealed_to = last.gap FROM (
          SELECT coalesce(max(kept.position) - 1, (SELECT head FROM event_streams WHERE organization_id = ${organizationId})) AS gap
          FROM (
            SELECT placed.position, lag(placed.position) OVER (ORDER BY placed.position) AS before FROM event_positions placed
            JOIN events event ON event.organization_id = ${organizationId} AND event.id = placed.event_id
            WHERE placed.organization_id = ${organizationId}
          ) AS kept
          WHERE kept.before IS DISTINCT FROM kept.position - 1
        ) AS last
        WHERE event_streams.organization_id = ${organizationId}`),

    beginNextLog: (organizationId) =>
      Effect.andThen(
        executed(sql`UPDATE event_streams SET log = log + 1 WHERE organization_id = ${organizationId}`),
        executed(sql`
          UPDATE event_positions SET leaf = NULL WHERE organization_id = ${organizationId} AND leaf IS NOT NULL`),
      ),
  }) satisfies Partial<LeafQueries>

const make = Effect.map(
  PgClient.PgClient,
  (sql) => ({ ...reads(sql), ...growth(sql), ...beginnings(sql) }) satisfies LeafQueries,
)

/** Reads leaves, and adds them to the tree. */
export class EventLeaves extends Context.Service<EventLeaves, LeafQueries>()("keyshelf/events/log/Leaves") {
  static readonly layer = Layer.effect(EventLeaves, make)
}
