/** SQL of the queue's maintenance: claims of terminated nodes, wrong lane heads, and samples for gauges. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { records } from "../../../kernel/database/Statements.ts"
import { applicationNameOf } from "../../../kernel/ports/NodeId.ts"
import { QueueRepo } from "../queue/QueueRepo.ts"
import type { LaneHead } from "../queue/Model.ts"

/** An id under which claims are held: a node, or a liveness session of one. */
interface ClaimOwner {
  readonly id: string
  /** Whether it has a connection to the database. */
  readonly isConnected: boolean
}

/** The depth and age of the queue and the outbox. */
interface QueueSample {
  readonly due: number
  readonly future: number
  readonly leased: number
  readonly oldestDueAt: Date | null
  readonly oldestOutboxAt: Date | null
}

// Limits what a sample reads of a long queue.
const MAX_COUNTED_ROWS = 100_000

/** The queue as its maintenance reads and corrects it. */
export class QueueMaintenanceRepo extends Context.Service<
  QueueMaintenanceRepo,
  {
    /** Finds who holds claims made after `since`, and `own` if it is an id. Run it with `QueueTransactions`. */
    readonly findClaimOwners: (own: string | null, since: Date) => Effect.Effect<ReadonlyArray<ClaimOwner>>
    /**
     * Holds these claims under an id, and returns their leases. Skips rows whose outcome is being stored: waiting for
     * several locks could deadlock. Run it with `QueueTransactions`.
     */
    readonly setOwner: (leases: ReadonlyArray<string>, owner: string) => Effect.Effect<ReadonlyArray<string>>
    /**
     * Leaves the claims made after `since` under these ids to their leases alone. Skips locked rows like `setOwner`.
     */
    readonly disownClaimsOf: (owners: ReadonlyArray<string>, since: Date) => Effect.Effect<void>
    /**
     * Releases the claims that these nodes made after `since`, due at `at`, and returns how many. The claims stay
     * counted, so that a delivery that ends every process is still abandoned. Skips rows that another node releases at
     * the same time.
     */
    readonly releaseClaimsOf: (owners: ReadonlyArray<string>, since: Date, at: Date) => Effect.Effect<number>
    /**
     * Finds up to `count` lanes with a delivery due before their head, where no claim finds it. Run it with
     * `QueueTransactions`.
     */
    readonly findLateHeads: (count: number) => Effect.Effect<ReadonlyArray<LaneHead>>
    /** Samples the queue and the outbox. Counts up to 100,000 rows. */
    readonly sample: (at: Date) => Effect.Effect<QueueSample>
  }
>()("keyshelf/webhooks/maintenance/Repo") {
  static readonly layer = Layer.effect(
    QueueMaintenanceRepo,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const queue = yield* QueueRepo

  return {
    findClaimOwners: (own: string | null, since: Date) =>
      records<ClaimOwner>()(sql`
        WITH connected AS MATERIALIZED (
          SELECT DISTINCT application_name AS name FROM pg_stat_activity WHERE datname = current_database()
        )
        SELECT owner AS id, ${applicationNameOf("")} || owner IN (SELECT name FROM connected) AS "isConnected"
        FROM (
          SELECT owner FROM webhook_queue WHERE lease IS NOT NULL AND claimed_at > ${since} AND owner IS NOT NULL
          UNION SELECT own FROM (SELECT ${own}::uuid AS own) AS own WHERE own IS NOT NULL
        ) AS holder`),

    setOwner: (leases: ReadonlyArray<string>, owner: string) =>
      Effect.map(
        records<{ readonly lease: string }>()(sql`
          UPDATE webhook_queue SET owner = ${owner}::uuid
          WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM webhook_queue WHERE lease IS NOT NULL AND lease = ANY(${leases}::uuid[])
            FOR UPDATE SKIP LOCKED))
          RETURNING lease`),
        (rows) => rows.map(({ lease }) => lease),
      ),

    disownClaimsOf: (owners: ReadonlyArray<string>, since: Date) =>
      Effect.asVoid(
        Effect.orDie(sql`
          UPDATE webhook_queue SET owner = NULL
          WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM webhook_queue
            WHERE lease IS NOT NULL AND claimed_at > ${since} AND owner = ANY(${owners}::uuid[])
            FOR UPDATE SKIP LOCKED))`),
      ),

    releaseClaimsOf: (owners: ReadonlyArray<string>, since: Date, at: Date) =>
      queue.lowerHeadsOf(
        records<Omit<LaneHead, "dueAt">>()(sql`
          UPDATE webhook_queue SET lease = NULL, claimed_at = NULL, due_at = ${at}
          WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM webhook_queue
            WHERE lease IS NOT NULL AND claimed_at > ${since} AND owner = ANY(${owners}::uuid[])
            FOR UPDATE SKIP LOCKED))
          RETURNING organization_id AS "organizationId", endpoint_id AS "endpointId"`),
        at,
      ),

    findLateHeads: (count: number) =>
      records<LaneHead>()(sql`
        SELECT lane.organization_id AS "organizationId", lane.endpoint_id AS "endpointId", first.due_at AS "dueAt"
        FROM webhook_lanes lane
        CROSS JOIN LATERAL (
          SELECT queue.due_at FROM webhook_queue queue
          WHERE queue.organization_id = lane.organization_id AND queue.endpoint_id = lane.endpoint_id
          ORDER BY queue.due_at LIMIT 1
        ) AS first
        WHERE lane.head_due_at < 'infinity' AND first.due_at < lane.head_due_at LIMIT ${count}`),

    sample: (at: Date) =>
      Effect.map(
        records<QueueSample>()(sql`
          SELECT counted.*,
            (SELECT min(head_due_at) FROM webhook_lanes WHERE head_due_at <= ${at}) AS "oldestDueAt",
            (SELECT min(due_at) FROM webhook_outbox) AS "oldestOutboxAt"
          FROM (
            SELECT (count(*) FILTER (WHERE due_at <= ${at}))::int AS due,
              (count(*) FILTER (WHERE due_at > ${at} AND lease IS NULL))::int AS future,
              (count(*) FILTER (WHERE due_at > ${at} AND lease IS NOT NULL))::int AS leased
            FROM (SELECT due_at, lease FROM webhook_queue LIMIT ${MAX_COUNTED_ROWS}) AS queue
          ) AS counted`),
        ([row]): QueueSample => row ?? { due: 0, future: 0, leased: 0, oldestDueAt: null, oldestOutboxAt: null },
      ),
  }
})
