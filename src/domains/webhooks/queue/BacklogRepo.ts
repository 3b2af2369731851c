/**
 * SQL of the backlog of ended endpoints: their pending deliveries. Run it with `QueueTransactions.run` and nested
 * joins. By its statistics, PostgreSQL would read all failures of an endpoint per delivery, or all its queue rows per
 * batch.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option } from "effect"
import type { Fragment } from "effect/sql/Statement"
import { isRemoved } from "../../../kernel/database/RemovedOrganizations.ts"
import { column, executed, hasCitus, record, records, returnedRow } from "../../../kernel/database/Statements.ts"
import { TEST_EVENT } from "../Model.ts"
import type { EndpointKey } from "../Model.ts"

interface DeletedDelivery {
  readonly id: string
  readonly attempt: number
  readonly due_at: Date
}

/** How an endpoint ended. */
export type EndpointEnd = "deleted" | "disabled"

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const isSharded = yield* hasCitus(sql)

  /** Whether a pending delivery is lost with its endpoint. Test events are delivered to disabled endpoints too. */
  const isLost = (end: EndpointEnd) => (end === "deleted" ? sql`` : sql`AND queue.event_name <> ${TEST_EVENT}`)

  const lane = ({ endpointId, organizationId }: EndpointKey) => sql`
    lane.organization_id = ${organizationId} AND lane.endpoint_id = ${endpointId}`

  /** Finds the last failed attempt of each delivery of `deleted`. */
  const lastAttempts = ({ endpointId, organizationId }: EndpointKey, deleted: Fragment) => {
    // `OFFSET 0` stops PostgreSQL from merging the subquery, which keeps the look-up on the index of deliveries.
    const lastAttempt = (recent = sql``) => sql`
      (SELECT * FROM (
        SELECT "timestamp", id, attempt, endpoint_id, state FROM webhook_attempts
        WHERE organization_id = ${organizationId} AND delivery_id = deleted.id ${recent} OFFSET 0
      ) AS attempts WHERE attempt = deleted.attempt - 1 ORDER BY "timestamp" DESC LIMIT 1)`
    return sql`
      SELECT attempt."timestamp", attempt.id FROM ${deleted}
      CROSS JOIN LATERAL (
        -- The attempt is nearly always in one of the last days, which spares the other partitions. An upper bound would make
        -- the primary key look as good as the index of deliveries, for a new partition without statistics.
        ${lastAttempt(sql`AND "timestamp" >= deleted.due_at - interval '12 hours'`)}
        UNION ALL ${lastAttempt()} LIMIT 1
      ) AS attempt
      WHERE deleted.attempt > 1 AND attempt.endpoint_id = ${endpointId} AND attempt.state = 'Failure'`
  }

  /** Marks the attempts of `last` as `Failed`. */
  const failure = ({ organizationId }: EndpointKey, reason: string, last: Fragment) => sql`
    UPDATE webhook_attempts attempts SET state = 'Failed', next_attempt_at = NULL,
      error = coalesce(attempts.error || '; ', '') || ${reason}::text
    FROM ${last}
    WHERE attempts.organization_id = ${organizationId} AND attempts."timestamp" = last."timestamp" AND attempts.id = last.id`

  /** Deletes on the coordinator first, and then marks the attempts in the shard of the organization. */
  const deleteOnCoordinator = Effect.fnUntraced(function* (endpoint: EndpointKey, deletion: Fragment, reason: string) {
    const deleted = yield* records<DeletedDelivery>()(sql`${deletion}`)
    const retried = deleted.filter(({ attempt }) => attempt > 1)
    if (retried.length > 0) {
      const rows = sql`unnest(
        (SELECT ${column("uuid", retried, ({ id }) => id)}),
        ${column("int2", retried, ({ attempt }) => attempt)},
        ${column("timestamptz", retried, ({ due_at }) => due_at)}
      ) AS deleted (id, attempt, due_at)`
      yield* executed(failure(endpoint, reason, sql`(${lastAttempts(endpoint, rows)}) AS last`))
    }
    return deleted.length
  })

  return {
    /**
     * Returns how the endpoint ended, if it did; those of a removed organization count as deleted. Locks it, so that no request can enable it before the transaction
     * ends.
     */
    findEnd: ({ endpointId, organizationId }: EndpointKey) =>
      Effect.map(
        record<{ disabled: boolean }>()(sql`
          SELECT disabled_at IS NOT NULL AS disabled FROM webhook_endpoints
          WHERE organization_id = ${organizationId} AND id = ${endpointId}
            AND NOT ${sql.literal(isRemoved("webhook_endpoints.organization_id"))} FOR SHARE`),
        Option.match({
          onNone: (): EndpointEnd | undefined => "deleted",
          onSome: ({ disabled }) => (disabled ? "disabled" : undefined),
        }),
      ),

    /**
     * Deletes up to `count` pending deliveries of an ended endpoint, and marks the last attempt of each as `Failed`
     * with the reason. Skips locked rows. Returns how many deliveries it deleted.
     */
    deleteBatch: (endpoint: EndpointKey, end: EndpointEnd, reason: string, count: number) => {
      const deletion = sql`
        DELETE FROM webhook_queue WHERE ctid = ANY(ARRAY(
          SELECT queue.ctid FROM webhook_queue queue
          WHERE queue.organization_id = ${endpoint.organizationId} AND queue.endpoint_id = ${endpoint.endpointId} ${isLost(end)}
          ORDER BY queue.due_at LIMIT ${count} FOR UPDATE SKIP LOCKED))
        RETURNING id, attempt, due_at`
      if (isSharded) return deleteOnCoordinator(endpoint, deletion, reason)
      return Effect.map(
        records<{ count: number }>()(sql`
          WITH deleted AS MATERIALIZED (${deletion}), last AS MATERIALIZED (${lastAttempts(endpoint, sql`deleted`)}), failed AS (
            ${failure(endpoint, reason, sql`last`)}
          )
          SELECT count(*)::int AS count FROM deleted`),
        ([row]) => row?.count ?? 0,
      )
    },

    /** Whether an ended endpoint has pending deliveries that must be deleted. */
    hasBacklog: ({ endpointId, organizationId }: EndpointKey, end: EndpointEnd) =>
      returnedRow(sql`
        SELECT 1 FROM webhook_queue queue
        WHERE queue.organization_id = ${organizationId} AND queue.endpoint_id = ${endpointId} ${isLost(end)} LIMIT 1`),

    /** Hides the lane of a deleted endpoint from claims. */
    closeLane: (endpoint: EndpointKey) =>
      Effect.asVoid(
        Effect.orDie(sql`
          UPDATE webhook_lanes lane SET head_due_at = 'infinity'
          WHERE ${lane(endpoint)} AND lane.head_due_at < 'infinity'`),
      ),
    /** Deletes the lane of a deleted endpoint, unless it has deliveries. */
    deleteLane: (endpoint: EndpointKey) =>
      Effect.asVoid(
        Effect.orDie(sql`
          DELETE FROM webhook_lanes lane WHERE ${lane(endpoint)} AND NOT EXISTS (
            SELECT 1 FROM webhook_queue queue
            WHERE queue.organization_id = lane.organization_id AND queue.endpoint_id = lane.endpoint_id)`),
      ),

    /**
     * Finds up to `count` ended endpoints: disabled ones with pending deliveries to delete, and deleted ones with a
     * lane.
     */
    findEnded: (count: number) => {
      const columns = sql.literal(`lane.organization_id AS "organizationId", lane.endpoint_id AS "endpointId"`)
      const hasLost = sql`EXISTS (
        SELECT 1 FROM webhook_queue queue
        WHERE queue.organization_id = lane.organization_id AND queue.endpoint_id = lane.endpoint_id ${isLost("disabled")})`
      return records<EndpointKey>()(
        isSharded
          ? sql`
            WITH endpoint AS MATERIALIZED (
              SELECT organization_id, id, disabled_at IS NOT NULL AS disabled FROM webhook_endpoints
            )
            SELECT ${columns} FROM webhook_lanes lane
            LEFT JOIN endpoint ON endpoint.organization_id = lane.organization_id AND endpoint.id = lane.endpoint_id
            WHERE endpoint.id IS NULL OR (endpoint.disabled AND ${hasLost}) LIMIT ${count}`
          : sql`
            SELECT ${columns} FROM webhook_lanes lane
            LEFT JOIN webhook_endpoints endpoint
              ON endpoint.organization_id = lane.organization_id AND endpoint.id = lane.endpoint_id
            WHERE endpoint.id IS NULL OR (endpoint.disabled_at IS NOT NULL AND ${hasLost}) LIMIT ${count}`,
      )
    },
  }
})

/** Pending deliveries of ended endpoints. */
export class BacklogRepo extends Context.Service<BacklogRepo, Effect.Success<typeof make>>()(
  "keyshelf/webhooks/queue/BacklogRepo",
) {
  static readonly layer = Layer.effect(BacklogRepo, make)
}
