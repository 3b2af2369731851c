/** SQL of the delivery history: ended attempts, and attempts in flight, which are rows of the queue. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Struct } from "effect"
import type { Option } from "effect"
import type { Position } from "../../../kernel/contract/Page.ts"
import { advisoryLock, decodedOne, executed } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { WebhookAttempt } from "../Model.ts"
import type { HistoryFilters } from "../Model.ts"
import { historySql, LAST } from "./HistorySql.ts"
import type { AttemptEntry, PendingAttempt } from "./HistorySql.ts"

/** The properties of a last attempt on which a retry depends. */
const LastAttempt = WebhookAttempt.mapFields(Struct.pick(["attempt", "endpointId", "eventId", "eventName", "state"]))
type LastAttempt = typeof LastAttempt.Type

interface HistoryQueries {
  /**
   * Plans {@link list} for its values until the transaction ends. With an endpoint and an event name, either index
   * can be much better, and a generic plan always takes the endpoint's.
   */
  readonly planByValues: Effect.Effect<void>
  /**
   * Lists attempts, newest first. `at` decides which leases are valid.
   */
  readonly list: (
    organizationId: OrganizationId,
    filters: HistoryFilters,
    after: Position | null,
    count: number,
    at: Date,
  ) => Effect.Effect<ReadonlyArray<AttemptEntry>>
  /** Serializes retries of one delivery until the transaction ends. */
  readonly lockRetries: (organizationId: OrganizationId, deliveryId: string) => Effect.Effect<void>
  /** Locks the delivery's pending attempt, if it has one. Returns whether it is being sent at this time. */
  readonly lockPending: (
    organizationId: OrganizationId,
    deliveryId: string,
    at: Date,
  ) => Effect.Effect<Option.Option<PendingAttempt>>
  /** Makes a pending attempt due, unless it is due earlier. */
  readonly makeDue: (organizationId: OrganizationId, deliveryId: string, at: Date) => Effect.Effect<void>
  /** Finds the last ended attempt of a delivery. */
  readonly findLastAttempt: (
    organizationId: OrganizationId,
    deliveryId: string,
  ) => Effect.Effect<Option.Option<LastAttempt>>
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const { inFlight, isPending, list, lockPending } = historySql(sql)

  return {
    planByValues: executed(sql`SELECT set_config('plan_cache_mode', 'force_custom_plan', true)`),

    list: (organizationId, filters, after, count, at) => {
      const position = after ?? LAST
      const sending = inFlight(organizationId, filters, position, count, at)
      return list(organizationId, filters, position, count, sending)
    },

    lockRetries: (organizationId, deliveryId) => advisoryLock(sql, `webhook-retry/${organizationId}/${deliveryId}`),

    lockPending: (organizationId, deliveryId, at) => lockPending(organizationId, deliveryId, at, sql`AND ${isPending}`),

    makeDue: (organizationId, deliveryId, at) =>
      executed(sql`
        UPDATE webhook_queue SET due_at = least(due_at, ${at}::timestamptz)
        WHERE organization_id = ${organizationId} AND id = ${deliveryId}`),

    findLastAttempt: (organizationId, deliveryId) =>
      decodedOne(LastAttempt)(sql`
        SELECT attempt, endpoint_id AS "endpointId", event_id AS "eventId", event_name AS "eventName", state
        FROM webhook_attempts WHERE organization_id = ${organizationId} AND delivery_id = ${deliveryId}
        ORDER BY attempt DESC, "timestamp" DESC LIMIT 1`),
  } satisfies HistoryQueries
})

/** Attempts of the delivery history. */
export class HistoryRepo extends Context.Service<HistoryRepo, HistoryQueries>()("keyshelf/webhooks/history/Repo") {
  static readonly layer = Layer.effect(HistoryRepo, make)
}
