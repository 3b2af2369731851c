/** SQL of what an endpoint is still owed when it ends. Its plans must hold whatever the statistics say: see `planByIndex`. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option } from "effect"
import { record, records, touched } from "../../../kernel/database/Statements.ts"
import { planByIndex } from "./QueueTransactions.ts"
import { TEST_EVENT } from "../Model.ts"

/** Names an endpoint. */
export interface EndpointKey {
  readonly organizationId: string
  readonly endpointId: string
}

/** How an endpoint ended. */
export type End = "deleted" | "disabled"

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient

  /** Tests go to disabled endpoints too. */
  const lost = (end: End) => (end === "deleted" ? sql`` : sql`AND queue.event_name <> ${TEST_EVENT}`)

  const lane = ({ endpointId, organizationId }: EndpointKey) => sql`
    lane.organization_id = ${organizationId} AND lane.endpoint_id = ${endpointId}`

  return {
    /**
     * Lets the statements of this transaction go by index. The queue changes too fast for its statistics: by these, one
     * endpoint's failures are read whole for each delivery, or its rows of the queue for each batch.
     */
    planByIndex: planByIndex(sql, "nested"),

    /** How the endpoint ended, if it did; it is not enabled again until the transaction ends. */
    findEnd: ({ endpointId, organizationId }: EndpointKey) =>
      Effect.map(
        record<{ disabled: boolean }>()(sql`
          SELECT disabled_at IS NOT NULL AS disabled FROM webhook_endpoints
          WHERE organization_id = ${organizationId} AND id = ${endpointId} FOR SHARE`),
        Option.match({
          onNone: (): End | undefined => "deleted",
          onSome: ({ disabled }) => (disabled ? "disabled" : undefined),
        }),
      ),

    /**
     * Takes up to so many deliveries of an ended endpoint out of the queue, without waiting for anybody, and lets the last
     * attempt of each say that no other follows, and why. Answers how many deliveries.
     */
    drop: ({ endpointId, organizationId }: EndpointKey, end: End, reason: string, count: number) => {
      // The fence keeps the look-up at the index of deliveries.
      const lastAttempt = (recent = sql``) => sql`
        (SELECT * FROM (
          SELECT "timestamp", id, attempt, endpoint_id, state FROM webhook_attempts
          WHERE organization_id = ${organizationId} AND delivery_id = dropped.id ${recent} OFFSET 0
        ) AS made WHERE attempt = dropped.attempt - 1 ORDER BY "timestamp" DESC LIMIT 1)`
      return Effect.map(
        records<{ count: number }>()(sql`
          WITH dropped AS MATERIALIZED (
            DELETE FROM webhook_queue WHERE ctid = ANY(ARRAY(
              SELECT queue.ctid FROM webhook_queue queue
              WHERE queue.organization_id = ${organizationId} AND queue.endpoint_id = ${endpointId} ${lost(end)}
              ORDER BY queue.due_at LIMIT ${count} FOR UPDATE SKIP LOCKED))
            RETURNING id, attempt, due_at
          ), last AS MATERIALIZED (
            SELECT found."timestamp", found.id FROM dropped
            CROSS JOIN LATERAL (
              -- Nearly always in one of the last days, which spares looking at all others. Without an upper bound: with one, the
              -- primary key looks as good as the index of deliveries to a planner that knows nothing of a new partition.
              ${lastAttempt(sql`AND "timestamp" >= dropped.due_at - interval '12 hours'`)}
              UNION ALL ${lastAttempt()} LIMIT 1
            ) AS found
            WHERE dropped.attempt > 1 AND found.endpoint_id = ${endpointId} AND found.state = 'Failure'
          ), told AS (
            UPDATE webhook_attempts made SET state = 'Failed', next_attempt_at = NULL,
              error = concat_ws('; ', made.error, ${reason}::text)
            FROM last
            WHERE made.organization_id = ${organizationId} AND made."timestamp" = last."timestamp" AND made.id = last.id
          )
          SELECT count(*)::int AS count FROM dropped`),
        ([row]) => row?.count ?? 0,
      )
    },

    /** Whether an ended endpoint is still owed what must be dropped. */
    isOwed: ({ endpointId, organizationId }: EndpointKey, end: End) =>
      touched(sql`
        SELECT 1 FROM webhook_queue queue
        WHERE queue.organization_id = ${organizationId} AND queue.endpoint_id = ${endpointId} ${lost(end)} LIMIT 1`),

    /** Lets no claim look at the lane of a deleted endpoint, and forgets it once nothing is left there. */
    closeLane: (endpoint: EndpointKey) =>
      Effect.asVoid(
        Effect.orDie(sql`
          UPDATE webhook_lanes lane SET head_due_at = 'infinity'
          WHERE ${lane(endpoint)} AND lane.head_due_at < 'infinity'`),
      ),
    removeLane: (endpoint: EndpointKey) =>
      Effect.asVoid(
        Effect.orDie(sql`
          DELETE FROM webhook_lanes lane WHERE ${lane(endpoint)} AND NOT EXISTS (
            SELECT 1 FROM webhook_queue queue
            WHERE queue.organization_id = lane.organization_id AND queue.endpoint_id = lane.endpoint_id)`),
      ),

    /** Disabled endpoints that are still owed what must be dropped, and deleted ones that have a lane; at most so many. */
    unfinished: (count: number) =>
      records<EndpointKey>()(sql`
        SELECT lane.organization_id AS "organizationId", lane.endpoint_id AS "endpointId" FROM webhook_lanes lane
        LEFT JOIN webhook_endpoints endpoint
          ON endpoint.organization_id = lane.organization_id AND endpoint.id = lane.endpoint_id
        WHERE endpoint.id IS NULL OR (endpoint.disabled_at IS NOT NULL AND EXISTS (
          SELECT 1 FROM webhook_queue queue
          WHERE queue.organization_id = lane.organization_id AND queue.endpoint_id = lane.endpoint_id
            ${lost("disabled")}))
        LIMIT ${count}`),
  }
})

/** Rows of what ended endpoints are owed. */
export class PendingRepo extends Context.Service<PendingRepo, Effect.Success<typeof make>>()(
  "keyshelf/webhooks/PendingRepo",
) {
  static readonly layer = Layer.effect(PendingRepo, make)
}
