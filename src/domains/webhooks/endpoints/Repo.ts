/** SQL of webhook endpoints and their secrets. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema } from "effect"
import type { Fragment } from "effect/sql/Statement"
import { idBefore } from "../../../kernel/contract/Page.ts"
import type { Position } from "../../../kernel/contract/Page.ts"
import { isRemoved } from "../../../kernel/database/RemovedOrganizations.ts"
import {
  advisoryLock,
  column,
  decoded,
  decodedOne,
  decodedValue,
  executed,
  record,
  records,
} from "../../../kernel/database/Statements.ts"
import type { ActorReference } from "../../../kernel/contract/Caller.ts"
import { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { EndpointKey, WebhookEndpoint } from "../Model.ts"

/** An enabled endpoint. */
const Subscriber = Schema.Struct({
  organizationId: OrganizationId,
  id: Schema.String,
  eventNames: Schema.Array(Schema.String),
  createdAt: Schema.Date,
})
export type Subscriber = typeof Subscriber.Type

/** A stored secret. */
const SealedSecret = Schema.Struct({ id: Schema.String, sealed: Schema.String })
type SealedSecret = typeof SealedSecret.Type

interface EndpointQueries {
  /** Counts the endpoints. Until the transaction ends, other creations of this organization wait. */
  readonly lockAndCount: (organizationId: OrganizationId) => Effect.Effect<number>
  /** Stores an endpoint, without secrets. */
  readonly insert: (organizationId: OrganizationId, row: WebhookEndpoint) => Effect.Effect<void>
  /** Finds an endpoint by its id. */
  readonly findById: (organizationId: OrganizationId, id: string) => Effect.Effect<Option.Option<WebhookEndpoint>>
  /** Up to `count` endpoints of an organization, from the newest on, after a position. */
  readonly list: (
    organizationId: OrganizationId,
    after: Position | null,
    count: number,
  ) => Effect.Effect<ReadonlyArray<WebhookEndpoint>>
  /** Locks the row for a change. */
  readonly lockById: (organizationId: OrganizationId, id: string) => Effect.Effect<Option.Option<WebhookEndpoint>>
  /** Locks the row against changes, disabling and deletion until the transaction ends. */
  readonly lockForShare: (organizationId: OrganizationId, id: string) => Effect.Effect<Option.Option<WebhookEndpoint>>
  /** Stores the URL, the event names and the description of a locked endpoint. */
  readonly update: (organizationId: OrganizationId, row: WebhookEndpoint) => Effect.Effect<void>
  /** Stores since when a locked endpoint is paused and since when it fails. */
  readonly setPaused: (organizationId: OrganizationId, row: WebhookEndpoint) => Effect.Effect<void>
  /** Enables an endpoint, and clears since when it fails. */
  readonly enable: (organizationId: OrganizationId, row: WebhookEndpoint) => Effect.Effect<void>
  /** Deletes an endpoint. The foreign key deletes its secrets. */
  readonly delete: (organizationId: OrganizationId, id: string) => Effect.Effect<void>
  /** Finds the enabled endpoints of these organizations, unless they are removed. None of them can end before the transaction does. */
  readonly findSubscribers: (organizationIds: ReadonlyArray<OrganizationId>) => Effect.Effect<ReadonlyArray<Subscriber>>
  /** Finds those of these endpoints that are enabled, not paused, and have only failed since the given time or longer. */
  readonly findFailingSince: (
    endpoints: ReadonlyArray<EndpointKey>,
    since: Date,
  ) => Effect.Effect<ReadonlyArray<EndpointKey>>
  /**
   * Disables an enabled endpoint that is not paused and has only failed since the given time or longer. Returns it after the change.
   */
  readonly disableFailing: (
    organizationId: OrganizationId,
    id: string,
    change: {
      readonly since: Date
      readonly at: Date
      readonly by: ActorReference
      readonly reason: string
    },
  ) => Effect.Effect<Option.Option<WebhookEndpoint>>
  /** Stores a secret of an endpoint, without an expiry. */
  readonly insertSecret: (
    organizationId: OrganizationId,
    endpointId: string,
    secret: SealedSecret & {
      readonly createdAt: Date
    },
  ) => Effect.Effect<void>
  /** Sets the expiry of all secrets that have none yet. */
  readonly expireSecrets: (organizationId: OrganizationId, endpointId: string, expiresAt: Date) => Effect.Effect<void>
  /** Deletes expired secrets, and all but the newest `max`. */
  readonly deleteSecrets: (
    organizationId: OrganizationId,
    endpointId: string,
    at: Date,
    max: number,
  ) => Effect.Effect<void>
  /** Finds the secrets that are active at this time, newest first. */
  readonly findActiveSecrets: (
    organizationId: OrganizationId,
    endpointId: string,
    at: Date,
  ) => Effect.Effect<ReadonlyArray<SealedSecret>>
}

const countIn = decodedValue("count", Schema.Int)

const endpoints = (sql: PgClient.PgClient, columns: Fragment) =>
  ({
    lockAndCount: (organizationId) =>
      advisoryLock(sql, `webhook-endpoints/${organizationId}`).pipe(
        Effect.andThen(
          countIn(sql`SELECT count(*)::int AS count FROM webhook_endpoints WHERE organization_id = ${organizationId}`),
        ),
        Effect.map(Option.getOrThrow),
      ),

    insert: (organizationId, row) =>
      executed(sql`
        INSERT INTO webhook_endpoints (organization_id, id, url, event_names, description, disabled_at, disabled_reason,
          created_at, created_by, updated_at, updated_by)
        VALUES (${organizationId}, ${row.id}, ${row.url}, ${row.eventNames}::text[], ${row.description},
          ${row.disabledAt}, ${row.disabledReason}, ${row.createdAt}, ${sql.json(row.createdBy)}, ${row.updatedAt},
          ${sql.json(row.updatedBy)})`),

    findById: (organizationId, id) =>
      record<WebhookEndpoint>()(
        sql`SELECT ${columns} FROM webhook_endpoints WHERE organization_id = ${organizationId} AND id = ${id}`,
      ),

    list: (organizationId, after, count) =>
      records<WebhookEndpoint>()(sql`
        SELECT ${columns} FROM webhook_endpoints
        WHERE organization_id = ${organizationId} AND id < ${idBefore(after)}
        ORDER BY id DESC LIMIT ${count}`),

    lockById: (organizationId, id) =>
      decodedOne(WebhookEndpoint)(sql`
        SELECT ${columns} FROM webhook_endpoints WHERE organization_id = ${organizationId} AND id = ${id} FOR UPDATE`),

    lockForShare: (organizationId, id) =>
      decodedOne(WebhookEndpoint)(sql`
        SELECT ${columns} FROM webhook_endpoints WHERE organization_id = ${organizationId} AND id = ${id} FOR SHARE`),

    update: (organizationId, row) =>
      executed(sql`
        UPDATE webhook_endpoints SET url = ${row.url}, event_names = ${row.eventNames}::text[],
          description = ${row.description}, updated_at = ${row.updatedAt}, updated_by = ${sql.json(row.updatedBy)}
        WHERE organization_id = ${organizationId} AND id = ${row.id}`),

    setPaused: (organizationId, row) =>
      executed(sql`
        UPDATE webhook_endpoints SET paused_at = ${row.pausedAt}, failing_since = ${row.failingSince},
          updated_at = ${row.updatedAt}, updated_by = ${sql.json(row.updatedBy)}
        WHERE organization_id = ${organizationId} AND id = ${row.id}`),

    enable: (organizationId, row) =>
      executed(sql`
        UPDATE webhook_endpoints SET disabled_at = NULL, disabled_reason = NULL, failing_since = NULL,
          updated_at = ${row.updatedAt}, updated_by = ${sql.json(row.updatedBy)}
        WHERE organization_id = ${organizationId} AND id = ${row.id}`),

    delete: (organizationId, id) =>
      executed(sql`DELETE FROM webhook_endpoints WHERE organization_id = ${organizationId} AND id = ${id}`),
  }) satisfies Partial<EndpointQueries>

/** The endpoints that get deliveries, and those that have failed for too long. */
const deliveryTargets = (sql: PgClient.PgClient, columns: Fragment) =>
  ({
    findSubscribers: (organizationIds) =>
      decoded(Subscriber)(sql`
        SELECT organization_id AS "organizationId", id, event_names AS "eventNames", created_at AS "createdAt"
        FROM webhook_endpoints
        WHERE organization_id = ANY(${organizationIds}::uuid[]) AND disabled_at IS NULL
          AND NOT ${sql.literal(isRemoved("webhook_endpoints.organization_id"))}
        ORDER BY organization_id, id FOR SHARE`),

    findFailingSince: (endpoints, since) =>
      decoded(EndpointKey)(sql`
        SELECT endpoint.organization_id AS "organizationId", endpoint.id AS "endpointId"
        FROM unnest(
          (SELECT ${column("uuid", endpoints, ({ organizationId }) => organizationId)}),
          ${column("uuid", endpoints, ({ endpointId }) => endpointId)}
        ) AS failed ("organizationId", "endpointId")
        JOIN webhook_endpoints endpoint
          ON endpoint.organization_id = failed."organizationId" AND endpoint.id = failed."endpointId"
        WHERE endpoint.failing_since <= ${since} AND endpoint.disabled_at IS NULL AND endpoint.paused_at IS NULL`),

    disableFailing: (organizationId, id, change) =>
      record<WebhookEndpoint>()(sql`
        UPDATE webhook_endpoints SET disabled_at = ${change.at}, disabled_reason = ${change.reason},
          updated_at = ${change.at}, updated_by = ${sql.json(change.by)}
        WHERE organization_id = ${organizationId} AND id = ${id} AND disabled_at IS NULL AND paused_at IS NULL
          AND failing_since <= ${change.since}
        RETURNING ${columns}`),
  }) satisfies Partial<EndpointQueries>

const secrets = (sql: PgClient.PgClient) =>
  ({
    insertSecret: (organizationId, endpointId, secret) =>
      executed(sql`
        INSERT INTO webhook_secrets (organization_id, endpoint_id, id, sealed, created_at)
        VALUES (${organizationId}, ${endpointId}, ${secret.id}, ${secret.sealed}, ${secret.createdAt})`),

    expireSecrets: (organizationId, endpointId, expiresAt) =>
      executed(sql`
        UPDATE webhook_secrets SET expires_at = ${expiresAt}
        WHERE organization_id = ${organizationId} AND endpoint_id = ${endpointId} AND expires_at IS NULL`),

    deleteSecrets: (organizationId, endpointId, at, max) =>
      executed(sql`
        DELETE FROM webhook_secrets
        WHERE organization_id = ${organizationId} AND endpoint_id = ${endpointId} AND (expires_at <= ${at} OR id IN (
          SELECT id FROM webhook_secrets
          WHERE organization_id = ${organizationId} AND endpoint_id = ${endpointId}
          ORDER BY id DESC OFFSET ${max}))`),

    findActiveSecrets: (organizationId, endpointId, at) =>
      decoded(SealedSecret)(sql`
        SELECT id, sealed FROM webhook_secrets
        WHERE organization_id = ${organizationId} AND endpoint_id = ${endpointId}
          AND (expires_at IS NULL OR expires_at > ${at})
        ORDER BY id DESC`),
  }) satisfies Partial<EndpointQueries>

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = sql.literal(`id, url, event_names AS "eventNames", description, disabled_at AS "disabledAt",
    disabled_reason AS "disabledReason", paused_at AS "pausedAt", failing_since AS "failingSince", created_at AS "createdAt", updated_at AS "updatedAt",
    created_by AS "createdBy", updated_by AS "updatedBy"`)
  return {
    ...endpoints(sql, columns),
    ...deliveryTargets(sql, columns),
    ...secrets(sql),
  } satisfies EndpointQueries
})

/** Webhook endpoints and their secrets. */
export class EndpointsRepo extends Context.Service<EndpointsRepo, EndpointQueries>()(
  "keyshelf/webhooks/endpoints/Repo",
) {
  static readonly layer = Layer.effect(EndpointsRepo, make)
}
