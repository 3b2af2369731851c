/** SQL of the delivery history: attempts that ended, and those in flight, which stand in the queue. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import type { Fragment } from "effect/sql/Statement"
import type { ActorReference } from "../../../kernel/contract/Caller.ts"
import { EventName } from "../../../kernel/contract/Event.ts"
import type { Position } from "../../../kernel/contract/Page.ts"
import { eventRecords, lockName, record, touched } from "../../../kernel/database/Statements.ts"
import type { AttemptState, HistoryFilters, WebhookAttempt } from "../Model.ts"
import { TEST_EVENT } from "../Model.ts"

/** An attempt and what its event is rebuilt from; without `actor` the event is no longer kept. */
export type AttemptEntry = Omit<WebhookAttempt, "requestBody"> & {
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

const isEventName = Schema.is(EventName)

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const newestFirst = sql.literal(`ORDER BY "timestamp" DESC, id DESC`)

  // What an ended endpoint is owed is about to be dropped; tests go to a disabled one too.
  const notEnded = sql.literal(`EXISTS (
      SELECT 1 FROM webhook_endpoints endpoint
      WHERE endpoint.organization_id = webhook_queue.organization_id AND endpoint.id = webhook_queue.endpoint_id
        AND (endpoint.disabled_at IS NULL OR webhook_queue.event_name = '${TEST_EVENT}'))`)

  // One plan serves every page of a combination of filters, so it is kept: over all partitions a new one costs more than the
  // page. For that the limit stands in the statement, in two sizes.
  const atMost = (count: number) => sql.literal(count <= 51 ? "51" : "201")

  // Beside a state, a rare name decides which index is the narrow one, so the plan must know it.
  const matching = ({ endpoint, event, state }: HistoryFilters): ReadonlyArray<Fragment> => [
    ...(endpoint === undefined ? [] : [sql`endpoint_id = ${endpoint}`]),
    ...(event === undefined
      ? []
      : isEventName(event)
        ? [sql`event_name = ${endpoint === undefined && state !== undefined ? sql.literal(`'${event}'`) : event}`]
        : [sql`event_id = ${event}`]),
  ]

  const ended = (organizationId: string, filters: HistoryFilters, [timestamp, id]: Position, count: number) => {
    // First found in the index alone, then looked up one by one: few of very many may be meant, and a plan for all values looks
    // no dearer than one for these, so it is kept.
    return sql`
      (SELECT id, delivery_id AS "deliveryId", event_id AS "eventId", event_name AS "eventName",
        endpoint_id AS "endpointId", endpoint_url AS "endpointUrl", attempt, state, status_code AS "statusCode",
        response_body AS "responseBody", error, duration_ms AS "durationMs", next_attempt_at AS "nextAttemptAt",
        "timestamp"
      FROM (
        SELECT "timestamp" AS key_timestamp, id AS key_id FROM webhook_attempts WHERE ${sql.and([
          sql`organization_id = ${organizationId}`,
          // Says no more than the line below it, but spares the partitions of later days.
          sql`"timestamp" <= ${timestamp}::timestamptz`,
          sql`("timestamp", id) < (${timestamp}::timestamptz, ${id}::uuid)`,
          ...matching(filters),
          ...(filters.state === undefined ? [] : [sql`state = ${sql.literal(literals[filters.state])}`]),
        ])} ${newestFirst} LIMIT ${atMost(count)}
      ) AS key
      CROSS JOIN LATERAL (
        SELECT * FROM webhook_attempts
        WHERE organization_id = ${organizationId} AND "timestamp" = key_timestamp AND id = key_id LIMIT 1) AS attempt)`
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
    ])} ORDER BY claimed_at DESC, lease DESC LIMIT ${atMost(count)})`

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
      ${inFlight(organizationId, filters, position, count, at)} ${newestFirst} LIMIT ${atMost(count)})`
  }

  return {
    /**
     * Lets {@link list} be planned for its very values until the transaction ends. Of an endpoint and a name, either may be the
     * narrow one by far, and a plan for all values takes the endpoint for it.
     */
    planByValues: Effect.asVoid(Effect.orDie(sql`SELECT set_config('plan_cache_mode', 'force_custom_plan', true)`)),

    /**
     * Attempts newest first. `at` decides which leases still run. What belongs to the items of a page is looked up for each:
     * joined, whole tables were read when the planner took a page for longer than it is.
     */
    list: (organizationId: string, filters: HistoryFilters, after: Position | null, count: number, at: Date) =>
      Effect.map(
        eventRecords<AttemptEntry>()(sql`
        SELECT page.*, events.type AS "eventType", events.occurred_at AS "occurredAt", events.actor, events.data::text AS data
        FROM ${attempts(organizationId, filters, after ?? ["infinity", "ffffffff-ffff-ffff-ffff-ffffffffffff"], count, at)}
          AS page
        LEFT JOIN LATERAL (
          SELECT type, occurred_at, actor, data FROM events
          WHERE organization_id = ${organizationId} AND id = page."eventId" LIMIT 1) AS events ON true
        ORDER BY page."timestamp" DESC, page.id DESC`),
        (rows) => rows.slice(0, count),
      ),

    /** Lets retries of one delivery follow each other until the transaction ends. */
    lockRetries: (organizationId: string, deliveryId: string) =>
      lockName(sql, `webhook-retry/${organizationId}/${deliveryId}`),

    /** Whether an attempt is still to come. */
    isPending: (organizationId: string, deliveryId: string) =>
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
