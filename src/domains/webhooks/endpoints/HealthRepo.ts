/** SQL of what shows whether deliveries to an endpoint arrive. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import { decoded } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"

/** How many deliveries wait for an endpoint. */
const Waiting = Schema.Struct({ id: Schema.String, count: Schema.Int })

/** When the last successful attempt of an endpoint began. */
const LastSuccess = Schema.Struct({ id: Schema.String, at: Schema.NullOr(Schema.Date) })

/** The queue and the history by endpoint. */
export class HealthRepo extends Context.Service<
  HealthRepo,
  {
    /** Counts the deliveries that wait for each of these endpoints, up to `max`. Run it with `QueueTransactions`. */
    readonly countWaiting: (
      organizationId: OrganizationId,
      ids: ReadonlyArray<string>,
      max: number,
    ) => Effect.Effect<ReadonlyArray<typeof Waiting.Type>>
    /**
     * Finds when the last successful attempt of each of these endpoints began; `null` if none is stored. That of a failing endpoint is older
     * than its first failure, so the failures since are not read.
     */
    readonly findLastSuccesses: (
      organizationId: OrganizationId,
      ids: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyArray<typeof LastSuccess.Type>>
  }
>()("keyshelf/webhooks/endpoints/HealthRepo") {
  static readonly layer = Layer.effect(
    HealthRepo,
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      return HealthRepo.of({
        countWaiting: (organizationId, ids, max) =>
          decoded(Waiting)(sql`
            SELECT endpoint.id, counted.count FROM unnest(${ids}::uuid[]) AS endpoint (id)
            CROSS JOIN LATERAL (
              SELECT count(*)::int AS count FROM (
                SELECT 1 FROM webhook_queue queue
                WHERE queue.organization_id = ${organizationId} AND queue.endpoint_id = endpoint.id LIMIT ${max}
              ) AS waiting
            ) AS counted`),

        findLastSuccesses: (organizationId, ids) =>
          decoded(LastSuccess)(sql`
            SELECT endpoint.id, (
              SELECT attempt."timestamp" FROM webhook_attempts attempt
              WHERE attempt.organization_id = ${organizationId} AND attempt.endpoint_id = endpoint.id
                AND attempt.state = 'Success' AND attempt."timestamp" <= coalesce(endpoint.failing_since, 'infinity')
              ORDER BY attempt."timestamp" DESC LIMIT 1) AS at
            FROM webhook_endpoints endpoint
            WHERE endpoint.organization_id = ${organizationId} AND endpoint.id = ANY(${ids}::uuid[])`),
      })
    }),
  )
}
