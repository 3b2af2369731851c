/** SQL statements for metadata fields. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema, Struct } from "effect"
import type { Option } from "effect"
import { afterInDisplayOrder } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { advisoryLock, decoded, executed, record, records, returnedRow } from "../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { MetadataField } from "./Model.ts"
import type { ResourceType } from "./Model.ts"

/** A stored field. `archivedAt` is `null` for an active field. */
export type MetadataFieldRow = Omit<MetadataField, "archivedAt"> & { readonly archivedAt: Date | null }

/** The columns of a field that validate a value. */
const MetadataRule = Schema.Struct({
  ...Struct.pick(MetadataField.fields, ["key", "jsonSchema"]),
  archivedAt: Schema.NullOr(Schema.Date),
})
type MetadataRule = typeof MetadataRule.Type

/** Stores metadata fields. */
export class MetadataFieldsRepo extends Context.Service<
  MetadataFieldsRepo,
  {
    /** Locks a key until the transaction ends, so that creating and unarchiving fields with it run one at a time. */
    readonly lockKey: (organizationId: OrganizationId, resourceType: ResourceType, key: string) => Effect.Effect<void>
    /** Whether an active field has the key. */
    readonly isKeyActive: (
      organizationId: OrganizationId,
      resourceType: ResourceType,
      key: string,
    ) => Effect.Effect<boolean>
    /** Stores a new field. The caller holds the lock of its key. */
    readonly insert: (organizationId: OrganizationId, row: MetadataFieldRow) => Effect.Effect<void>
    /** The field with an id, active or archived. */
    readonly findById: (organizationId: OrganizationId, id: string) => Effect.Effect<Option.Option<MetadataFieldRow>>
    /** Reads and locks the row. Waits for running writes of the field's values, and blocks new ones. */
    readonly lockById: (organizationId: OrganizationId, id: string) => Effect.Effect<Option.Option<MetadataFieldRow>>
    /** Fields after a position, in their display order, of one kind of record or of all. */
    readonly list: (
      organizationId: OrganizationId,
      resourceType: ResourceType | undefined,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<MetadataFieldRow>>
    /** Updates a locked row. */
    readonly update: (organizationId: OrganizationId, row: MetadataFieldRow) => Effect.Effect<void>
    /** Reads the active and archived fields of these keys and locks them against changes until the transaction ends. */
    readonly lockRules: (
      organizationId: OrganizationId,
      resourceType: ResourceType,
      keys: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyArray<MetadataRule>>
  }
>()("keyshelf/metadata/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(MetadataFieldsRepo, make))
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = sql.literal(`id, key, label, resource_type AS "resourceType", json_schema AS "jsonSchema",
    display_order AS "displayOrder", archived_at AS "archivedAt", created_at AS "createdAt",
    updated_at AS "updatedAt", created_by AS "createdBy", updated_by AS "updatedBy"`)

  return MetadataFieldsRepo.of({
    lockKey: (organizationId, resourceType, key) =>
      advisoryLock(sql, `metadata-field/${organizationId}/${resourceType}/${key}`),

    isKeyActive: (organizationId, resourceType, key) =>
      returnedRow(sql`
        SELECT 1 FROM metadata_fields
        WHERE organization_id = ${organizationId} AND resource_type = ${resourceType} AND key = ${key}
          AND archived_at IS NULL`),

    insert: (organizationId, row) =>
      executed(sql`
        INSERT INTO metadata_fields (organization_id, id, key, label, resource_type, json_schema, display_order,
          archived_at, created_at, created_by, updated_at, updated_by)
        VALUES (${organizationId}, ${row.id}, ${row.key}, ${row.label}, ${row.resourceType},
          ${JSON.stringify(row.jsonSchema)}::text::json, ${row.displayOrder}, ${row.archivedAt}, ${row.createdAt},
          ${sql.json(row.createdBy)}, ${row.updatedAt}, ${sql.json(row.updatedBy)})`),

    findById: (organizationId, id) =>
      record<MetadataFieldRow>()(
        sql`SELECT ${columns} FROM metadata_fields WHERE organization_id = ${organizationId} AND id = ${id}`,
      ),

    lockById: (organizationId, id) =>
      record<MetadataFieldRow>()(
        sql`SELECT ${columns} FROM metadata_fields WHERE organization_id = ${organizationId} AND id = ${id} FOR UPDATE`,
      ),

    list: (organizationId, resourceType, after, count) => {
      const [displayOrder, id] = afterInDisplayOrder(after)
      return records<MetadataFieldRow>()(sql`
        SELECT ${columns} FROM metadata_fields
        WHERE organization_id = ${organizationId} AND (display_order, id) > (${displayOrder}, ${id})
          AND (${resourceType ?? null}::text IS NULL OR resource_type = ${resourceType ?? null})
        ORDER BY display_order, id LIMIT ${count}`)
    },

    update: (organizationId, row) =>
      executed(sql`
        UPDATE metadata_fields SET label = ${row.label}, json_schema = ${JSON.stringify(row.jsonSchema)}::text::json,
          display_order = ${row.displayOrder}, archived_at = ${row.archivedAt}, updated_at = ${row.updatedAt},
          updated_by = ${sql.json(row.updatedBy)}
        WHERE organization_id = ${organizationId} AND id = ${row.id}`),

    lockRules: (organizationId, resourceType, keys) =>
      decoded(MetadataRule)(sql`
        SELECT key, json_schema AS "jsonSchema", archived_at AS "archivedAt" FROM metadata_fields
        WHERE organization_id = ${organizationId} AND resource_type = ${resourceType} AND key = ANY(${keys}::text[])
        FOR SHARE`),
  })
})
