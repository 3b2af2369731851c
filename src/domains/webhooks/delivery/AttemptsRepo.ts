/** SQL of attempts: what they send, and what their outcomes change. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { AttemptEnds } from "../../../kernel/database/Connections.ts"
import { isRemoved } from "../../../kernel/database/RemovedOrganizations.ts"
import { column, records } from "../../../kernel/database/Statements.ts"
import { endpointName, TEST_EVENT } from "../Model.ts"
import type { FoundEvent } from "../Payload.ts"
import type { ClaimedRow } from "../queue/QueueRepo.ts"

/**
 * What a claimed delivery sends. `url` is `null` if its endpoint or organization has ended, the last four if its event is no longer
 * stored.
 */
export interface Subject extends FoundEvent {
  readonly lease: string
  readonly url: string | null
  /** The active secrets, newest first. */
  readonly sealed: ReadonlyArray<string>
}

/** An ended attempt. Its state and next attempt are stored only if its lease was still valid. */
export interface AttemptRow {
  /** Where the delivery was when it was claimed. */
  readonly location: string
  readonly organizationId: string
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
  readonly organizationId: string
  readonly endpointId: string
  /** Whether one of the outcomes was a success. */
  readonly succeeded: boolean
  /** When the first failure after the last success ended; `null` if there is none. */
  readonly failingSince: Date | null
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const { ask } = yield* AttemptEnds

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

  /**
   * Stores outcomes whose deliveries the statement finds and sees. A delivery that another transaction changed while the
   * statement waited for its lock is locked, but its new row is not visible: it stays unsettled, and nothing of it is stored.
   */
  const storeVisible = (
    rows: ReadonlyArray<AttemptRow>,
    healths: ReadonlyArray<EndpointHealth>,
    { isLeaseValid, isRecorded }: (typeof lookUps)[keyof typeof lookUps],
  ) =>
    records<{ lease: string; isSettled: boolean }>()(
      ask(
        (connection) => connection`
      WITH made AS MATERIALIZED (
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
          attempt, state, "statusCode", "responseBody", error, "durationMs", "nextAttemptAt", "wasSent", location)
      ), lost AS MATERIALIZED (
        SELECT made."organizationId", made."endpointId" FROM made
        WHERE NOT EXISTS (SELECT 1 FROM webhook_queue queue WHERE ${isLeaseValid} OFFSET 0)
      ), changing AS MATERIALIZED (
        SELECT endpoint.organization_id, endpoint.id, health."failingSince"
        FROM unnest(
          (SELECT ${column("uuid", healths, ({ organizationId }) => organizationId)}),
          ${column("uuid", healths, ({ endpointId }) => endpointId)},
          ${column("bool", healths, ({ succeeded }) => succeeded)},
          ${column("timestamptz", healths, ({ failingSince }) => failingSince)}
        ) AS health ("organizationId", "endpointId", succeeded, "failingSince")
        JOIN webhook_endpoints endpoint
          ON endpoint.organization_id = health."organizationId" AND endpoint.id = health."endpointId"
        WHERE CASE WHEN health.succeeded THEN endpoint.failing_since IS DISTINCT FROM health."failingSince"
            ELSE endpoint.failing_since IS NULL END
          AND NOT EXISTS (SELECT 1 FROM lost
            WHERE lost."organizationId" = health."organizationId" AND lost."endpointId" = health."endpointId")
        ORDER BY endpoint.organization_id, endpoint.id FOR NO KEY UPDATE OF endpoint
      ), updated_health AS (
        UPDATE webhook_endpoints SET failing_since = changing."failingSince" FROM changing
        WHERE webhook_endpoints.organization_id = changing.organization_id AND webhook_endpoints.id = changing.id
      ), locked AS MATERIALIZED (
        SELECT leased.location, made.id AS lease, made.attempt, made."nextAttemptAt"
        FROM (SELECT * FROM made WHERE (SELECT count(*) FROM changing) IS NOT NULL
          ORDER BY "organizationId", "deliveryId") AS made
        CROSS JOIN LATERAL (SELECT queue.ctid AS location FROM webhook_queue queue WHERE ${isLeaseValid} FOR UPDATE) AS leased
      ), ended AS (
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
        WHERE lane.head_due_at > excluded.head_due_at
      ), recorded AS (
        INSERT INTO webhook_attempts (organization_id, "timestamp", id, delivery_id, event_id, event_name, endpoint_id,
          endpoint_url, attempt, state, status_code, response_body, error, duration_ms, next_attempt_at)
        SELECT made."organizationId", made."timestamp", made.id, made."deliveryId", made."eventId", made."eventName",
          made."endpointId", made."endpointUrl", made.attempt,
          CASE WHEN settled.lease IS NULL AND made.state = 'Failed' THEN 'Failure' ELSE made.state END,
          made."statusCode", made."responseBody", made.error, made."durationMs",
          CASE WHEN settled.lease IS NOT NULL THEN made."nextAttemptAt" END
        FROM made LEFT JOIN settled ON settled.lease = made.id
        WHERE ${isRecorded}
        ON CONFLICT (organization_id, "timestamp", id) DO NOTHING
      )
      SELECT lease, true AS "isSettled" FROM settled
      UNION ALL SELECT lease, false FROM locked WHERE lease NOT IN (SELECT lease FROM settled)`,
      ),
    )

  const storeBy = (
    lookUp: keyof typeof lookUps,
    rows: ReadonlyArray<AttemptRow>,
    healths: ReadonlyArray<EndpointHealth>,
  ): Effect.Effect<ReadonlySet<string>> =>
    Effect.flatMap(storeVisible(rows, healths, lookUps[lookUp]), (found) => {
      const settled = new Set(found.filter(({ isSettled }) => isSettled).map(({ lease }) => lease))
      const locked = new Set(found.map(({ lease }) => lease))
      // By key, a delivery that is not even locked has lost its lease.
      const again = rows.filter(({ id }) => !settled.has(id) && (lookUp === "location" || locked.has(id)))
      if (again.length === 0) return Effect.succeed(settled)
      const endpoints = new Set(again.map(endpointName))
      return Effect.map(
        storeBy(
          "key",
          again,
          healths.filter((health) => endpoints.has(endpointName(health))),
        ),
        (others) => new Set([...settled, ...others]),
      )
    })

  const storeOutcomes = (rows: ReadonlyArray<AttemptRow>, healths: ReadonlyArray<EndpointHealth>) =>
    storeBy("location", rows, healths)

  return {
    /** Finds what these claims send. Run it with `QueueTransactions`, so that each claim is looked up by index. */
    findSubjects: (rows: ReadonlyArray<ClaimedRow>, at: Date) =>
      records<Subject>()(sql`
        SELECT claimed.lease, endpoint.url, event.type, event.occurred_at AS "occurredAt", event.actor,
          event.data::text AS data, event.previous::text AS previous,
          ARRAY(SELECT secret.sealed FROM webhook_secrets secret
            WHERE secret.organization_id = claimed."organizationId" AND secret.endpoint_id = claimed."endpointId"
              AND (secret.expires_at IS NULL OR secret.expires_at > ${at})
            ORDER BY secret.id DESC) AS sealed
        FROM unnest(
          (SELECT ${column("uuid", rows, ({ organizationId }) => organizationId)}),
          ${column("uuid", rows, ({ endpointId }) => endpointId)},
          ${column("uuid", rows, ({ eventId }) => eventId)},
          ${column("text", rows, ({ eventName }) => eventName)},
          ${column("uuid", rows, ({ lease }) => lease)}
        ) AS claimed ("organizationId", "endpointId", "eventId", "eventName", lease)
        LEFT JOIN LATERAL (
          SELECT url FROM webhook_endpoints WHERE organization_id = claimed."organizationId" AND id = claimed."endpointId"
            AND (disabled_at IS NULL OR claimed."eventName" = ${TEST_EVENT})
            AND NOT ${sql.literal(isRemoved('claimed."organizationId"'))} OFFSET 0
        ) endpoint ON true
        LEFT JOIN LATERAL (
          SELECT type, occurred_at, actor, data, previous FROM events
          WHERE organization_id = claimed."organizationId" AND id = claimed."eventId" OFFSET 0
        ) event ON true`),

    /**
     * Stores the outcomes of attempts: reschedules or deletes their deliveries, updates since when endpoints fail, and
     * inserts the attempts into the history. Returns the leases that were still valid; only those change the queue. It
     * is one statement, because each costs a round trip; a second one is for rows that were moved or lost. Its parts lock in the order of `QueueRepo`, because each reads
     * the one before it.
     *
     * An endpoint with a lost lease keeps its health, which the next attempt decides. An attempt that is already
     * stored, by a commit whose response was lost, is not changed.
     */
    storeOutcomes,
  }
})

/** Attempts and their outcomes. */
export class AttemptsRepo extends Context.Service<AttemptsRepo, Effect.Success<typeof make>>()(
  "keyshelf/webhooks/delivery/AttemptsRepo",
) {
  static readonly layer = Layer.effect(AttemptsRepo, make)
}
