/** SQL about the nodes that hold claims. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { records } from "../../../kernel/database/Statements.ts"
import { applicationNameOf } from "../../../kernel/ports/NodeId.ts"
import type { LaneHead } from "../queue/QueueRepo.ts"

/** A node, and whether it has a connection to the database. */
export interface SeenNode {
  readonly id: string
  readonly isConnected: boolean
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  return {
    /** The nodes that made claims since then and hold them, and the one that asks. Run after `planByIndex`, or it may read a long queue. */
    owners: (nodeId: string, since: Date) =>
      records<SeenNode>()(sql`
        WITH connected AS MATERIALIZED (
          SELECT DISTINCT application_name AS name FROM pg_stat_activity WHERE datname = current_database()
        )
        SELECT owner AS id, ${applicationNameOf("")} || owner IN (SELECT name FROM connected) AS "isConnected"
        FROM (
          SELECT owner FROM webhook_queue WHERE lease IS NOT NULL AND claimed_at > ${since} AND owner IS NOT NULL
          UNION SELECT ${nodeId}::uuid
        ) AS holder`),

    /**
     * Gives back what these nodes have claimed since then, due at once. The claims stay counted: a delivery that ends every process
     * is still abandoned. What another node gives back at this moment is passed over.
     */
    giveBack: (owners: ReadonlyArray<string>, since: Date, at: Date) =>
      Effect.map(
        records<Omit<LaneHead, "dueAt">>()(sql`
          UPDATE webhook_queue SET lease = NULL, claimed_at = NULL, due_at = ${at}
          WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM webhook_queue
            WHERE lease IS NOT NULL AND claimed_at > ${since} AND owner = ANY(${owners}::uuid[])
            FOR UPDATE SKIP LOCKED))
          RETURNING organization_id AS "organizationId", endpoint_id AS "endpointId"`),
        (rows) => rows.map((row): LaneHead => ({ ...row, dueAt: at })),
      ),
  }
})

/** Nodes as the database sees them. */
export class NodesRepo extends Context.Service<NodesRepo, Effect.Success<typeof make>>()(
  "keyshelf/webhooks/NodesRepo",
) {
  static readonly layer = Layer.effect(NodesRepo, make)
}

/** How full the queue and the outbox are. */
export interface Sample {
  readonly due: number
  readonly future: number
  readonly leased: number
  readonly oldestDueAt: Date | null
  readonly oldestOutboxAt: Date | null
}

const MOST_COUNTED = 100_000

const makeSampling = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  return {
    /** Counts at most 100,000 rows. */
    sample: (at: Date) =>
      Effect.map(
        records<Sample>()(sql`
          SELECT counted.*,
            (SELECT min(head_due_at) FROM webhook_lanes WHERE head_due_at <= ${at}) AS "oldestDueAt",
            (SELECT min(due_at) FROM webhook_outbox) AS "oldestOutboxAt"
          FROM (
            SELECT (count(*) FILTER (WHERE due_at <= ${at}))::int AS due,
              (count(*) FILTER (WHERE due_at > ${at} AND lease IS NULL))::int AS future,
              (count(*) FILTER (WHERE due_at > ${at} AND lease IS NOT NULL))::int AS leased
            FROM (SELECT due_at, lease FROM webhook_queue LIMIT ${MOST_COUNTED}) AS queue
          ) AS counted`),
        ([row]): Sample => row ?? { due: 0, future: 0, leased: 0, oldestDueAt: null, oldestOutboxAt: null },
      ),
  }
})

/** Samples of the tables. */
export class SamplingRepo extends Context.Service<SamplingRepo, Effect.Success<typeof makeSampling>>()(
  "keyshelf/webhooks/SamplingRepo",
) {
  static readonly layer = Layer.effect(SamplingRepo, makeSampling)
}
