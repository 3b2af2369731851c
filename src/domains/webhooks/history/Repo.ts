/** SQL of the delivery history: ended attempts, and attempts in flight, which are rows of the queue. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option } from "effect"
import type { Fragment } from "effect/sql/Statement"
import { isEventName } from "../../../kernel/contract/Event.ts"
import type { Position } from "../../../kernel/contract/Page.ts"
import { advisoryLock, column, hasCitus, record, records, returnedRow } from "../../../kernel/database/Statements.ts"
import type { AttemptState, HistoryFilters, WebhookAttempt } from "../Model.ts"
import { TEST_EVENT } from "../Model.ts"
import type { FoundEvent } from "../Payload.ts"

/** An attempt, with its event to rebuild the request body. The event is `null` if it is no longer stored. */
export type AttemptEntry = Omit<WebhookAttempt, "requestBody"> &
  Omit<FoundEvent, "type"> & { readonly eventType: string | null }

/** The properties of a last attempt on which a retry depends. */
type LastAttempt = Pick<WebhookAttempt, "attempt" | "endpointId" | "eventId" | "eventName" | "state">

/** The pending attempt of a delivery. */
interface PendingAttempt {
  readonly endpointId: string
  readonly eventId: string
  readonly isSending: boolean
}

/** States as literals: PostgreSQL uses the partial index of failures only if the statement contains the state. */
const literals: Readonly<Record<AttemptState, string>> = {
  Sending: "'Sending'",
  Success: "'Success'",
  Failure: "'Failure'",
  Failed: "'Failed'",
}

/** An attempt in flight, as the queue has it. */
interface Sending {
  readonly id: string
  readonly deliveryId: string
  readonly eventId: string
  readonly eventName: string
  readonly endpointId: string
  readonly attempt: number
  readonly timestamp: Date
}

/** Before the first page. */
const LAST: Position = ["infinity", "ffffffff-ffff-ffff-ffff-ffffffffffff"]

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const isSharded = yield* hasCitus(sql)
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

  const ended = (organizationId: string, filters: HistoryFilters, [timestamp, id]: Position, count: number) => {
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
    organizationId: string,
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
    organizationId: string,
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

  /**
   * Reads the attempts in flight on Citus. The queue is on the coordinator, the history in a shard, so there are two statements. An
   * organization has no more attempts in flight than its limit.
   */
  const findSending = (organizationId: string, filters: HistoryFilters, position: Position, at: Date) =>
    records<Sending>()(sql`
      SELECT lease AS id, id AS "deliveryId", event_id AS "eventId", event_name AS "eventName", endpoint_id AS "endpointId",
        attempt, claimed_at AS "timestamp"
      FROM webhook_queue WHERE ${sql.and(sendingOf(organizationId, filters, position, at))}
      ORDER BY claimed_at DESC, lease DESC`)

  /** The rows of {@link inFlight} from those of {@link findSending}. An attempt that ended in between is in the history already. */
  const stillSending = (organizationId: string, rows: ReadonlyArray<Sending>, count: number) => sql`
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

  const attempts = (
    organizationId: string,
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

  return {
    /**
     * Plans {@link list} for its values until the transaction ends. With an endpoint and an event name, either index
     * can be much better, and a generic plan always takes the endpoint's.
     */
    planByValues: Effect.asVoid(Effect.orDie(sql`SELECT set_config('plan_cache_mode', 'force_custom_plan', true)`)),

    /**
     * Lists attempts, newest first. `at` decides which leases are valid. The event of each item is looked up by itself,
     * because a join could read whole tables when PostgreSQL overestimates the page.
     */
    list: Effect.fnUntraced(function* (
      organizationId: string,
      filters: HistoryFilters,
      after: Position | null,
      count: number,
      at: Date,
    ) {
      const position = after ?? LAST
      const sending =
        isSharded && (filters.state ?? "Sending") === "Sending"
          ? stillSending(organizationId, yield* findSending(organizationId, filters, position, at), count)
          : inFlight(organizationId, filters, position, count, at)
      const rows = yield* records<AttemptEntry>()(sql`
        SELECT page.*, events.type AS "eventType", events.occurred_at AS "occurredAt", events.actor, events.data::text AS data,
          events.previous::text AS previous
        FROM ${attempts(organizationId, filters, position, count, sending)} AS page
        LEFT JOIN LATERAL (
          SELECT type, occurred_at, actor, data, previous FROM events
          WHERE organization_id = ${organizationId} AND id = page."eventId" LIMIT 1) AS events ON true
        ORDER BY page."timestamp" DESC, page.id DESC`)
      return rows.slice(0, count)
    }),

    /** Serializes retries of one delivery until the transaction ends. */
    lockRetries: (organizationId: string, deliveryId: string) =>
      advisoryLock(sql, `webhook-retry/${organizationId}/${deliveryId}`),

    /** Locks the delivery's pending attempt, if it has one. Returns whether it is being sent at this time. */
    lockPending: (organizationId: string, deliveryId: string, at: Date) => {
      const lock = (condition: Fragment) =>
        record<PendingAttempt & { readonly eventName: string }>()(sql`
          SELECT endpoint_id AS "endpointId", event_id AS "eventId", event_name AS "eventName",
            lease IS NOT NULL AND due_at > ${at} AS "isSending"
          FROM webhook_queue
          WHERE organization_id = ${organizationId} AND id = ${deliveryId} ${condition} FOR UPDATE`)
      if (!isSharded) return lock(sql`AND ${isPending}`)
      return Effect.flatMap(lock(sql``), (pending) =>
        Option.isNone(pending)
          ? Effect.succeed(pending)
          : Effect.map(
              returnedRow(sql`
                SELECT 1 FROM webhook_endpoints
                WHERE organization_id = ${organizationId} AND id = ${pending.value.endpointId}
                  AND (disabled_at IS NULL OR ${pending.value.eventName} = ${TEST_EVENT}::text)`),
              (isKept) => Option.filter(pending, () => isKept),
            ),
      )
    },

    /** Makes a pending attempt due, unless it is due earlier. */
    makeDue: (organizationId: string, deliveryId: string, at: Date) =>
      Effect.asVoid(
        Effect.orDie(sql`
          UPDATE webhook_queue SET due_at = least(due_at, ${at}::timestamptz)
          WHERE organization_id = ${organizationId} AND id = ${deliveryId}`),
      ),

    /** Finds the last ended attempt of a delivery. */
    findLastAttempt: (organizationId: string, deliveryId: string) =>
      record<LastAttempt>()(sql`
        SELECT attempt, endpoint_id AS "endpointId", event_id AS "eventId", event_name AS "eventName", state
        FROM webhook_attempts WHERE organization_id = ${organizationId} AND delivery_id = ${deliveryId}
        ORDER BY attempt DESC, "timestamp" DESC LIMIT 1`),
  }
})

/** Attempts of the delivery history. */
export class HistoryRepo extends Context.Service<HistoryRepo, Effect.Success<typeof make>>()(
  "keyshelf/webhooks/history/Repo",
) {
  static readonly layer = Layer.effect(HistoryRepo, make)
}
