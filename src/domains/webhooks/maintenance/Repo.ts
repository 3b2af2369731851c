/** SQL of the queue's maintenance: claims of terminated nodes, wrong lane heads, and samples for gauges. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { decoded, decodedColumn, decodedOne, executed } from "../../../kernel/database/Statements.ts"
import { firstDueInOutbox } from "../../events/OutboxSql.ts"
import { applicationNameOf } from "../../../kernel/ports/NodeId.ts"
import { QueueRepo } from "../queue/QueueRepo.ts"
import { EndpointKey } from "../Model.ts"
import { LaneHead } from "../queue/Model.ts"

/** An id under which claims are held: a node, or a liveness session of one. */
const ClaimOwner = Schema.Struct({
  id: Schema.String,
  /** Whether it has a connection to the database. */
  isConnected: Schema.Boolean,
})
type ClaimOwner = typeof ClaimOwner.Type

/** The depth and age of the queue and the outbox. */
const QueueSample = Schema.Struct({
  due: Schema.Int,
  future: Schema.Int,
  leased: Schema.Int,
  oldestDueAt: Schema.NullOr(Schema.Date),
  oldestOutboxAt: Schema.NullOr(Schema.Date),
})
type QueueSample = typeof QueueSample.Type

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
  static readonly layer = Layer.suspend(() => Layer.effect(QueueMaintenanceRepo, make))
}

const leasesIn = decodedColumn("lease", Schema.String)

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const queue = yield* QueueRepo

  return QueueMaintenanceRepo.of({
    findClaimOwners: (own, since) =>
      decoded(ClaimOwner)(sql`
        WITH connected AS MATERIALIZED (
          SELECT DISTINCT application_name AS name FROM pg_stat_activity WHERE datname = current_database()
        )
        SELECT owner AS id, ${applicationNameOf("")} || owner IN (SELECT name FROM connected) AS "isConnected"
        FROM (
          SELECT owner FROM webhook_queue WHERE lease IS NOT NULL AND claimed_at > ${since} AND owner IS NOT NULL
          UNION SELECT own FROM (SELECT ${own}::uuid AS own) AS own WHERE own IS NOT NULL
        ) AS holder`),

    setOwner: (leases, owner) =>
      leasesIn(sql`
        UPDATE webhook_queue SET owner = ${owner}::uuid
        WHERE ctid = ANY(ARRAY(
          SELECT ctid FROM webhook_queue WHERE lease IS NOT NULL AND lease = ANY(${leases}::uuid[])
          FOR UPDATE SKIP LOCKED))
        RETURNING lease`),

    disownClaimsOf: (owners, since) =>
      executed(sql`
        UPDATE webhook_queue SET owner = NULL
        WHERE ctid = ANY(ARRAY(
          SELECT ctid FROM webhook_queue
          WHERE lease IS NOT NULL AND claimed_at > ${since} AND owner = ANY(${owners}::uuid[])
          FOR UPDATE SKIP LOCKED))`),

    releaseClaimsOf: (owners, since, at) =>
      queue.lowerHeadsOf(
        decoded(EndpointKey)(sql`
          UPDATE webhook_queue SET lease = NULL, claimed_at = NULL, due_at = ${at}
          WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM webhook_queue
            WHERE lease IS NOT NULL AND claimed_at > ${since} AND owner = ANY(${owners}::uuid[])
            FOR UPDATE SKIP LOCKED))
          RETURNING organization_id AS "organizationId", endpoint_id AS "endpointId"`),
        at,
      ),

    findLateHeads: (count) =>
      decoded(LaneHead)(sql`
        SELECT lane.organization_id AS "organizationId", lane.endpoint_id AS "endpointId", first.due_at AS "dueAt"
        FROM webhook_lanes lane
        CROSS JOIN LATERAL (
          SELECT queue.due_at FROM webhook_queue queue
          WHERE queue.organization_id = lane.organization_id AND queue.endpoint_id = lane.endpoint_id
          ORDER BY queue.due_at LIMIT 1
        ) AS first
        WHERE lane.head_due_at < 'infinity' AND first.due_at < lane.head_due_at LIMIT ${count}`),

    sample: (at) =>
      Effect.map(
        decodedOne(QueueSample)(sql`
          SELECT counted.*,
            (SELECT min(head_due_at) FROM webhook_lanes WHERE head_due_at <= ${at} AND NOT paused) AS "oldestDueAt",
            (${sql.literal(firstDueInOutbox)}) AS "oldestOutboxAt"
          FROM (
            SELECT (count(*) FILTER (WHERE due_at <= ${at}))::int AS due,
              (count(*) FILTER (WHERE due_at > ${at} AND lease IS NULL))::int AS future,
              (count(*) FILTER (WHERE due_at > ${at} AND lease IS NOT NULL))::int AS leased
            FROM (SELECT due_at, lease FROM webhook_queue LIMIT ${MAX_COUNTED_ROWS}) AS queue
          ) AS counted`),
        Option.getOrThrow,
      ),
  })
})
