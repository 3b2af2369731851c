/** SQL of webhook endpoints and their secrets. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { olderThan } from "../../../kernel/contract/Page.ts"
import type { Position } from "../../../kernel/contract/Page.ts"
import { lockName, record, records } from "../../../kernel/database/Statements.ts"
import type { WebhookEndpoint } from "../Model.ts"

/** An endpoint that may get events. */
export interface Subscriber {
  readonly organizationId: string
  readonly id: string
  readonly eventNames: ReadonlyArray<string>
  readonly createdAt: Date
}

/** A secret as it is stored. */
export interface SealedSecret {
  readonly id: string
  readonly sealed: string
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = sql.literal(`id, url, event_names AS "eventNames", description, disabled_at AS "disabledAt",
    disabled_reason AS "disabledReason", created_at AS "createdAt", updated_at AS "updatedAt",
    created_by AS "createdBy", updated_by AS "updatedBy"`)

  return {
    /** How many endpoints there are. Creations of one organization follow each other until the transaction ends. */
    lockAndCount: (organizationId: string) =>
      lockName(sql, `webhook-endpoints/${organizationId}`).pipe(
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
        WHERE organization_id = ${organizationId} AND id < ${olderThan(after)}
        ORDER BY id DESC LIMIT ${count}`),

    /** Locks the row for a change. */
    lockById: (organizationId: string, id: string) =>
      record<WebhookEndpoint>()(sql`
        SELECT ${columns} FROM webhook_endpoints WHERE organization_id = ${organizationId} AND id = ${id} FOR UPDATE`),

    /** The endpoint, which is neither changed, disabled nor deleted until the transaction ends. */
    keep: (organizationId: string, id: string) =>
      record<WebhookEndpoint>()(sql`
        SELECT ${columns} FROM webhook_endpoints WHERE organization_id = ${organizationId} AND id = ${id} FOR SHARE`),

    update: (organizationId: string, row: WebhookEndpoint) =>
      Effect.asVoid(
        Effect.orDie(sql`
          UPDATE webhook_endpoints SET url = ${row.url}, event_names = ${row.eventNames}::text[],
            description = ${row.description}, updated_at = ${row.updatedAt}, updated_by = ${sql.json(row.updatedBy)}
          WHERE organization_id = ${organizationId} AND id = ${row.id}`),
      ),

    /** Forgets that it was disabled, and for how long its deliveries have failed. */
    enable: (organizationId: string, row: WebhookEndpoint) =>
      Effect.asVoid(
        Effect.orDie(sql`
          UPDATE webhook_endpoints SET disabled_at = NULL, disabled_reason = NULL, failing_since = NULL,
            updated_at = ${row.updatedAt}, updated_by = ${sql.json(row.updatedBy)}
          WHERE organization_id = ${organizationId} AND id = ${row.id}`),
      ),

    /** Its secrets go with it. */
    delete: (organizationId: string, id: string) =>
      Effect.asVoid(
        Effect.orDie(sql`DELETE FROM webhook_endpoints WHERE organization_id = ${organizationId} AND id = ${id}`),
      ),

    /** The enabled endpoints of these organizations. None of them ends until the transaction does. */
    subscribers: (organizationIds: ReadonlyArray<string>) =>
      records<Subscriber>()(sql`
        SELECT organization_id AS "organizationId", id, event_names AS "eventNames", created_at AS "createdAt"
        FROM webhook_endpoints
        WHERE organization_id = ANY(${organizationIds}::uuid[]) AND disabled_at IS NULL
        ORDER BY organization_id, id FOR SHARE`),

    insertSecret: (organizationId: string, endpointId: string, secret: SealedSecret & { readonly createdAt: Date }) =>
      Effect.asVoid(
        Effect.orDie(sql`
          INSERT INTO webhook_secrets (organization_id, endpoint_id, id, sealed, created_at)
          VALUES (${organizationId}, ${endpointId}, ${secret.id}, ${secret.sealed}, ${secret.createdAt})`),
      ),

    /** Gives every secret that has no end yet this one. */
    endSecrets: (organizationId: string, endpointId: string, expiresAt: Date) =>
      Effect.asVoid(
        Effect.orDie(sql`
          UPDATE webhook_secrets SET expires_at = ${expiresAt}
          WHERE organization_id = ${organizationId} AND endpoint_id = ${endpointId} AND expires_at IS NULL`),
      ),

    /** Removes the secrets that have ended, and all but the newest few. */
    removeSecrets: (organizationId: string, endpointId: string, at: Date, kept: number) =>
      Effect.asVoid(
        Effect.orDie(sql`
          DELETE FROM webhook_secrets
          WHERE organization_id = ${organizationId} AND endpoint_id = ${endpointId} AND (expires_at <= ${at} OR id IN (
            SELECT id FROM webhook_secrets
            WHERE organization_id = ${organizationId} AND endpoint_id = ${endpointId}
            ORDER BY id DESC OFFSET ${kept}))`),
      ),

    /** The secrets that sign at this time, newest first. */
    secretsAt: (organizationId: string, endpointId: string, at: Date) =>
      records<SealedSecret>()(sql`
        SELECT id, sealed FROM webhook_secrets
        WHERE organization_id = ${organizationId} AND endpoint_id = ${endpointId}
          AND (expires_at IS NULL OR expires_at > ${at})
        ORDER BY id DESC`),
  }
})

/** Rows of webhook endpoints. */
export class WebhooksRepo extends Context.Service<WebhooksRepo, Effect.Success<typeof make>>()(
  "keyshelf/webhooks/Repo",
) {
  static readonly layer = Layer.effect(WebhooksRepo, make)
}
