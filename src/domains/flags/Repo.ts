/** SQL statements for feature flags. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { decodedOne, decodedValue, executed, record, records, returnedRow } from "../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { FeatureFlag } from "./Model.ts"
import type { EvaluatedFlag, ManifestFlag } from "./Model.ts"

type ManifestRow = Pick<ManifestFlag, "key" | "name" | "type"> & {
  readonly description: string | null
  readonly fallback: unknown
}

/** Stores feature flags. */
export class FlagsRepo extends Context.Service<
  FlagsRepo,
  {
    /** Inserts a row unless the key is taken; returns whether it was inserted. */
    readonly insert: (organizationId: OrganizationId, row: FeatureFlag) => Effect.Effect<boolean>
    /** The flag with a key. */
    readonly findByKey: (organizationId: OrganizationId, key: string) => Effect.Effect<Option.Option<FeatureFlag>>
    /** Flags after a position, newest first. */
    readonly list: (
      organizationId: OrganizationId,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<FeatureFlag>>
    /** Reads the row and locks it until the transaction ends. */
    readonly lockByKey: (organizationId: OrganizationId, key: string) => Effect.Effect<Option.Option<FeatureFlag>>
    /** Updates a locked row. */
    readonly update: (organizationId: OrganizationId, row: FeatureFlag) => Effect.Effect<void>
    /** Deletes a locked row. */
    readonly delete: (organizationId: OrganizationId, id: string) => Effect.Effect<void>
    /** Reads the flags that have a fallback value, sorted by key. */
    readonly listForManifest: (organizationId: OrganizationId) => Effect.Effect<ReadonlyArray<ManifestRow>>
    /** Reads the columns that the evaluation of one flag needs. */
    readonly findForEvaluation: (
      organizationId: OrganizationId,
      key: string,
    ) => Effect.Effect<Option.Option<EvaluatedFlag>>
    /** Reads the columns that the evaluation of all flags needs. */
    readonly listForEvaluation: (organizationId: OrganizationId) => Effect.Effect<ReadonlyArray<EvaluatedFlag>>
    /** What differs whenever a flag of the organization is created, changed or deleted: the locations and versions of all rows. */
    readonly versionOf: (organizationId: OrganizationId) => Effect.Effect<string>
  }
>()("keyshelf/flags/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(FlagsRepo, make))
}

const versionIn = decodedValue("version", Schema.NullOr(Schema.String))

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const evaluated = sql.literal(`key, enabled, metadata, variants, default_variant AS "defaultVariant", targetings`)
  const columns = sql.literal(`id, key, name, description, type, enabled, metadata, variants,
    default_variant AS "defaultVariant", targetings, created_at AS "createdAt", updated_at AS "updatedAt",
    created_by AS "createdBy", updated_by AS "updatedBy"`)

  return FlagsRepo.of({
    insert: (organizationId, row) =>
      returnedRow(sql`
        INSERT INTO feature_flags (organization_id, id, key, name, description, type, enabled, metadata, variants,
          default_variant, targetings, created_at, created_by, updated_at, updated_by)
        VALUES (${organizationId}, ${row.id}, ${row.key}, ${row.name}, ${row.description}, ${row.type},
          ${row.enabled}, ${sql.json(row.metadata)}, ${sql.json(row.variants)}, ${row.defaultVariant},
          ${sql.json(row.targetings)}, ${row.createdAt}, ${sql.json(row.createdBy)}, ${row.updatedAt},
          ${sql.json(row.updatedBy)})
        ON CONFLICT ON CONSTRAINT feature_flags_key DO NOTHING
        RETURNING id`),

    findByKey: (organizationId, key) =>
      record<FeatureFlag>()(
        sql`SELECT ${columns} FROM feature_flags WHERE organization_id = ${organizationId} AND key = ${key}`,
      ),

    list: (organizationId, after, count) =>
      records<FeatureFlag>()(sql`
        SELECT ${columns} FROM feature_flags
        WHERE organization_id = ${organizationId} AND id < ${idBefore(after)}
        ORDER BY id DESC LIMIT ${count}`),

    lockByKey: (organizationId, key) =>
      decodedOne(FeatureFlag)(sql`
        SELECT ${columns} FROM feature_flags WHERE organization_id = ${organizationId} AND key = ${key} FOR UPDATE`),

    update: (organizationId, row) =>
      executed(sql`
        UPDATE feature_flags SET name = ${row.name}, description = ${row.description}, enabled = ${row.enabled},
          metadata = ${sql.json(row.metadata)}, variants = ${sql.json(row.variants)},
          default_variant = ${row.defaultVariant}, targetings = ${sql.json(row.targetings)},
          updated_at = ${row.updatedAt}, updated_by = ${sql.json(row.updatedBy)}
        WHERE organization_id = ${organizationId} AND id = ${row.id}`),

    delete: (organizationId, id) =>
      executed(sql`DELETE FROM feature_flags WHERE organization_id = ${organizationId} AND id = ${id}`),

    listForManifest: (organizationId) =>
      records<ManifestRow>()(sql`
        SELECT key, name, description, type, metadata -> 'fallback_value' AS fallback FROM feature_flags
        WHERE organization_id = ${organizationId} AND metadata ->> 'fallback_value' IS NOT NULL
        ORDER BY key`),

    findForEvaluation: (organizationId, key) =>
      record<EvaluatedFlag>()(
        sql`SELECT ${evaluated} FROM feature_flags WHERE organization_id = ${organizationId} AND key = ${key}`,
      ),

    listForEvaluation: (organizationId) =>
      records<EvaluatedFlag>()(sql`SELECT ${evaluated} FROM feature_flags WHERE organization_id = ${organizationId}`),

    versionOf: (organizationId) =>
      Effect.map(
        versionIn(sql`
          SELECT string_agg(ctid::text || xmin::text, ' ' ORDER BY ctid) AS version FROM feature_flags
          WHERE organization_id = ${organizationId}`),
        Option.getOrElse(() => ""),
      ),
  })
})
