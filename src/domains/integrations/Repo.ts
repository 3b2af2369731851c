/** SQL of integration records. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import type { Option } from "effect"
import type { IntegrationRecord } from "../customers/Model.ts"
import type { ActorReference } from "../../kernel/contract/Caller.ts"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { advisoryLock, decodedValue, executed, record, records, returnedRow } from "../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import type { ExternalKey, IntegrationKind, NamedIntegrationRecord } from "./Model.ts"

/** Identifies a record by its resource and connector. */
interface RecordKey {
  readonly kind: IntegrationKind
  readonly resourceId: string
  readonly connector: string
}

/** The actor and time of a write. `id` becomes the id of a new record. */
interface WriteContext {
  readonly id: string
  readonly at: Date
  readonly actor: ActorReference
}

/** Stores and reads integration records. */
export class IntegrationsRepo extends Context.Service<
  IntegrationsRepo,
  {
    /**
     * Locks an external id until the transaction ends: no other transaction can assign it. To prevent deadlocks, take
     * this lock before the lock of the resource.
     */
    readonly lockExternalId: (organizationId: OrganizationId, key: ExternalKey) => Effect.Effect<void>
    /** Finds the id of the resource with this external id. */
    readonly findResource: (organizationId: OrganizationId, key: ExternalKey) => Effect.Effect<Option.Option<string>>
    /** The record of a resource for a connector. */
    readonly find: (organizationId: OrganizationId, key: RecordKey) => Effect.Effect<Option.Option<IntegrationRecord>>
    /** The records of a resource after a position, newest first. */
    readonly list: (
      organizationId: OrganizationId,
      resource: Omit<RecordKey, "connector">,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<NamedIntegrationRecord & { readonly id: string }>>
    /** Inserts or updates a record. The caller must hold the locks of the external id and of the resource. */
    readonly save: (
      organizationId: OrganizationId,
      key: RecordKey,
      row: IntegrationRecord,
      writing: WriteContext,
    ) => Effect.Effect<void>
    /** Deletes the record and returns whether it existed. */
    readonly delete: (organizationId: OrganizationId, key: RecordKey) => Effect.Effect<boolean>
  }
>()("keyshelf/integrations/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(IntegrationsRepo, make))
}

const resourceIdIn = decodedValue("resourceId", Schema.String)

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = sql.literal(`external_id, last_error, metadata,
    to_char(synced_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS synced_at, web_url`)
  const at = (organizationId: OrganizationId, { connector, kind, resourceId }: RecordKey) =>
    sql`organization_id = ${organizationId} AND kind = ${kind} AND resource_id = ${resourceId}
      AND connector = ${connector}`

  return IntegrationsRepo.of({
    lockExternalId: (organizationId, { connector, externalId, kind }) =>
      advisoryLock(sql, `integrations:${organizationId}:${kind}:${connector}:${externalId}`),

    findResource: (organizationId, { connector, externalId, kind }) =>
      resourceIdIn(sql`
        SELECT resource_id AS "resourceId" FROM integration_records
        WHERE organization_id = ${organizationId} AND connector = ${connector} AND kind = ${kind}
          AND external_id = ${externalId}`),

    find: (organizationId, key) =>
      record<IntegrationRecord>()(sql`SELECT ${columns} FROM integration_records WHERE ${at(organizationId, key)}`),

    list: (organizationId, { kind, resourceId }, after, count) =>
      records<NamedIntegrationRecord & { readonly id: string }>()(sql`
        SELECT id, connector AS "integrationName", ${columns} FROM integration_records
        WHERE organization_id = ${organizationId} AND kind = ${kind} AND resource_id = ${resourceId}
          AND id < ${idBefore(after)}
        ORDER BY id DESC LIMIT ${count}`),

    save: (organizationId, key, row, writing) =>
      executed(sql`
        INSERT INTO integration_records (organization_id, id, kind, resource_id, connector, external_id, web_url,
          metadata, last_error, synced_at, created_at, created_by, updated_at, updated_by)
        VALUES (${organizationId}, ${writing.id}, ${key.kind}, ${key.resourceId}, ${key.connector},
          ${row.external_id}, ${row.web_url}, ${sql.json(row.metadata)}, ${row.last_error},
          ${row.synced_at === null ? null : new Date(row.synced_at)}, ${writing.at}, ${sql.json(writing.actor)},
          ${writing.at}, ${sql.json(writing.actor)})
        ON CONFLICT (organization_id, kind, resource_id, connector) DO UPDATE SET external_id = excluded.external_id,
          web_url = excluded.web_url, metadata = excluded.metadata, last_error = excluded.last_error,
          synced_at = excluded.synced_at, updated_at = excluded.updated_at, updated_by = excluded.updated_by`),

    delete: (organizationId, key) =>
      returnedRow(sql`DELETE FROM integration_records WHERE ${at(organizationId, key)} RETURNING id`),
  })
})
