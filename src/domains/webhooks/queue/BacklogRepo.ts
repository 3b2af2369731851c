/**
 * SQL of the backlog of ended endpoints: their pending deliveries. Run it with `QueueTransactions.run` and nested
 * joins. By its statistics, PostgreSQL would read all failures of an endpoint per delivery, or all its queue rows per
 * batch.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { isRemoved } from "../../../kernel/database/RemovedOrganizations.ts"
import { decoded, decodedValue, executed, returnedRow } from "../../../kernel/database/Statements.ts"
import { EndpointKey } from "../Model.ts"
import { backlogSql } from "./BacklogSql.ts"
import type { EndpointEnd } from "./BacklogSql.ts"

interface BacklogQueries {
  /**
   * Returns how the endpoint ended, if it did; those of a removed organization count as deleted. Locks it, so that no request can
   * enable it before the transaction ends.
   */
  readonly findEnd: (endpoint: EndpointKey) => Effect.Effect<EndpointEnd | undefined>
  /**
   * Deletes up to `count` pending deliveries of an ended endpoint, and marks the last attempt of each as `Failed`
   * with the reason. Skips locked rows. Returns how many deliveries it deleted.
   */
  readonly deleteBatch: (
    endpoint: EndpointKey,
    end: EndpointEnd,
    reason: string,
    count: number,
  ) => Effect.Effect<number>
  /** Whether an ended endpoint has pending deliveries that must be deleted. */
  readonly hasBacklog: (endpoint: EndpointKey, end: EndpointEnd) => Effect.Effect<boolean>
  /** Hides the lane of a deleted endpoint from claims. */
  readonly closeLane: (endpoint: EndpointKey) => Effect.Effect<void>
  /** Deletes the lane of a deleted endpoint, unless it has deliveries. */
  readonly deleteLane: (endpoint: EndpointKey) => Effect.Effect<void>
  /**
   * Finds up to `count` ended endpoints: disabled ones with pending deliveries to delete, and deleted ones with a
   * lane.
   */
  readonly findEnded: (count: number) => Effect.Effect<ReadonlyArray<EndpointKey>>
}

const disabledIn = decodedValue("disabled", Schema.Boolean)
const countIn = decodedValue("count", Schema.Int)

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const { deletion, failure, hasLost, isLost, laneKey, lastAttempts } = backlogSql(sql)

  const lane = ({ endpointId, organizationId }: EndpointKey) => sql`
    lane.organization_id = ${organizationId} AND lane.endpoint_id = ${endpointId}`

  return {
    findEnd: ({ endpointId, organizationId }) =>
      Effect.map(
        disabledIn(sql`
          SELECT disabled_at IS NOT NULL AS disabled FROM webhook_endpoints
          WHERE organization_id = ${organizationId} AND id = ${endpointId}
            AND NOT ${sql.literal(isRemoved("webhook_endpoints.organization_id"))} FOR SHARE`),
        Option.match({
          onNone: (): EndpointEnd | undefined => "deleted",
          onSome: (disabled) => (disabled ? "disabled" : undefined),
        }),
      ),

    deleteBatch: (endpoint, end, reason, count) =>
      Effect.map(
        countIn(sql`
          WITH deleted AS MATERIALIZED (${deletion(endpoint, end, count)}
          ), last AS MATERIALIZED (${lastAttempts(endpoint, sql`deleted`)}), failed AS (
            ${failure(endpoint, reason, sql`last`)}
          )
          SELECT count(*)::int AS count FROM deleted`),
        Option.getOrThrow,
      ),

    hasBacklog: ({ endpointId, organizationId }, end) =>
      returnedRow(sql`
        SELECT 1 FROM webhook_queue queue
        WHERE queue.organization_id = ${organizationId} AND queue.endpoint_id = ${endpointId} ${isLost(end)} LIMIT 1`),

    closeLane: (endpoint) =>
      executed(sql`
        UPDATE webhook_lanes lane SET head_due_at = 'infinity'
        WHERE ${lane(endpoint)} AND lane.head_due_at < 'infinity'`),
    deleteLane: (endpoint) =>
      executed(sql`
        DELETE FROM webhook_lanes lane WHERE ${lane(endpoint)} AND NOT EXISTS (
          SELECT 1 FROM webhook_queue queue
          WHERE queue.organization_id = lane.organization_id AND queue.endpoint_id = lane.endpoint_id)`),

    findEnded: (count) =>
      decoded(EndpointKey)(sql`
        SELECT ${laneKey} FROM webhook_lanes lane
        LEFT JOIN webhook_endpoints endpoint
          ON endpoint.organization_id = lane.organization_id AND endpoint.id = lane.endpoint_id
        WHERE endpoint.id IS NULL OR (endpoint.disabled_at IS NOT NULL AND ${hasLost}) LIMIT ${count}`),
  } satisfies BacklogQueries
})

/** Pending deliveries of ended endpoints. */
export class BacklogRepo extends Context.Service<BacklogRepo, BacklogQueries>()("keyshelf/webhooks/queue/BacklogRepo") {
  static readonly layer = Layer.effect(BacklogRepo, make)
}
