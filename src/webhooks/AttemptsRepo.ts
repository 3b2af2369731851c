/** SQL of attempts: what they need to know, and what they leave behind. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import type { ActorReference } from "../kernel/Caller.ts"
import type { EventName } from "../kernel/Event.ts"
import { eventRecords, record, records } from "../kernel/Sql.ts"
import type { WebhookEndpoint } from "./Model.ts"
import type { ClaimedRow } from "./QueueRepo.ts"
import { TEST_EVENT } from "./Rules.ts"

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

/** An attempt as it is stored. Instants are ISO texts. */
export interface AttemptRow {
  readonly organizationId: string
  readonly timestamp: string
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
  readonly nextAttemptAt: string | null
}

/** What a group of outcomes says about an endpoint: whether one succeeded, and since when all after that failed. */
export interface Health {
  readonly organizationId: string
  readonly endpointId: string
  readonly succeeded: boolean
  readonly failingSince: string | null
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const endpoint = sql.literal(`id, url, event_names AS "eventNames", description, disabled_at AS "disabledAt",
    disabled_reason AS "disabledReason", created_at AS "createdAt", updated_at AS "updatedAt",
    created_by AS "createdBy", updated_by AS "updatedBy"`)

  return {
    /** What these claims are about. */
    subjects: (rows: ReadonlyArray<ClaimedRow>, at: Date) =>
      eventRecords<Subject>()(sql`
        SELECT claimed.lease, endpoint.url, event.type, event.occurred_at AS "occurredAt", event.actor,
          event.data::text AS data,
          ARRAY(SELECT secret.sealed FROM webhook_secrets secret
            WHERE secret.organization_id = claimed."organizationId" AND secret.endpoint_id = claimed."endpointId"
              AND (secret.expires_at IS NULL OR secret.expires_at > ${at})
            ORDER BY secret.id DESC) AS sealed
        FROM jsonb_to_recordset(${sql.json(
          rows.map(({ endpointId, eventId, eventName, lease, organizationId }) => ({
            organizationId,
            endpointId,
            eventId,
            eventName,
            lease,
          })),
        )}) AS claimed ("organizationId" uuid, "endpointId" uuid, "eventId" uuid, "eventName" text, lease uuid)
        LEFT JOIN webhook_endpoints endpoint
          ON endpoint.organization_id = claimed."organizationId" AND endpoint.id = claimed."endpointId"
          AND (endpoint.disabled_at IS NULL OR claimed."eventName" = ${TEST_EVENT})
        LEFT JOIN events event ON event.organization_id = claimed."organizationId" AND event.id = claimed."eventId"`),

    /** Stores attempts. One that is stored already, by a commit whose answer was lost, stays. */
    insert: (rows: ReadonlyArray<AttemptRow>) =>
      Effect.asVoid(
        Effect.orDie(sql`
          INSERT INTO webhook_attempts (organization_id, "timestamp", id, delivery_id, event_id, event_name, endpoint_id,
            endpoint_url, attempt, state, status_code, response_body, error, duration_ms, next_attempt_at)
          SELECT made."organizationId", made."timestamp", made.id, made."deliveryId", made."eventId", made."eventName",
            made."endpointId", made."endpointUrl", made.attempt, made.state, made."statusCode", made."responseBody",
            made.error, made."durationMs", made."nextAttemptAt"
          FROM jsonb_to_recordset(${sql.json(rows)}) AS made ("organizationId" uuid, "timestamp" timestamptz, id uuid,
            "deliveryId" uuid, "eventId" uuid, "eventName" text, "endpointId" uuid, "endpointUrl" text, attempt smallint,
            state text, "statusCode" smallint, "responseBody" text, error text, "durationMs" integer,
            "nextAttemptAt" timestamptz)
          ON CONFLICT (organization_id, "timestamp", id) DO NOTHING`),
      ),

    /** Notes since when endpoints fail; writes only where that changes. */
    noteHealth: (healths: ReadonlyArray<Health>) =>
      Effect.asVoid(
        Effect.orDie(sql`
          WITH changing AS MATERIALIZED (
            SELECT endpoint.organization_id, endpoint.id, health."failingSince"
            FROM jsonb_to_recordset(${sql.json(healths)}) AS health ("organizationId" uuid, "endpointId" uuid,
              succeeded boolean, "failingSince" timestamptz)
            JOIN webhook_endpoints endpoint
              ON endpoint.organization_id = health."organizationId" AND endpoint.id = health."endpointId"
            WHERE CASE WHEN health.succeeded THEN endpoint.failing_since IS DISTINCT FROM health."failingSince"
              ELSE endpoint.failing_since IS NULL END
            ORDER BY endpoint.organization_id, endpoint.id FOR NO KEY UPDATE OF endpoint
          )
          UPDATE webhook_endpoints SET failing_since = changing."failingSince" FROM changing
          WHERE webhook_endpoints.organization_id = changing.organization_id AND webhook_endpoints.id = changing.id`),
      ),

    /** Which of these endpoints have only failed since the given time or earlier, and are not disabled. */
    failingSince: (endpoints: ReadonlyArray<Pick<Health, "organizationId" | "endpointId">>, since: Date) =>
      records<{ organizationId: string; endpointId: string }>()(sql`
        SELECT endpoint.organization_id AS "organizationId", endpoint.id AS "endpointId"
        FROM jsonb_to_recordset(${sql.json(endpoints)}) AS failed ("organizationId" uuid, "endpointId" uuid)
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
