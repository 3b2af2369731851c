/** SQL of the tree of an event log and of its checkpoints. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema } from "effect"
import type { Fragment } from "effect/sql/Statement"
import {
  column,
  decodedOne,
  executed,
  hasCitus,
  planByIndex,
  planByIndexUnderLock,
  record,
  records,
} from "../../kernel/database/Statements.ts"
import { EventLog } from "../events/log/EventLog.ts"
import { LEVELS, STEP } from "./rules/Tree.ts"
import type { NodeLookup, NodeRange, TreeNode } from "./rules/Tree.ts"

/** A stored checkpoint. */
export interface StoredCheckpoint {
  readonly size: number
  readonly note: string
  readonly signedAt: Date
}

/** What was sealed. */
const Sealed = Schema.Struct({
  /** How many events had a hash before. */
  size: Schema.Int,
  /** How many nodes at the end of the tree were stored before. */
  open: Schema.Int,
  /** How many events behind them were found. */
  found: Schema.Int,
  /** How many of these have a hash now. */
  added: Schema.Int,
  /** The position before the first event of the tree. */
  base: Schema.Int,
})

const Tree = Schema.Struct({ size: Schema.Int, base: Schema.Int, open: Schema.Int })

/** How many events were found behind the tree, and how many of them follow it without a gap. */
const Next = Schema.Struct({ found: Schema.Int, follow: Schema.Int })

const checkpointColumns = `size::float8 AS size, note, signed_at AS "signedAt"`

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const log = yield* EventLog
  const isSharded = yield* hasCitus(sql)

  /** How many nodes at the end of a tree of this size are stored. */
  const openOf = (organizationId: string, size: Fragment) => sql`(
    SELECT sum(stored.count)::int FROM (VALUES (0), (8), (16)) AS open (level)
    CROSS JOIN LATERAL (
      SELECT count(*) FROM event_hashes
      WHERE organization_id = ${organizationId} AND event_hashes.level = open.level
        AND index >= ${size} >> (open.level + 8) << 8 AND index < ${size} >> open.level
    ) AS stored)`

  const sealAtOnce = (organizationId: string, count: number, beginsBehindGaps: boolean) =>
    Effect.map(
      decodedOne(Sealed)(sql`
        WITH tree AS MATERIALIZED (
          SELECT coalesce((
            SELECT index + 1 FROM event_hashes WHERE organization_id = ${organizationId} AND level = 0
            ORDER BY event_hashes.index DESC LIMIT 1), 0) AS size
        ), ${log.placingNext(organizationId, sql.literal("(SELECT size FROM tree)"), count)}, leaves AS MATERIALIZED (
          SELECT index, number, sha256('\\x00'::bytea || convert_to(text, 'UTF8')) AS hash FROM next
        ), added AS (
          INSERT INTO event_hashes (organization_id, level, index, hash)
          SELECT ${organizationId}::uuid, 0, leaves.index, leaves.hash FROM tree CROSS JOIN leaves
          WHERE leaves.index = tree.size + leaves.number AND NOT (
            ${beginsBehindGaps}::boolean AND tree.size = 0 AND EXISTS (SELECT 1 FROM leaves WHERE leaves.index <> leaves.number))
          RETURNING 1
        )
        SELECT tree.size::float8 AS size, (SELECT count(*)::int FROM leaves) AS found, (SELECT count(*)::int FROM added) AS added,
          coalesce((SELECT base::float8 FROM event_streams WHERE organization_id = ${organizationId}), 0) AS base,
          ${openOf(organizationId, sql.literal("tree.size"))} AS open
        FROM tree`),
      Option.getOrThrow,
    )

  /**
   * {@link sealAtOnce} on Citus, where no statement changes two distributed tables. It reads what it places now together with what had
   * a position. Under the locks of both, no other transaction changes either.
   */
  const sealByShard = Effect.fnUntraced(function* (organizationId: string, count: number, beginsBehindGaps: boolean) {
    yield* log.placeSome(organizationId, count)
    const tree = yield* Effect.map(
      decodedOne(Tree)(sql`
        SELECT tree.size::float8 AS size, tree.base::float8 AS base, ${openOf(organizationId, sql.literal("tree.size"))} AS open
        FROM (
          SELECT coalesce((
            SELECT index + 1 FROM event_hashes WHERE organization_id = ${organizationId} AND level = 0
            ORDER BY event_hashes.index DESC LIMIT 1), 0) AS size,
            coalesce((SELECT base FROM event_streams WHERE organization_id = ${organizationId}), 0) AS base OFFSET 0
        ) AS tree`),
      Option.getOrThrow,
    )
    const next = log.readingNext(organizationId, tree, count)
    const { found, follow } = yield* Effect.map(
      decodedOne(Next)(sql`
        SELECT count(*)::int AS found, (count(*) FILTER (WHERE next.index = ${tree.size}::bigint + next.number))::int AS follow
        FROM ${next}`),
      Option.getOrThrow,
    )
    const isRefused = beginsBehindGaps && tree.size === 0 && follow < found
    const added = isRefused ? 0 : follow
    if (added > 0) {
      yield* executed(sql`
        INSERT INTO event_hashes (organization_id, level, index, hash)
        SELECT ${organizationId}::uuid, 0, next.index, sha256('\\x00'::bytea || convert_to(next.text, 'UTF8')) FROM ${next}
        WHERE next.number < ${added}`)
    }
    return { ...tree, found, added }
  })

  return {
    /**
     * Until the transaction ends, only this transaction seals events of this log and signs its checkpoints. Its statements are planned by index.
     */
    lock: (organizationId: string) => planByIndexUnderLock(sql, `audit/${organizationId}`),

    /** The statements of the transaction are planned by index until it ends. */
    planByIndex: planByIndex(sql),

    /** Everything that the transaction reads is as it is now, until the transaction ends. Call it first. */
    readSnapshot: Effect.andThen(
      executed(sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`),
      planByIndex(sql),
    ),

    /** The organizations, by slug, but for removed ones. */
    organizations: records<{ readonly id: string; readonly slug: string }>()(
      sql`SELECT id, slug FROM organizations WHERE removed_at IS NULL ORDER BY slug`,
    ),

    /** How many events have a hash. */
    size: (organizationId: string) =>
      Effect.map(
        record<{ readonly size: number }>()(sql`
          SELECT (index + 1)::float8 AS size FROM event_hashes
          WHERE organization_id = ${organizationId} AND level = 0 ORDER BY event_hashes.index DESC LIMIT 1`),
        Option.match({ onNone: () => 0, onSome: ({ size }) => size }),
      ),

    /** Reads stored nodes. */
    nodes: (organizationId: string, ranges: ReadonlyArray<NodeRange>): Effect.Effect<NodeLookup> =>
      Effect.map(
        records<{ readonly level: number; readonly index: number; readonly hash: Uint8Array }>()(sql`
          SELECT node.level, node.index::float8 AS index, node.hash
          FROM unnest(
            (SELECT ${column("int2", ranges, ({ level }) => level)}),
            ${column("int8", ranges, ({ from }) => BigInt(from))},
            ${column("int8", ranges, ({ to }) => BigInt(to))}
          ) AS wanted (level, first, last)
          CROSS JOIN LATERAL (
            SELECT level, index, hash FROM event_hashes
            WHERE organization_id = ${organizationId} AND level = wanted.level AND index >= wanted.first AND index < wanted.last
          ) AS node`),
        (rows) => {
          const found = new Map(rows.map(({ hash, index, level }) => [`${level}/${index}`, hash]))
          return (level, index) => found.get(`${level}/${index}`)
        },
      ),

    /** Up to `count` hashes of leaves from an index on, in order. */
    leaves: (organizationId: string, from: number, count: number) =>
      records<{ readonly index: number; readonly hash: Uint8Array }>()(sql`
        SELECT index::float8 AS index, hash FROM event_hashes
        WHERE organization_id = ${organizationId} AND level = 0 AND event_hashes.index >= ${from} ORDER BY event_hashes.index LIMIT ${count}`),

    /** The nodes above the leaves that end behind an index, up to another one. */
    nodesAbove: (organizationId: string, from: number, to: number) =>
      records<TreeNode>()(sql`
        SELECT node.level, node.index::float8 AS index, node.hash FROM unnest(${LEVELS.slice(1)}::int2[]) AS wanted (level)
        CROSS JOIN LATERAL (
          SELECT level, index, hash FROM event_hashes
          WHERE organization_id = ${organizationId} AND level = wanted.level
            AND index >= ${from}::bigint >> wanted.level AND index < ${to}::bigint >> wanted.level
        ) AS node`),

    /**
     * Places events and stores the hashes of those behind the last one that has a hash, up to the first gap: up to `count` that had a
     * position, and up to `count` that had none. With `beginsBehindGaps`, a tree without leaves does not begin before a gap. The
     * database computes the hashes, so no event leaves it, and each is read once.
     */
    sealNext: isSharded ? sealByShard : sealAtOnce,

    /** The hashes below nodes, one after the other. */
    hashesBelow: (organizationId: string, { from, level, to }: NodeRange) =>
      records<{ readonly index: number; readonly below: Uint8Array }>()(sql`
        SELECT node.index::float8 AS index, coalesce((
          SELECT string_agg(below.hash, ''::bytea ORDER BY below.index) FROM event_hashes below
          WHERE below.organization_id = ${organizationId} AND below.level = ${level - STEP}
            AND below.index >= node.index << 8 AND below.index < (node.index + 1) << 8
        ), '') AS below
        FROM generate_series(${from}::bigint, ${to - 1}::bigint) AS node (index)`),

    insertNodes: (organizationId: string, nodes: ReadonlyArray<TreeNode>) =>
      executed(sql`
        INSERT INTO event_hashes (organization_id, level, index, hash)
        SELECT ${organizationId}::uuid, node.level, node.index, node.hash
        FROM unnest(
          (SELECT ${column("int2", nodes, ({ level }) => level)}),
          ${column("int8", nodes, ({ index }) => BigInt(index))},
          ${column("bytea", nodes, ({ hash }) => hash)}
        ) AS node (level, index, hash)`),

    /** Removes the tree and the checkpoints of a log that ends. */
    deleteLog: (organizationId: string) =>
      Effect.andThen(
        executed(sql`DELETE FROM event_checkpoints WHERE organization_id = ${organizationId}`),
        executed(sql`DELETE FROM event_hashes WHERE organization_id = ${organizationId}`),
      ),

    /** The newest checkpoint: the one of the largest tree. */
    newestCheckpoint: (organizationId: string) =>
      record<StoredCheckpoint>()(sql`
        SELECT ${sql.literal(checkpointColumns)} FROM event_checkpoints
        WHERE organization_id = ${organizationId} ORDER BY event_checkpoints.size DESC LIMIT 1`),

    insertCheckpoint: (organizationId: string, { note, signedAt, size }: StoredCheckpoint) =>
      executed(sql`
        INSERT INTO event_checkpoints (organization_id, size, note, signed_at)
        VALUES (${organizationId}, ${size}, ${note}, ${signedAt})`),

    /** Up to `count` checkpoints of trees larger than `size`, in order. */
    checkpointsAfter: (organizationId: string, size: number, count: number) =>
      records<StoredCheckpoint>()(sql`
        SELECT ${sql.literal(checkpointColumns)} FROM event_checkpoints
        WHERE organization_id = ${organizationId} AND event_checkpoints.size > ${size} ORDER BY event_checkpoints.size LIMIT ${count}`),
  }
})

/** Stores and reads hashes and checkpoints. */
export class AuditRepo extends Context.Service<AuditRepo, Effect.Success<typeof make>>()("keyshelf/audit/Repo") {
  static readonly layer = Layer.effect(AuditRepo, make)
}
