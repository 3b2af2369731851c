/** SQL of webhook endpoints and their secrets. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { idBefore } from "../../../kernel/contract/Page.ts"
import type { Position } from "../../../kernel/contract/Page.ts"
import { isRemoved } from "../../../kernel/database/RemovedOrganizations.ts"
import { column, advisoryLock, hasCitus, record, records } from "../../../kernel/database/Statements.ts"
import type { ActorReference } from "../../../kernel/contract/Caller.ts"
import type { EndpointKey, WebhookEndpoint } from "../Model.ts"

/** An enabled endpoint. */
export interface Subscriber {
  readonly organizationId: string
  readonly id: string
  readonly eventNames: ReadonlyArray<string>
  readonly createdAt: Date
}

/** A stored secret. */
interface SealedSecret {
  readonly id: string
  readonly sealed: string
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const isSharded = yield* hasCitus(sql)
  const columns = sql.literal(`id, url, event_names AS "eventNames", description, disabled_at AS "disabledAt",
    disabled_reason AS "disabledReason", created_at AS "createdAt", updated_at AS "updatedAt",
    created_by AS "createdBy", updated_by AS "updatedBy"`)

  /** Runs a statement for each organization on Citus, in their order, and for all of them otherwise. */
  const byShard = <A>(
    organizationIds: ReadonlyArray<string>,
    find: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<A>>,
  ) =>
    isSharded
      ? Effect.map(
          Effect.forEach([...new Set(organizationIds)].toSorted(), (id) => find([id])),
          (found) => found.flat(),
        )
      : find(organizationIds)

  return {
    /** Counts the endpoints. Until the transaction ends, other creations of this organization wait. */
    lockAndCount: (organizationId: string) =>
      advisoryLock(sql, `webhook-endpoints/${organizationId}`).pipe(
        Effect.andThen(
          Effect.orDie(sql<{ count: number }>`
            SELECT count(*)::int AS count FROM webhook_endpoints WHERE organization_id = ${organizationId}`),
        ),
        Effect.map(([row]) => row?.count ?? 0),
      ),

    insert: (organizationId: string, row: WebhookEndpoint) =>
      Effect.asVoid(
        Effect.orDie(sql`
          INSERT INTO webhook_endpoints (organization_id, id, url, event_names, description, disabled_at, disabled_reason,
            created_at, created_by, updated_at, updated_by)
          VALUES (${organizationId}, ${row.id}, ${row.url}, ${row.eventNames}::text[], ${row.description},
            ${row.disabledAt}, ${row.disabledReason}, ${row.createdAt}, ${sql.json(row.createdBy)}, ${row.updatedAt},
            ${sql.json(row.updatedBy)})`),
      ),

    findById: (organizationId: string, id: string) =>
      record<WebhookEndpoint>()(
        sql`SELECT ${columns} FROM webhook_endpoints WHERE organization_id = ${organizationId} AND id = ${id}`,
      ),

    list: (organizationId: string, after: Position | null, count: number) =>
      records<WebhookEndpoint>()(sql`
        SELECT ${columns} FROM webhook_endpoints
        WHERE organization_id = ${organizationId} AND id < ${idBefore(after)}
        ORDER BY id DESC LIMIT ${count}`),

    /** Locks the row for a change. */
    lockById: (organizationId: string, id: string) =>
      record<WebhookEndpoint>()(sql`
        SELECT ${columns} FROM webhook_endpoints WHERE organization_id = ${organizationId} AND id = ${id} FOR UPDATE`),

    /** Locks the row against changes, disabling and deletion until the transaction ends. */
    lockForShare: (organizationId: string, id: string) =>
      record<WebhookEndpoint>()(sql`
        SELECT ${columns} FROM webhook_endpoints WHERE organization_id = ${organizationId} AND id = ${id} FOR SHARE`),

    update: (organizationId: string, row: WebhookEndpoint) =>
      Effect.asVoid(
        Effect.orDie(sql`
          UPDATE webhook_endpoints SET url = ${row.url}, event_names = ${row.eventNames}::text[],
            description = ${row.description}, updated_at = ${row.updatedAt}, updated_by = ${sql.json(row.updatedBy)}
          WHERE organization_id = ${organizationId} AND id = ${row.id}`),
      ),

    /** Enables an endpoint, and clears since when it fails. */
    enable: (organizationId: string, row: WebhookEndpoint) =>
      Effect.asVoid(
        Effect.orDie(sql`
          UPDATE webhook_endpoints SET disabled_at = NULL, disabled_reason = NULL, failing_since = NULL,
            updated_at = ${row.updatedAt}, updated_by = ${sql.json(row.updatedBy)}
          WHERE organization_id = ${organizationId} AND id = ${row.id}`),
      ),

    /** Deletes an endpoint. The foreign key deletes its secrets. */
    delete: (organizationId: string, id: string) =>
      Effect.asVoid(
        Effect.orDie(sql`DELETE FROM webhook_endpoints WHERE organization_id = ${organizationId} AND id = ${id}`),
      ),

    /** Finds the enabled endpoints of these organizations, unless they are removed. None of them can end before the transaction does. */
    findSubscribers: (organizationIds: ReadonlyArray<string>) =>
      byShard(organizationIds, (ids) =>
        records<Subscriber>()(sql`
          SELECT organization_id AS "organizationId", id, event_names AS "eventNames", created_at AS "createdAt"
          FROM webhook_endpoints
          WHERE organization_id = ANY(${ids}::uuid[]) AND disabled_at IS NULL
            AND NOT ${sql.literal(isRemoved("webhook_endpoints.organization_id"))}
          ORDER BY organization_id, id FOR SHARE`),
      ),

    /** Finds those of these endpoints that are enabled and have only failed since the given time or longer. */
    findFailingSince: (endpoints: ReadonlyArray<EndpointKey>, since: Date) =>
      byShard(
        endpoints.map(({ organizationId }) => organizationId),
        (ids) => {
          const ofShard = isSharded ? endpoints.filter(({ organizationId }) => ids.includes(organizationId)) : endpoints
          const shard = isSharded ? sql`${ids[0]}::uuid` : sql.literal(`failed."organizationId"`)
          return records<EndpointKey>()(sql`
            SELECT endpoint.organization_id AS "organizationId", endpoint.id AS "endpointId"
            FROM unnest(
              (SELECT ${column("uuid", ofShard, ({ organizationId }) => organizationId)}),
              ${column("uuid", ofShard, ({ endpointId }) => endpointId)}
            ) AS failed ("organizationId", "endpointId")
            JOIN webhook_endpoints endpoint
              ON endpoint.organization_id = ${shard} AND endpoint.id = failed."endpointId"
            WHERE endpoint.failing_since <= ${since} AND endpoint.disabled_at IS NULL`)
        },
      ),

    /**
     * Disables an enabled endpoint that has only failed since the given time or longer. Returns it after the change.
     */
    disableFailing: (
      organizationId: string,
      id: string,
      change: { readonly since: Date; readonly at: Date; readonly by: ActorReference; readonly reason: string },
    ) =>
      record<WebhookEndpoint>()(sql`
        UPDATE webhook_endpoints SET disabled_at = ${change.at}, disabled_reason = ${change.reason},
          updated_at = ${change.at}, updated_by = ${sql.json(change.by)}
        WHERE organization_id = ${organizationId} AND id = ${id} AND disabled_at IS NULL
          AND failing_since <= ${change.since}
        RETURNING ${columns}`),

    insertSecret: (organizationId: string, endpointId: string, secret: SealedSecret & { readonly createdAt: Date }) =>
      Effect.asVoid(
        Effect.orDie(sql`
          INSERT INTO webhook_secrets (organization_id, endpoint_id, id, sealed, created_at)
          VALUES (${organizationId}, ${endpointId}, ${secret.id}, ${secret.sealed}, ${secret.createdAt})`),
      ),

    /** Sets the expiry of all secrets that have none yet. */
    expireSecrets: (organizationId: string, endpointId: string, expiresAt: Date) =>
      Effect.asVoid(
        Effect.orDie(sql`
          UPDATE webhook_secrets SET expires_at = ${expiresAt}
          WHERE organization_id = ${organizationId} AND endpoint_id = ${endpointId} AND expires_at IS NULL`),
      ),

    /** Deletes expired secrets, and all but the newest `max`. */
    deleteSecrets: (organizationId: string, endpointId: string, at: Date, max: number) =>
      Effect.asVoid(
        Effect.orDie(sql`
          DELETE FROM webhook_secrets
          WHERE organization_id = ${organizationId} AND endpoint_id = ${endpointId} AND (expires_at <= ${at} OR id IN (
            SELECT id FROM webhook_secrets
            WHERE organization_id = ${organizationId} AND endpoint_id = ${endpointId}
            ORDER BY id DESC OFFSET ${max}))`),
      ),

    /** Finds the secrets that are active at this time, newest first. */
    findActiveSecrets: (organizationId: string, endpointId: string, at: Date) =>
      records<SealedSecret>()(sql`
        SELECT id, sealed FROM webhook_secrets
        WHERE organization_id = ${organizationId} AND endpoint_id = ${endpointId}
          AND (expires_at IS NULL OR expires_at > ${at})
        ORDER BY id DESC`),
  }
})

/** Webhook endpoints and their secrets. */
export class EndpointsRepo extends Context.Service<EndpointsRepo, Effect.Success<typeof make>>()(
  "keyshelf/webhooks/endpoints/Repo",
) {
  static readonly layer = Layer.effect(EndpointsRepo, make)
}
