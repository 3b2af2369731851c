/** An organization with webhook endpoints. Deliveries are inserted by SQL, and nothing is sent. */
import { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { TestService } from "../support/TestService.ts"
import type { HttpResponse } from "../support/TestService.ts"

const bodyOf = (answer: HttpResponse) =>
  answer.status < 300 ? Effect.succeed(answer.body) : Effect.die(new Error(`${answer.status} ${answer.text}`))

/** The status, code and error locations of a rejection. */
export const rejectionOf = ({ body, status }: HttpResponse) => ({
  status,
  code: body.code,
  places: body.errors.map(({ location }: { location: string }) => location),
})

/** An attempt of the history. By default it is the successful first attempt of a new delivery. */
export interface StoredAttempt {
  readonly endpointId: string
  readonly timestamp: string
  readonly id?: string
  readonly deliveryId?: string
  readonly eventId?: string
  readonly eventName?: string
  readonly attempt?: number
  readonly state?: "Success" | "Failure" | "Failed"
  readonly error?: string | null
  readonly nextAttemptAt?: string | null
}

/** A delivery of the queue. */
interface PendingDelivery {
  readonly endpointId: string
  readonly deliveryId: string
  readonly attempt: number
  readonly eventId?: string
  readonly eventName?: string
  /** When its lease expires, if it is in flight. */
  readonly leasedUntil?: Date
  readonly lease?: string
  readonly claimedAt?: Date
}

export const openWebhookFixture = Effect.gen(function* () {
  const service = yield* TestService
  const sql = yield* PgClient.PgClient
  const tenant = yield* service.tenant()
  const { organizationId } = tenant

  const call = (method: string, path: string, body?: unknown) =>
    service.core(method, path, { token: tenant.token, ...(body === undefined ? {} : { body }) })

  return {
    service,
    sql,
    tenant,
    call,

    createEndpoint: (more: object = {}) =>
      Effect.flatMap(
        call("POST", "/webhooks", { url: "https://example.com/events", eventNames: ["*"], ...more }),
        bodyOf,
      ),

    /** The organization's webhook events with their data, oldest first. */
    events: Effect.map(call("GET", "/events"), ({ body }) =>
      body.items
        .filter(({ type }: { type: string }) => type.startsWith("WEBHOOK_"))
        .map(({ data, type }: { data: unknown; type: string }) => [type, data]),
    ),

    /** Creates the history's partitions of these days, such as `2026-01-31`. */
    createPartitions: (...days: ReadonlyArray<string>) =>
      Effect.forEach(days, (day) => {
        const next = new Date(Date.parse(day) + DAY_MS).toISOString()
        return sql.unsafe(
          `CREATE TABLE IF NOT EXISTS webhook_attempts_${day.replaceAll("-", "")} PARTITION OF webhook_attempts
             FOR VALUES FROM ('${day}T00:00:00Z') TO ('${next}')`,
        )
      }),

    insertAttempts: (rows: ReadonlyArray<StoredAttempt>) =>
      sql`INSERT INTO webhook_attempts
        SELECT ${organizationId}, "timestamp", id, "deliveryId", "eventId", "eventName", "endpointId",
          'https://example.com/events', attempt, state, CASE state WHEN 'Success' THEN 200 ELSE 500 END, 'answered',
          error, 12, "nextAttemptAt"
        FROM jsonb_to_recordset(${sql.json(
          rows.map((row) => ({
            id: randomUUID(),
            deliveryId: randomUUID(),
            eventId: randomUUID(),
            eventName: "CUSTOMER_CREATION",
            attempt: 1,
            state: "Success",
            ...row,
          })),
        )}) AS stored ("timestamp" timestamptz, id uuid, "deliveryId" uuid, "eventId" uuid, "eventName" text,
          "endpointId" uuid, attempt smallint, state text, error text, "nextAttemptAt" timestamptz)`,

    enqueue: (row: PendingDelivery) =>
      sql`INSERT INTO webhook_queue (organization_id, id, endpoint_id, event_id, event_name, attempt, due_at, lease,
          claimed_at)
        VALUES (${organizationId}, ${row.deliveryId}, ${row.endpointId}, ${row.eventId ?? randomUUID()},
          ${row.eventName ?? "CUSTOMER_CREATION"}, ${row.attempt}, ${row.leasedUntil ?? new Date()}, ${row.lease ?? null},
          ${row.claimedAt ?? null})`,

    queue: sql<{
      id: string
      endpointId: string
      eventId: string
      attempt: number
      lease: string | null
    }>`SELECT id, endpoint_id AS "endpointId", event_id AS "eventId", attempt, lease FROM webhook_queue
      WHERE organization_id = ${organizationId} ORDER BY id`,

    lanes: sql<{ endpointId: string; headDueAt: Date }>`
      SELECT endpoint_id AS "endpointId", head_due_at AS "headDueAt" FROM webhook_lanes
      WHERE organization_id = ${organizationId}`,

    disable: (endpointId: string) =>
      sql`UPDATE webhook_endpoints SET disabled_at = ${new Date("2026-01-06T00:00:00Z")}, disabled_reason = 'failed',
          failing_since = ${new Date("2026-01-01T00:00:00Z")}
        WHERE organization_id = ${organizationId} AND id = ${endpointId}`,
  }
})
