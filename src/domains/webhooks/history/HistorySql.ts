/** SQL of pages of the delivery history, and of pending attempts. */
import type { PgClient } from "@effect/sql-pg"
import { Effect, Schema } from "effect"
import type { Fragment } from "effect/sql/Statement"
import { isEventName } from "../../../kernel/contract/Event.ts"
import type { Position } from "../../../kernel/contract/Page.ts"
import { decodedOne, records } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { eventContent } from "../../events/EventsSql.ts"
import type { AttemptState, HistoryFilters, WebhookAttempt } from "../Model.ts"
import { TEST_EVENT } from "../Model.ts"
import type { FoundEvent } from "../Payload.ts"

/** An attempt, with its event to rebuild the request body. The event is `null` if it is no longer stored. */
export type AttemptEntry = Omit<WebhookAttempt, "requestBody"> &
  Omit<FoundEvent, "type"> & { readonly eventType: string | null }

/** The pending attempt of a delivery. */
const PendingAttempt = Schema.Struct({
  endpointId: Schema.String,
  eventId: Schema.String,
  eventName: Schema.String,
  isSending: Schema.Boolean,
})
export type PendingAttempt = typeof PendingAttempt.Type

/** States as literals: PostgreSQL uses the partial index of failures only if the statement contains the state. */
const literals: Readonly<Record<AttemptState, string>> = {
  Sending: "'Sending'",
  Success: "'Success'",
  Failure: "'Failure'",
  Failed: "'Failed'",
}

/** Before the first page. */
export const LAST: Position = ["infinity", "ffffffff-ffff-ffff-ffff-ffffffffffff"]

export const historySql = (sql: PgClient.PgClient) => {
  const newestFirst = sql.literal(`ORDER BY "timestamp" DESC, id DESC`)

  // The backlog of an ended endpoint is about to be deleted. Test events are delivered to disabled endpoints too.
  const isPending = sql.literal(`EXISTS (
      SELECT 1 FROM webhook_endpoints endpoint
      WHERE endpoint.organization_id = webhook_queue.organization_id AND endpoint.id = webhook_queue.endpoint_id
        AND (endpoint.disabled_at IS NULL OR webhook_queue.event_name = '${TEST_EVENT}'))`)

  // Planning over all partitions costs more than reading a page, so each combination of filters has one generic plan.
  // That needs a literal limit; there are two.
  const limit = (count: number) => sql.literal(count <= 51 ? "51" : "201")

  // With a state, the frequency of the event name decides which index is better, so the plan must know the name.
  const matching = ({ endpoint, event, state }: HistoryFilters): ReadonlyArray<Fragment> => [
    ...(endpoint === undefined ? [] : [sql`endpoint_id = ${endpoint}`]),
    ...(event === undefined
      ? []
      : isEventName(event)
        ? [sql`event_name = ${endpoint === undefined && state !== undefined ? sql.literal(`'${event}'`) : event}`]
        : [sql`event_id = ${event}`]),
  ]

  /** The conditions of a time range on the column with the time of the attempt. */
  const during = (column: string, { since, until }: HistoryFilters): ReadonlyArray<Fragment> => [
    ...(since === undefined ? [] : [sql`${sql.literal(column)} >= ${since}::timestamptz`]),
    ...(until === undefined ? [] : [sql`${sql.literal(column)} < ${until}::timestamptz`]),
  ]

  const ended = (organizationId: OrganizationId, filters: HistoryFilters, [timestamp, id]: Position, count: number) => {
    // The inner query reads keys from an index, the outer one looks up each attempt. The costs of a generic plan then
    // equal those of one for these values, so PostgreSQL keeps the generic plan.
    return sql`
      (SELECT id, delivery_id AS "deliveryId", event_id AS "eventId", event_name AS "eventName",
        endpoint_id AS "endpointId", endpoint_url AS "endpointUrl", attempt, state, status_code AS "statusCode",
        response_body AS "responseBody", error, duration_ms AS "durationMs", next_attempt_at AS "nextAttemptAt",
        "timestamp"
      FROM (
        SELECT "timestamp" AS key_timestamp, id AS key_id FROM webhook_attempts WHERE ${sql.and([
          sql`organization_id = ${organizationId}`,
          // Implied by the next condition, but excludes the partitions of later days.
          sql`"timestamp" <= ${timestamp}::timestamptz`,
          sql`("timestamp", id) < (${timestamp}::timestamptz, ${id}::uuid)`,
          ...matching(filters),
          ...during(`"timestamp"`, filters),
          ...(filters.statusCode === undefined ? [] : [sql`status_code = ${filters.statusCode}`]),
          ...(filters.state === undefined ? [] : [sql`state = ${sql.literal(literals[filters.state])}`]),
        ])} ${newestFirst} LIMIT ${limit(count)}
      ) AS key
      CROSS JOIN LATERAL (
        SELECT * FROM webhook_attempts
        WHERE organization_id = ${organizationId} AND "timestamp" = key_timestamp AND id = key_id LIMIT 1) AS attempt)`
  }

  /** The conditions of attempts in flight on rows of the queue. */
  const sendingOf = (
    organizationId: OrganizationId,
    filters: HistoryFilters,
    [timestamp, id]: Position,
    at: Date,
  ): ReadonlyArray<Fragment> => [
    sql`organization_id = ${organizationId}`,
    sql`lease IS NOT NULL`,
    sql`due_at > ${at}`,
    sql`(claimed_at, lease) < (${timestamp}::timestamptz, ${id}::uuid)`,
    ...matching(filters),
    ...during("claimed_at", filters),
    // An attempt in flight has no status yet.
    ...(filters.statusCode === undefined ? [] : [sql`false`]),
  ]

  // The lease becomes the id of the attempt in the history.
  const inFlight = (
    organizationId: OrganizationId,
    filters: HistoryFilters,
    position: Position,
    count: number,
    at: Date,
  ) => sql`
    (SELECT lease AS id, id AS "deliveryId", event_id AS "eventId", event_name AS "eventName",
      endpoint_id AS "endpointId", (SELECT url FROM webhook_endpoints
        WHERE organization_id = webhook_queue.organization_id AND id = webhook_queue.endpoint_id) AS "endpointUrl",
      attempt, 'Sending' AS state, NULL::smallint AS "statusCode", NULL::text AS "responseBody", NULL::text AS error,
      NULL::integer AS "durationMs", NULL::timestamptz AS "nextAttemptAt", claimed_at AS "timestamp"
    FROM webhook_queue WHERE ${sql.and([
      ...sendingOf(organizationId, filters, position, at),
      isPending,
    ])} ORDER BY claimed_at DESC, lease DESC LIMIT ${limit(count)})`

  const attempts = (
    organizationId: OrganizationId,
    filters: HistoryFilters,
    position: Position,
    count: number,
    sending: Fragment,
  ): Fragment => {
    if (filters.state === "Sending") return sending
    if (filters.state !== undefined) return ended(organizationId, filters, position, count)
    // One statement, so that an attempt that ends meanwhile is listed once.
    return sql`(${ended(organizationId, filters, position, count)} UNION ALL
      ${sending} ${newestFirst} LIMIT ${limit(count)})`
  }

  /**
   * Reads a page, in which `sending` selects the attempts in flight. Each event is looked up by itself, because a join could read whole
   * tables when PostgreSQL overestimates the page.
   */
  const list = (
    organizationId: OrganizationId,
    filters: HistoryFilters,
    position: Position,
    count: number,
    sending: Fragment,
  ) =>
    Effect.map(
      records<AttemptEntry>()(sql`
        SELECT page.*, events.type AS "eventType", events.occurred_at AS "occurredAt", events.actor, events.data::text AS data,
          events.previous::text AS previous
        FROM ${attempts(organizationId, filters, position, count, sending)} AS page
        LEFT JOIN LATERAL (${eventContent(sql, sql`${organizationId}`, `page."eventId"`)} LIMIT 1) AS events ON true
        ORDER BY page."timestamp" DESC, page.id DESC`),
      (rows) => rows.slice(0, count),
    )

  /** Locks the pending attempt of a delivery, if it meets a condition. */
  const lockPending = (organizationId: OrganizationId, deliveryId: string, at: Date, condition: Fragment) =>
    decodedOne(PendingAttempt)(sql`
      SELECT endpoint_id AS "endpointId", event_id AS "eventId", event_name AS "eventName",
        lease IS NOT NULL AND due_at > ${at} AS "isSending"
      FROM webhook_queue
      WHERE organization_id = ${organizationId} AND id = ${deliveryId} ${condition} FOR UPDATE`)

  return { limit, sendingOf, inFlight, isPending, list, lockPending }
}
