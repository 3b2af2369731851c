/** SQL of deliveries that are deleted because their endpoint ended, and of their last attempts. */
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { TEST_EVENT } from "../Model.ts"
import type { EndpointKey } from "../Model.ts"

/** How an endpoint ended. */
export type EndpointEnd = "deleted" | "disabled"

export const backlogSql = (sql: SqlClient) => {
  /** Whether a pending delivery is lost with its endpoint. Test events are delivered to disabled endpoints too. */
  const isLost = (end: EndpointEnd) => (end === "deleted" ? sql`` : sql`AND queue.event_name <> ${TEST_EVENT}`)

  /** Deletes the first `count` lost deliveries that no other transaction has locked. */
  const deletion = ({ endpointId, organizationId }: EndpointKey, end: EndpointEnd, count: number): Fragment => sql`
        DELETE FROM webhook_queue WHERE ctid = ANY(ARRAY(
          SELECT queue.ctid FROM webhook_queue queue
          WHERE queue.organization_id = ${organizationId} AND queue.endpoint_id = ${endpointId} ${isLost(end)}
          ORDER BY queue.due_at LIMIT ${count} FOR UPDATE SKIP LOCKED))
        RETURNING id, attempt, due_at`

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

  const laneKey = sql.literal(`lane.organization_id AS "organizationId", lane.endpoint_id AS "endpointId"`)

  /** Whether the lane of a disabled endpoint has deliveries that are lost. */
  const hasLost = sql`EXISTS (
        SELECT 1 FROM webhook_queue queue
        WHERE queue.organization_id = lane.organization_id AND queue.endpoint_id = lane.endpoint_id ${isLost("disabled")})`

  return { isLost, deletion, lastAttempts, failure, laneKey, hasLost }
}
