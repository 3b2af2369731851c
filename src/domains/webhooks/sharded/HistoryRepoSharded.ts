/**
 * {@link HistoryRepo} on Citus, where the queue is on the coordinator, and the history in a shard. So attempts in flight are read by a
 * statement of their own. An organization has no more of them than its limit.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Option, Schema } from "effect"
import { column, decoded, returnedRow } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { historySql, LAST } from "../history/HistorySql.ts"
import { HistoryRepo } from "../history/Repo.ts"
import { TEST_EVENT } from "../Model.ts"

/** An attempt in flight, as the queue has it. */
const Sending = Schema.Struct({
  id: Schema.String,
  deliveryId: Schema.String,
  eventId: Schema.String,
  eventName: Schema.String,
  endpointId: Schema.String,
  attempt: Schema.Int,
  timestamp: Schema.Date,
})
type Sending = typeof Sending.Type

export const layer = Layer.effect(
  HistoryRepo,
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const repo = yield* HistoryRepo
    const { limit, list, lockPending, sendingOf } = historySql(sql)

    /** The rows of attempts in flight. One that ended since they were read is in the history already. */
    const stillSending = (organizationId: OrganizationId, rows: ReadonlyArray<Sending>, count: number) => sql`
      (SELECT sending.id, sending."deliveryId", sending."eventId", sending."eventName", sending."endpointId",
        endpoint.url AS "endpointUrl", sending.attempt, 'Sending' AS state, NULL::smallint AS "statusCode",
        NULL::text AS "responseBody", NULL::text AS error, NULL::integer AS "durationMs", NULL::timestamptz AS "nextAttemptAt",
        sending."timestamp"
      FROM unnest(
        (SELECT ${column("uuid", rows, ({ id }) => id)}),
        ${column("uuid", rows, ({ deliveryId }) => deliveryId)},
        ${column("uuid", rows, ({ eventId }) => eventId)},
        ${column("text", rows, ({ eventName }) => eventName)},
        ${column("uuid", rows, ({ endpointId }) => endpointId)},
        ${column("int2", rows, ({ attempt }) => attempt)},
        ${column("timestamptz", rows, ({ timestamp }) => timestamp)}
      ) AS sending (id, "deliveryId", "eventId", "eventName", "endpointId", attempt, "timestamp")
      JOIN webhook_endpoints endpoint ON endpoint.organization_id = ${organizationId} AND endpoint.id = sending."endpointId"
      WHERE (endpoint.disabled_at IS NULL OR sending."eventName" = ${TEST_EVENT}) AND NOT EXISTS (
        SELECT 1 FROM webhook_attempts recorded
        WHERE recorded.organization_id = ${organizationId} AND recorded.delivery_id = sending."deliveryId"
          AND recorded.id = sending.id)
      ORDER BY sending."timestamp" DESC, sending.id DESC LIMIT ${limit(count)})`

    return HistoryRepo.of({
      ...repo,
      list: Effect.fnUntraced(function* (organizationId, filters, after, count, at) {
        if (filters.state !== undefined && filters.state !== "Sending")
          return yield* repo.list(organizationId, filters, after, count, at)
        const position = after ?? LAST
        const sending = yield* decoded(Sending)(sql`
          SELECT lease AS id, id AS "deliveryId", event_id AS "eventId", event_name AS "eventName",
            endpoint_id AS "endpointId", attempt, claimed_at AS "timestamp"
          FROM webhook_queue WHERE ${sql.and(sendingOf(organizationId, filters, position, at))}
          ORDER BY claimed_at DESC, lease DESC`)
        return yield* list(organizationId, filters, position, count, stillSending(organizationId, sending, count))
      }),
      lockPending: Effect.fnUntraced(function* (organizationId, deliveryId, at) {
        const pending = yield* lockPending(organizationId, deliveryId, at, sql``)
        if (Option.isNone(pending)) return pending
        const isKept = yield* returnedRow(sql`
          SELECT 1 FROM webhook_endpoints
          WHERE organization_id = ${organizationId} AND id = ${pending.value.endpointId}
            AND (disabled_at IS NULL OR ${pending.value.eventName} = ${TEST_EVENT}::text)`)
        return Option.filter(pending, () => isKept)
      }),
    })
  }),
).pipe(Layer.provide(HistoryRepo.layer))
