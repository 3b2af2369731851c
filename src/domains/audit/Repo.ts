/** SQL of the tree of an event log and of its checkpoints. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option } from "effect"
import { advisoryLock, column, executed, record, records } from "../../kernel/database/Statements.ts"
import { LEVELS } from "./rules/Tree.ts"
import type { NodeLookup, NodeRange, TreeNode } from "./rules/Tree.ts"

/** A stored checkpoint. */
export interface StoredCheckpoint {
  readonly size: number
  readonly note: string
  readonly signedAt: Date
}

const checkpointColumns = `size::float8 AS size, note, signed_at AS "signedAt"`

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient

  // Plans are kept. One of a moment when the table was small would read all of it from then on, until its statistics are new: a first
  // sealing adds millions of rows before.
  const planByIndex = executed(sql`
    SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
      set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
      set_config('enable_sort', 'off', true), set_config('jit', 'off', true)`)

  return {
    /**
     * Until the transaction ends, only this transaction seals events of this log and signs its checkpoints. Its statements are planned by index.
     */
    lock: (organizationId: string) => Effect.andThen(planByIndex, advisoryLock(sql, `audit/${organizationId}`)),

    /** The statements of the transaction are planned by index until it ends. */
    planByIndex,

    /** Everything that the transaction reads is as it is now, until the transaction ends. Call it first. */
    readSnapshot: Effect.andThen(executed(sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`), planByIndex),

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
