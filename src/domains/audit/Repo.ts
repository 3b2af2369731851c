/** SQL of the tree of an event log and of its checkpoints. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import type { Option } from "effect"
import {
  column,
  decoded,
  decodedOne,
  executed,
  planByIndex,
  planByIndexUnderLock,
} from "../../kernel/database/Statements.ts"
import { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { presentOrganizations } from "../organizations/OrganizationsSql.ts"
import { EventLeaves, HashesBelow } from "../events/log/Leaves.ts"
import { FANOUT, LEVELS, STEP } from "./rules/Tree.ts"
import type { NodeLookup, NodeRange, TreeNode } from "./rules/Tree.ts"

/** A stored checkpoint. */
const StoredCheckpoint = Schema.Struct({
  size: Schema.Int,
  note: Schema.String,
  signedAt: Schema.Date,
})
export type StoredCheckpoint = typeof StoredCheckpoint.Type

const StoredNode = Schema.Struct({ level: Schema.Int, index: Schema.Int, hash: Schema.Uint8Array })

/** An organization whose log is sealed and checked. */
const LogOwner = Schema.Struct({ id: OrganizationId, slug: Schema.String })

interface AuditQueries {
  /**
   * Until the transaction ends, only this transaction seals events of this log and signs its checkpoints. Its statements are planned by
   * index.
   */
  readonly lock: (organizationId: OrganizationId) => Effect.Effect<void>
  /** The name of this lock. */
  readonly lockName: (organizationId: OrganizationId) => string
  /** The statements of the transaction are planned by index until it ends. */
  readonly planByIndex: Effect.Effect<void>
  /** Everything that the transaction reads is as it is now, until the transaction ends. Call it first. */
  readonly readSnapshot: Effect.Effect<void>
  /** The organizations, by slug, but for removed ones. */
  readonly organizations: Effect.Effect<ReadonlyArray<typeof LogOwner.Type>>
  /** Reads nodes, and leaves. */
  readonly nodes: (organizationId: OrganizationId, ranges: ReadonlyArray<NodeRange>) => Effect.Effect<NodeLookup>
  /** The nodes above the leaves that end behind an index, up to another one. */
  readonly nodesAbove: (
    organizationId: OrganizationId,
    from: number,
    to: number,
  ) => Effect.Effect<ReadonlyArray<TreeNode>>
  /** The hashes below nodes, one after the other. */
  readonly hashesBelow: (organizationId: OrganizationId, range: NodeRange) => Effect.Effect<ReadonlyArray<HashesBelow>>
  /** Adds nodes that the tree does not have. */
  readonly insertNodes: (organizationId: OrganizationId, nodes: ReadonlyArray<TreeNode>) => Effect.Effect<void>
  /** Removes the nodes above the leaves, and the checkpoints, of a log that ends. */
  readonly deleteLog: (organizationId: OrganizationId) => Effect.Effect<void>
  /** The newest checkpoint: the one of the largest tree. */
  readonly newestCheckpoint: (organizationId: OrganizationId) => Effect.Effect<Option.Option<StoredCheckpoint>>
  /** Stores the checkpoint of a tree that has none of its size. */
  readonly insertCheckpoint: (organizationId: OrganizationId, checkpoint: StoredCheckpoint) => Effect.Effect<void>
  /** Up to `count` checkpoints of trees larger than `size`, in order. */
  readonly checkpointsAfter: (
    organizationId: OrganizationId,
    size: number,
    count: number,
  ) => Effect.Effect<ReadonlyArray<StoredCheckpoint>>
}

const checkpointColumns = `size::float8 AS size, note, signed_at AS "signedAt"`

const lockName = (organizationId: OrganizationId) => `audit/${organizationId}`

/** How the transactions of a log run. */
const transactions = (sql: PgClient.PgClient) =>
  ({
    lock: (organizationId: OrganizationId) => planByIndexUnderLock(sql, lockName(organizationId)),

    lockName,

    planByIndex: planByIndex(sql),

    readSnapshot: Effect.andThen(
      executed(sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`),
      planByIndex(sql),
    ),
  }) satisfies Partial<AuditQueries>

const tree = (sql: PgClient.PgClient, leaves: EventLeaves["Service"]) =>
  ({
    nodes: Effect.fnUntraced(function* (organizationId: OrganizationId, ranges: ReadonlyArray<NodeRange>) {
      const above = ranges.filter(({ level }) => level > 0)
      const leaf = yield* leaves.read(
        organizationId,
        ranges.filter(({ level }) => level === 0),
      )
      const nodes = yield* decoded(StoredNode)(sql`
        SELECT node.level, node.index::float8 AS index, node.hash
        FROM unnest(
          (SELECT ${column("int2", above, ({ level }) => level)}),
          ${column("int8", above, ({ from }) => BigInt(from))},
          ${column("int8", above, ({ to }) => BigInt(to))}
        ) AS wanted (level, first, last)
        CROSS JOIN LATERAL (
          SELECT level, index, hash FROM event_hashes
          WHERE organization_id = ${organizationId} AND level = wanted.level AND index >= wanted.first AND index < wanted.last
        ) AS node`)
      const found = new Map([
        ...leaf.map(({ hash, index }) => [`0/${index}`, hash] as const),
        ...nodes.map(({ hash, index, level }) => [`${level}/${index}`, hash] as const),
      ])
      const lookup: NodeLookup = (level, index) => found.get(`${level}/${index}`)
      return lookup
    }),

    nodesAbove: (organizationId: OrganizationId, from: number, to: number) =>
      decoded(StoredNode)(sql`
        SELECT node.level, node.index::float8 AS index, node.hash FROM unnest(${LEVELS.slice(1)}::int2[]) AS wanted (level)
        CROSS JOIN LATERAL (
          SELECT level, index, hash FROM event_hashes
          WHERE organization_id = ${organizationId} AND level = wanted.level
            AND index >= ${from}::bigint >> wanted.level AND index < ${to}::bigint >> wanted.level
        ) AS node`),

    hashesBelow: (organizationId: OrganizationId, { from, level, to }: NodeRange) =>
      level === STEP
        ? leaves.blocks(organizationId, FANOUT, { from, to })
        : decoded(HashesBelow)(sql`
        SELECT node.index::float8 AS index, coalesce((
          SELECT string_agg(below.hash, ''::bytea ORDER BY below.index) FROM event_hashes below
          WHERE below.organization_id = ${organizationId} AND below.level = ${level - STEP}
            AND below.index >= node.index << 8 AND below.index < (node.index + 1) << 8
        ), '') AS below
        FROM generate_series(${from}::bigint, ${to - 1}::bigint) AS node (index)`),

    insertNodes: (organizationId: OrganizationId, nodes: ReadonlyArray<TreeNode>) =>
      executed(sql`
        INSERT INTO event_hashes (organization_id, level, index, hash)
        SELECT ${organizationId}::uuid, node.level, node.index, node.hash
        FROM unnest(
          (SELECT ${column("int2", nodes, ({ level }) => level)}),
          ${column("int8", nodes, ({ index }) => BigInt(index))},
          ${column("bytea", nodes, ({ hash }) => hash)}
        ) AS node (level, index, hash)`),
  }) satisfies Partial<AuditQueries>

const logs = (sql: PgClient.PgClient) =>
  ({
    organizations: decoded(LogOwner)(sql`${presentOrganizations(sql)} ORDER BY slug`),

    deleteLog: (organizationId: OrganizationId) =>
      Effect.andThen(
        executed(sql`DELETE FROM event_checkpoints WHERE organization_id = ${organizationId}`),
        executed(sql`DELETE FROM event_hashes WHERE organization_id = ${organizationId}`),
      ),
  }) satisfies Partial<AuditQueries>

const checkpoints = (sql: PgClient.PgClient) =>
  ({
    newestCheckpoint: (organizationId: OrganizationId) =>
      decodedOne(StoredCheckpoint)(sql`
        SELECT ${sql.literal(checkpointColumns)} FROM event_checkpoints
        WHERE organization_id = ${organizationId} ORDER BY event_checkpoints.size DESC LIMIT 1`),

    insertCheckpoint: (organizationId: OrganizationId, { note, signedAt, size }: StoredCheckpoint) =>
      executed(sql`
        INSERT INTO event_checkpoints (organization_id, size, note, signed_at)
        VALUES (${organizationId}, ${size}, ${note}, ${signedAt})`),

    checkpointsAfter: (organizationId: OrganizationId, size: number, count: number) =>
      decoded(StoredCheckpoint)(sql`
        SELECT ${sql.literal(checkpointColumns)} FROM event_checkpoints
        WHERE organization_id = ${organizationId} AND event_checkpoints.size > ${size} ORDER BY event_checkpoints.size LIMIT ${count}`),
  }) satisfies Partial<AuditQueries>

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  return {
    ...transactions(sql),
    ...tree(sql, yield* EventLeaves),
    ...logs(sql),
    ...checkpoints(sql),
  } satisfies AuditQueries
})

/** Stores and reads hashes and checkpoints. */
export class AuditRepo extends Context.Service<AuditRepo, AuditQueries>()("keyshelf/audit/Repo") {
  static readonly layer = Layer.effect(AuditRepo, make)
}
