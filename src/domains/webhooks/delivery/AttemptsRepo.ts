/** SQL of attempts: what they need to know, and what they leave behind. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import type { ActorReference } from "../../../kernel/contract/Caller.ts"
import type { EventName } from "../../../kernel/contract/Event.ts"
import { AttemptEnds } from "../../../kernel/database/Connections.ts"
import { column, eventRecords, record, records } from "../../../kernel/database/Statements.ts"
import type { WebhookEndpoint } from "../Model.ts"
import type { ClaimedRow } from "../queue/QueueRepo.ts"
import { TEST_EVENT } from "../Model.ts"

/** What a claimed delivery is about. `url` is `null` when its endpoint has ended, the last four when the event is gone. */
export interface Subject {
  readonly lease: string
  readonly url: string | null
  /** The secrets that sign now, newest first. */
  readonly sealed: ReadonlyArray<string>
  readonly type: EventName | null
  readonly occurredAt: Date | null
  readonly actor: ActorReference | null
  readonly data: Record<string, unknown> | null
}

/** An attempt as it is stored, if its claim still held; otherwise nothing follows from it. */
export interface AttemptRow {
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
  /** Whether it was sent. One that was not leaves no trace once somebody else has the delivery. */
  readonly wasMade: boolean
}

/** What a group of outcomes says about an endpoint: whether one succeeded, and since when all after that failed. */
export interface Health {
  readonly organizationId: string
  readonly endpointId: string
  readonly succeeded: boolean
  readonly failingSince: Date | null
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const { ask } = yield* AttemptEnds
  const endpoint = sql.literal(`id, url, event_names AS "eventNames", description, disabled_at AS "disabledAt",
    disabled_reason AS "disabledReason", created_at AS "createdAt", updated_at AS "updatedAt",
    created_by AS "createdBy", updated_by AS "updatedBy"`)

  // The row of `queue` whose claim the attempt in `made` was. Asked for each row by itself, and so that no other index can be used: of a
  // table that was empty a moment ago the planner expects so little that it would join all of it, or all that is leased.
  const isHeld = sql.literal(`queue.organization_id = made."organizationId" AND queue.id = made."deliveryId"
    AND queue.lease IS NOT DISTINCT FROM made.id`)

  return {
    /** What these claims are about. Each is looked up by itself, by index after `planByIndex`: however few events there were before. */
    subjects: (rows: ReadonlyArray<ClaimedRow>, at: Date) =>
      eventRecords<Subject>()(sql`
        SELECT claimed.lease, endpoint.url, event.type, event.occurred_at AS "occurredAt", event.actor,
          event.data::text AS data,
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
            AND (disabled_at IS NULL OR claimed."eventName" = ${TEST_EVENT}) OFFSET 0
        ) endpoint ON true
        LEFT JOIN LATERAL (
          SELECT type, occurred_at, actor, data FROM events
          WHERE organization_id = claimed."organizationId" AND id = claimed."eventId" OFFSET 0
        ) event ON true`),

    /**
     * Ends attempts: reschedules or removes what is owed, notes since when endpoints fail, and tells the history. Answers the
     * leases that still held; all changes of the queue are fenced by them. One statement, as each costs a round trip. Its parts
     * lock in the order of {@link QueueRepo}, because each reads the one before it.
     *
     * An endpoint of which a lease was lost keeps its health: the next attempt tells it. An attempt that is stored already, by a
     * commit whose answer was lost, stays.
     */
    end: (rows: ReadonlyArray<AttemptRow>, healths: ReadonlyArray<Health>) =>
      Effect.map(
        records<{ lease: string }>()(
          ask(
            (own) => own`
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
              ${column("bool", rows, ({ wasMade }) => wasMade)}
            ) AS made ("organizationId", "timestamp", id, "deliveryId", "eventId", "eventName", "endpointId", "endpointUrl",
              attempt, state, "statusCode", "responseBody", error, "durationMs", "nextAttemptAt", "wasMade")
          ), lost AS MATERIALIZED (
            SELECT made."organizationId", made."endpointId" FROM made
            WHERE NOT EXISTS (SELECT 1 FROM webhook_queue queue WHERE ${isHeld} OFFSET 0)
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
          ), noted AS (
            UPDATE webhook_endpoints SET failing_since = changing."failingSince" FROM changing
            WHERE webhook_endpoints.organization_id = changing.organization_id AND webhook_endpoints.id = changing.id
          ), locked AS MATERIALIZED (
            SELECT held.place, made.id AS lease, made.attempt, made."nextAttemptAt"
            FROM (SELECT * FROM made WHERE (SELECT count(*) FROM changing) IS NOT NULL
              ORDER BY "organizationId", "deliveryId") AS made
            CROSS JOIN LATERAL (SELECT queue.ctid AS place FROM webhook_queue queue WHERE ${isHeld} FOR UPDATE) AS held
          ), ended AS (
            DELETE FROM webhook_queue
            WHERE ctid = ANY(ARRAY(SELECT place FROM locked WHERE "nextAttemptAt" IS NULL)) RETURNING lease
          ), again AS (
            UPDATE webhook_queue SET attempt = locked.attempt + 1, due_at = locked."nextAttemptAt", lease = NULL,
              claimed_at = NULL, claims = 0
            FROM locked
            WHERE webhook_queue.ctid = ANY(ARRAY(SELECT place FROM locked WHERE "nextAttemptAt" IS NOT NULL))
              AND webhook_queue.ctid = locked.place
            RETURNING locked.lease
          ), settled AS MATERIALIZED (
            SELECT lease FROM ended UNION ALL SELECT lease FROM again
          ), heads AS (
            INSERT INTO webhook_lanes AS lane (organization_id, endpoint_id, head_due_at, last_served_at)
            SELECT made."organizationId", made."endpointId", min(made."nextAttemptAt"), 'epoch'
            FROM made JOIN settled ON settled.lease = made.id
            WHERE made."nextAttemptAt" IS NOT NULL
            GROUP BY made."organizationId", made."endpointId" ORDER BY made."organizationId", made."endpointId"
            ON CONFLICT (organization_id, endpoint_id) DO UPDATE SET head_due_at = excluded.head_due_at
            WHERE lane.head_due_at > excluded.head_due_at
          ), told AS (
            INSERT INTO webhook_attempts (organization_id, "timestamp", id, delivery_id, event_id, event_name, endpoint_id,
              endpoint_url, attempt, state, status_code, response_body, error, duration_ms, next_attempt_at)
            SELECT made."organizationId", made."timestamp", made.id, made."deliveryId", made."eventId", made."eventName",
              made."endpointId", made."endpointUrl", made.attempt,
              CASE WHEN settled.lease IS NULL AND made.state = 'Failed' THEN 'Failure' ELSE made.state END,
              made."statusCode", made."responseBody", made.error, made."durationMs",
              CASE WHEN settled.lease IS NOT NULL THEN made."nextAttemptAt" END
            FROM made LEFT JOIN settled ON settled.lease = made.id
            WHERE settled.lease IS NOT NULL OR made."wasMade"
            ON CONFLICT (organization_id, "timestamp", id) DO NOTHING
          )
          SELECT lease FROM settled`,
          ),
        ),
        (settled) => new Set(settled.map((row) => row.lease)),
      ),

    /** Which of these endpoints have only failed since the given time or earlier, and are not disabled. */
    failingSince: (endpoints: ReadonlyArray<Pick<Health, "organizationId" | "endpointId">>, since: Date) =>
      records<{ organizationId: string; endpointId: string }>()(sql`
        SELECT endpoint.organization_id AS "organizationId", endpoint.id AS "endpointId"
        FROM unnest(
          (SELECT ${column("uuid", endpoints, ({ organizationId }) => organizationId)}),
          ${column("uuid", endpoints, ({ endpointId }) => endpointId)}
        ) AS failed ("organizationId", "endpointId")
        JOIN webhook_endpoints endpoint
          ON endpoint.organization_id = failed."organizationId" AND endpoint.id = failed."endpointId"
        WHERE endpoint.failing_since <= ${since} AND endpoint.disabled_at IS NULL`),

    /** Disables an endpoint that has only failed since then, unless it is disabled. Answers it after the change. */
    disable: (
      organizationId: string,
      id: string,
      change: { readonly since: Date; readonly at: Date; readonly by: ActorReference; readonly reason: string },
    ) =>
      record<WebhookEndpoint>()(sql`
        UPDATE webhook_endpoints SET disabled_at = ${change.at}, disabled_reason = ${change.reason},
          updated_at = ${change.at}, updated_by = ${sql.json(change.by)}
        WHERE organization_id = ${organizationId} AND id = ${id} AND disabled_at IS NULL
          AND failing_since <= ${change.since}
        RETURNING ${endpoint}`),
  }
})

/** Rows of attempts. */
export class AttemptsRepo extends Context.Service<AttemptsRepo, Effect.Success<typeof make>>()(
  "keyshelf/webhooks/AttemptsRepo",
) {
  static readonly layer = Layer.effect(AttemptsRepo, make)
}
