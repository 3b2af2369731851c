/** Parts of the statements that store outcomes of attempts. */
import { Schema } from "effect"
import type { PgClient } from "@effect/sql-pg"
import { column } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"

/** An ended attempt. Its state and next attempt are stored only if its lease was still valid. */
export interface AttemptRow {
  /** Where the delivery was when it was claimed. */
  readonly location: string
  readonly organizationId: OrganizationId
  readonly timestamp: Date
  readonly id: string
  readonly deliveryId: string
  readonly eventId: string
  readonly eventName: string
  readonly endpointId: string
  readonly endpointUrl: string
  readonly attempt: number
  readonly state: "Success" | "Failure" | "Failed"
  readonly statusCode: number | null
  readonly responseBody: string | null
  readonly error: string | null
  readonly durationMs: number
  readonly nextAttemptAt: Date | null
  /** Whether a request was sent. An unsent attempt whose lease was lost is not stored. */
  readonly wasSent: boolean
}

/** An endpoint after a group of outcomes. */
export interface EndpointHealth {
  readonly organizationId: OrganizationId
  readonly endpointId: string
  /** Whether one of the outcomes was a success. */
  readonly succeeded: boolean
  /** When the first failure after the last success ended; `null` if there is none. */
  readonly failingSince: Date | null
}

/** Builds the parts. */
export const outcomeSql = (sql: PgClient.PgClient) => {
  // The row of `queue` whose lease is the attempt of `made`. `IS NOT DISTINCT FROM` disables the index of leases: of a
  // table that was empty a moment ago, PostgreSQL would otherwise join all rows, or all leased rows, instead of one
  // look-up per attempt.
  const byKey = `queue.organization_id = made."organizationId" AND queue.id = made."deliveryId"
    AND queue.lease IS NOT DISTINCT FROM made.id`

  /**
   * How deliveries are found. While the statistics say that the queue is empty, PostgreSQL takes the primary key and the
   * index of due times to be equally good for one key. Under an old snapshot, the latter would read all dead entries of the
   * organization for each attempt. A claimed row is rarely changed before its attempt ends, so its location is tried
   * first. What is not there is found by key, or its lease was lost: only then an outcome without a row is stored.
   */
  const lookUps = {
    location: {
      isLeaseValid: sql.literal(`queue.ctid = made.location::tid AND ${byKey}`),
      isRecorded: sql.literal("settled.lease IS NOT NULL"),
    },
    key: {
      isLeaseValid: sql.literal(byKey),
      isRecorded: sql.literal(
        `settled.lease IS NOT NULL OR made."wasSent" AND made.id NOT IN (SELECT lease FROM locked)`,
      ),
    },
  } as const

  /** Ended attempts as the rows of `made`. */
  const made = (rows: ReadonlyArray<AttemptRow>) => sql`
    SELECT * FROM unnest(
      (SELECT ${column("uuid", rows, ({ organizationId }) => organizationId)}),
      ${column("timestamptz", rows, ({ timestamp }) => timestamp)},
      ${column("uuid", rows, ({ id }) => id)},
      ${column("uuid", rows, ({ deliveryId }) => deliveryId)},
      ${column("uuid", rows, ({ eventId }) => eventId)},
      ${column("text", rows, ({ eventName }) => eventName)},
      ${column("uuid", rows, ({ endpointId }) => endpointId)},
      ${column("text", rows, ({ endpointUrl }) => endpointUrl)},
      ${column("int2", rows, ({ attempt }) => attempt)},
      ${column("text", rows, ({ state }) => state)},
      ${column("int2", rows, ({ statusCode }) => statusCode)},
      ${column("text", rows, ({ responseBody }) => responseBody)},
      ${column("text", rows, ({ error }) => error)},
      ${column("int4", rows, ({ durationMs }) => durationMs)},
      ${column("timestamptz", rows, ({ nextAttemptAt }) => nextAttemptAt)},
      ${column("bool", rows, ({ wasSent }) => wasSent)},
      ${column("text", rows, ({ location }) => location)}
    ) AS made ("organizationId", "timestamp", id, "deliveryId", "eventId", "eventName", "endpointId", "endpointUrl",
      attempt, state, "statusCode", "responseBody", error, "durationMs", "nextAttemptAt", "wasSent", location)`

  const healthRows = (healths: ReadonlyArray<EndpointHealth>) => sql`
    unnest(
      (SELECT ${column("uuid", healths, ({ organizationId }) => organizationId)}),
      ${column("uuid", healths, ({ endpointId }) => endpointId)},
      ${column("bool", healths, ({ succeeded }) => succeeded)},
      ${column("timestamptz", healths, ({ failingSince }) => failingSince)}
    ) AS health ("organizationId", "endpointId", succeeded, "failingSince")`

  const isChanging = sql.literal(`CASE WHEN health.succeeded
    THEN endpoint.failing_since IS DISTINCT FROM health."failingSince" ELSE endpoint.failing_since IS NULL END`)

  const attemptColumns = sql.literal(`organization_id, "timestamp", id, delivery_id, event_id, event_name, endpoint_id,
    endpoint_url, attempt, state, status_code, response_body, error, duration_ms, next_attempt_at`)

  /** Deletes or reschedules the deliveries of `locked`, and lowers the heads of their lanes: a part of a statement with `made`. */
  const settlement = sql.literal(`ended AS (
      DELETE FROM webhook_queue
      WHERE ctid = ANY(ARRAY(SELECT location FROM locked WHERE "nextAttemptAt" IS NULL)) RETURNING lease
    ), rescheduled AS (
      UPDATE webhook_queue SET attempt = locked.attempt + 1, due_at = locked."nextAttemptAt", lease = NULL,
        claimed_at = NULL, claims = 0
      FROM locked
      WHERE webhook_queue.ctid = ANY(ARRAY(SELECT location FROM locked WHERE "nextAttemptAt" IS NOT NULL))
        AND webhook_queue.ctid = locked.location
      RETURNING locked.lease
    ), settled AS MATERIALIZED (
      SELECT lease FROM ended UNION ALL SELECT lease FROM rescheduled
    ), heads AS (
      INSERT INTO webhook_lanes AS lane (organization_id, endpoint_id, head_due_at, last_served_at)
      SELECT made."organizationId", made."endpointId", min(made."nextAttemptAt"), 'epoch'
      FROM made JOIN settled ON settled.lease = made.id
      WHERE made."nextAttemptAt" IS NOT NULL
      GROUP BY made."organizationId", made."endpointId" ORDER BY made."organizationId", made."endpointId"
      ON CONFLICT (organization_id, endpoint_id) DO UPDATE SET head_due_at = excluded.head_due_at
      WHERE lane.head_due_at > excluded.head_due_at`)

  /** Which leases were found ({@link FoundLease}). */
  const outcomes = sql.literal(`
    SELECT lease, true AS "isSettled" FROM settled
    UNION ALL SELECT lease, false FROM locked WHERE lease NOT IN (SELECT lease FROM settled)`)

  return { attemptColumns, healthRows, isChanging, lookUps, made, outcomes, settlement }
}

/** How deliveries are found. */
export type LookUp = keyof ReturnType<typeof outcomeSql>["lookUps"]

/** A lease whose delivery was found and locked. */
export const FoundLease = Schema.Struct({ lease: Schema.String, isSettled: Schema.Boolean })
export type FoundLease = typeof FoundLease.Type
