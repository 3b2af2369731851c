/** SQL of the delivery history: attempts that ended, and those in flight, which stand in the queue. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import type { Fragment } from "effect/sql/Statement"
import type { ActorReference } from "../kernel/Caller.ts"
import { Uuid } from "../kernel/Identifiers.ts"
import type { Position } from "../kernel/Page.ts"
import { lockName, record, records, touched } from "../kernel/Sql.ts"
import type { AttemptState, HistoryFilters, WebhookAttempt } from "./Model.ts"
import { TEST_EVENT } from "./Rules.ts"

/** An attempt and what its event is rebuilt from; without `actor` the event is no longer kept. */
export type AttemptRow = Omit<WebhookAttempt, "requestBody"> & {
  readonly eventType: string
  readonly occurredAt: Date | null
  readonly actor: ActorReference | null
  readonly data: Record<string, unknown> | null
}

/** The last attempt of a delivery, as far as another one depends on it. */
export type LastAttempt = Pick<WebhookAttempt, "attempt" | "endpointId" | "eventId" | "eventName" | "state">

/** A partial index serves the failures, which the planner finds only by a state that stands in the statement. */
const literals: Readonly<Record<AttemptState, string>> = {
  Sending: "'Sending'",
  Success: "'Success'",
  Failure: "'Failure'",
  Failed: "'Failed'",
}

const isEventId = Schema.is(Uuid)

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const newestFirst = sql.literal(`ORDER BY "timestamp" DESC, id DESC`)

  // What an ended endpoint is owed is about to be dropped; tests go to a disabled one too.
  const notEnded = sql.literal(`EXISTS (
      SELECT 1 FROM webhook_endpoints endpoint
      WHERE endpoint.organization_id = webhook_queue.organization_id AND endpoint.id = webhook_queue.endpoint_id
        AND (endpoint.disabled_at IS NULL OR webhook_queue.event_name = '${TEST_EVENT}'))`)

  // Under one filter the plan is always the same, so the limit stands in the statement, in two sizes: with a parameter there,
  // each page would be planned anew over all partitions. Under several the values decide which index is the narrow one.
  const atMost = (filters: HistoryFilters, count: number) =>
    Object.keys(filters).length > 1 ? sql`${count}` : sql.literal(count <= 51 ? "51" : "201")

  const matching = ({ endpoint, event }: HistoryFilters): ReadonlyArray<Fragment> => [
    ...(endpoint === undefined ? [] : [sql`endpoint_id = ${endpoint}`]),
    ...(event === undefined ? [] : [isEventId(event) ? sql`event_id = ${event}` : sql`event_name = ${event}`]),
  ]

  const ended = (organizationId: string, filters: HistoryFilters, [timestamp, id]: Position, count: number) => {
    const asked = sql`${sql.and([
      sql`organization_id = ${organizationId}`,
      // Says no more than the line below it, but spares the partitions of later days.
      sql`"timestamp" <= ${timestamp}::timestamptz`,
      sql`("timestamp", id) < (${timestamp}::timestamptz, ${id}::uuid)`,
      ...matching(filters),
      ...(filters.state === undefined ? [] : [sql`state = ${sql.literal(literals[filters.state])}`]),
    ])} ${newestFirst} LIMIT ${atMost(filters, count)}`
    // One endpoint's attempts under another filter: first found in the index alone, since few of very many may be meant.
    const found =
      filters.endpoint !== undefined && Object.keys(filters).length > 1
        ? sql`organization_id = ${organizationId} AND ("timestamp", id) IN (
            SELECT "timestamp", id FROM webhook_attempts WHERE ${asked}) ${newestFirst}`
        : asked
    return sql`
      (SELECT id, delivery_id AS "deliveryId", event_id AS "eventId", event_name AS "eventName",
        endpoint_id AS "endpointId", endpoint_url AS "endpointUrl", attempt, state, status_code AS "statusCode",
        response_body AS "responseBody", error, duration_ms AS "durationMs", next_attempt_at AS "nextAttemptAt",
        "timestamp"
      FROM webhook_attempts WHERE ${found})`
  }

  // The lease is the id that the attempt will have in the history.
  const inFlight = (
    organizationId: string,
    filters: HistoryFilters,
    [timestamp, id]: Position,
    count: number,
    at: Date,
  ) => sql`
    (SELECT lease AS id, id AS "deliveryId", event_id AS "eventId", event_name AS "eventName",
      endpoint_id AS "endpointId", (SELECT url FROM webhook_endpoints
        WHERE organization_id = webhook_queue.organization_id AND id = webhook_queue.endpoint_id) AS "endpointUrl",
      attempt, 'Sending' AS state, NULL::smallint AS "statusCode", NULL::text AS "responseBody", NULL::text AS error,
      NULL::integer AS "durationMs", NULL::timestamptz AS "nextAttemptAt", claimed_at AS "timestamp"
    FROM webhook_queue WHERE ${sql.and([
      sql`organization_id = ${organizationId}`,
      sql`lease IS NOT NULL`,
      sql`due_at > ${at}`,
      notEnded,
      sql`(claimed_at, lease) < (${timestamp}::timestamptz, ${id}::uuid)`,
      ...matching(filters),
    ])} ORDER BY claimed_at DESC, lease DESC LIMIT ${atMost(filters, count)})`

  const attempts = (
    organizationId: string,
    filters: HistoryFilters,
    position: Position,
    count: number,
    at: Date,
  ): Fragment => {
    if (filters.state === "Sending") return inFlight(organizationId, filters, position, count, at)
    if (filters.state !== undefined) return ended(organizationId, filters, position, count)
    // In one statement: an attempt that ends meanwhile is seen once.
    return sql`(${ended(organizationId, filters, position, count)} UNION ALL
      ${inFlight(organizationId, filters, position, count, at)} ${newestFirst} LIMIT ${atMost(filters, count)})`
  }

  return {
    /** Attempts newest first. `at` decides which leases still run. */
    list: (organizationId: string, filters: HistoryFilters, after: Position | null, count: number, at: Date) =>
      Effect.map(
        records<AttemptRow>()(sql`
        SELECT page.*, events.type AS "eventType", events.occurred_at AS "occurredAt", events.actor, events.data
        FROM ${attempts(organizationId, filters, after ?? ["infinity", "ffffffff-ffff-ffff-ffff-ffffffffffff"], count, at)}
          AS page
        LEFT JOIN events ON events.organization_id = ${organizationId} AND events.id = page."eventId"
        ORDER BY page."timestamp" DESC, page.id DESC`),
        (rows) => rows.slice(0, count),
      ),

    /** Lets retries of one delivery follow each other until the transaction ends. */
    lockRetries: (organizationId: string, deliveryId: string) =>
      lockName(sql, `webhook-retry/${organizationId}/${deliveryId}`),

    /** Whether an attempt is still to come. */
    isOwed: (organizationId: string, deliveryId: string) =>
      touched(sql`
        SELECT 1 FROM webhook_queue
        WHERE organization_id = ${organizationId} AND id = ${deliveryId} AND ${notEnded}`),

    findLast: (organizationId: string, deliveryId: string) =>
      record<LastAttempt>()(sql`
        SELECT attempt, endpoint_id AS "endpointId", event_id AS "eventId", event_name AS "eventName", state
        FROM webhook_attempts WHERE organization_id = ${organizationId} AND delivery_id = ${deliveryId}
        ORDER BY attempt DESC, "timestamp" DESC LIMIT 1`),
  }
})

/** Rows of the delivery history. */
export class HistoryRepo extends Context.Service<HistoryRepo, Effect.Success<typeof make>>()(
  "keyshelf/webhooks/HistoryRepo",
) {
  static readonly layer = Layer.effect(HistoryRepo, make)
}
