/** SQL of instances. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema, Struct } from "effect"
import type { Fragment } from "effect/sql/Statement"
import type { ActorReference } from "../../kernel/contract/Caller.ts"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { HotPath } from "../../kernel/database/Connections.ts"
import { customersSql } from "../customers/CustomersSql.ts"
import { IntegrationRecordsSql } from "../customers/IntegrationRecordsSql.ts"
import { licensesSql } from "../licenses/LicensesSql.ts"
import { zonesSql } from "../zones/ZonesSql.ts"
import type { ReadableRows } from "../../kernel/database/ReadableRows.ts"
import { isAt, rowByKey } from "../../kernel/database/RowsByKey.ts"
import {
  decoded,
  decodedColumn,
  decodedOne,
  executed,
  record,
  records,
  returnedRow,
} from "../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { instanceIds } from "./ListSql.ts"
import { Instance, OfflineSequence } from "./Model.ts"
import type { InstanceFilters } from "./Model.ts"

/** Another license version, from an instant on. */
interface LicenseMove {
  readonly licenseId: string
  readonly at: Date
  readonly by: ActorReference
}

/** The zone of an instance, by id and names. */
const ZoneOf = Instance.mapFields(Struct.pick(["deploymentZoneId", "deploymentZoneSlug", "deploymentZoneName"]))
type ZoneOf = typeof ZoneOf.Type

/** An instance that is locked against deletion. */
const NamedInstance = Instance.mapFields(Struct.pick(["id", "name", "slug"]))
type NamedInstance = typeof NamedInstance.Type

interface InstanceQueries {
  /** Stores the row if its slug is free and returns whether it was. */
  readonly insert: (organizationId: OrganizationId, row: Instance) => Effect.Effect<boolean>
  /** Finds an instance by its id. */
  readonly findById: (organizationId: OrganizationId, id: string) => Effect.Effect<Option.Option<Instance>>
  /** Finds an instance by its slug. Runs on the connection of the hot path. */
  readonly findBySlug: (organizationId: OrganizationId, slug: string) => Effect.Effect<Option.Option<Instance>>
  /** Reads the records of ids, in any order. */
  readonly listByIds: (
    organizationId: OrganizationId,
    ids: ReadonlyArray<string>,
  ) => Effect.Effect<ReadonlyArray<Instance>>
  /** Up to `count` instances that match the filters, from the newest on, after a position. */
  readonly list: (
    organizationId: OrganizationId,
    filters: InstanceFilters & { readonly at: Date },
    after: Position | null,
    count: number,
  ) => Effect.Effect<ReadonlyArray<Instance>>
  /**
   * Locks the row until the transaction ends. After a wait for the lock, `integrations` can be stale. `update` and
   * `delete` return current ones.
   */
  readonly lockBySlug: (organizationId: OrganizationId, slug: string) => Effect.Effect<Option.Option<Instance>>
  /** Finds an instance and locks it against deletion until the transaction ends. */
  readonly lockBySlugShared: (
    organizationId: OrganizationId,
    slug: string,
  ) => Effect.Effect<Option.Option<NamedInstance>>
  /** Like {@link lockBySlug}. */
  readonly lockById: (organizationId: OrganizationId, id: string) => Effect.Effect<Option.Option<Instance>>
  /** Locks the rows in the order of their ids. They are read after the locks, so none of them is stale. */
  readonly lockByIds: (
    organizationId: OrganizationId,
    ids: ReadonlyArray<string>,
  ) => Effect.Effect<ReadonlyArray<Instance>>
  /**
   * Draws the next number of an instance's offline bundles. Locks the row until the transaction ends, so that no number is
   * left out.
   */
  readonly nextOfflineSequence: (
    organizationId: OrganizationId,
    slug: string,
  ) => Effect.Effect<Option.Option<OfflineSequence>>
  /** From now until an instant, checks of an instance read its allowances. */
  readonly readAllowancesUntil: (organizationId: OrganizationId, id: string, until: Date) => Effect.Effect<void>
  /** Gives locked rows another license version, stores their previous terms, and returns the stored records. */
  readonly moveToLicense: (
    organizationId: OrganizationId,
    ids: ReadonlyArray<string>,
    move: LicenseMove,
  ) => Effect.Effect<ReadonlyArray<Instance>>
  /** Finds a deployment zone and locks it against deletion until the transaction ends. */
  readonly lockZoneShared: (organizationId: OrganizationId, id: string) => Effect.Effect<Option.Option<ZoneOf>>
  /** Updates a locked row and returns the stored record. Stores the previous terms if they change. */
  readonly update: (organizationId: OrganizationId, row: Instance) => Effect.Effect<Instance>
  /** Deletes a locked instance and, by cascade, its integration records. Returns the deleted record. */
  readonly delete: (organizationId: OrganizationId, id: string) => Effect.Effect<Instance>
}

/** The columns of an instance's record. */
export const instanceColumns = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const integrations = yield* IntegrationRecordsSql
  const nameOf = (organizationId: OrganizationId, rows: ReadableRows, key: string, column: "slug" | "name") =>
    sql`(SELECT * FROM ${rows.byKey(sql, column, organizationId, `instances.${key}`)} AS named)`
  return (organizationId: OrganizationId): Fragment => sql`id, name, slug, description, customer_id AS "customerId",
    ${nameOf(organizationId, customersSql, "customer_id", "slug")} AS "customerSlug",
    ${nameOf(organizationId, customersSql, "customer_id", "name")} AS "customerName", license_id AS "licenseId",
    ${nameOf(organizationId, licensesSql, "license_id", "slug")} AS "licenseSlug",
    ${nameOf(organizationId, licensesSql, "license_id", "name")} AS "licenseName", deployment_zone_id AS "deploymentZoneId",
    ${nameOf(organizationId, zonesSql, "deployment_zone_id", "slug")} AS "deploymentZoneSlug",
    ${nameOf(organizationId, zonesSql, "deployment_zone_id", "name")} AS "deploymentZoneName",
    start_license_date AS "startLicenseDate", end_license_date AS "endLicenseDate", grace_days AS "graceDays",
    end_maintenance_date AS "endMaintenanceDate", metadata,
    ${integrations.of(sql, "INSTANCE", "instances", organizationId)} AS integrations, created_at AS "createdAt",
    updated_at AS "updatedAt", created_by AS "createdBy", updated_by AS "updatedBy"`
})

type Columns = (organizationId: OrganizationId) => Fragment

/** The rows of ids, to be selected from. */
const byIds = (
  sql: PgClient.PgClient,
  organizationId: OrganizationId,
  ids: ReadonlyArray<string>,
  select = "*",
  lock?: string,
): Fragment => {
  const row = {
    table: "instances",
    within: sql`organization_id = ${organizationId}`,
    column: "id",
    key: "wanted.key",
  }
  return sql`unnest(${[...new Set(ids)]}::uuid[]) AS wanted (key) CROSS JOIN ${rowByKey(sql, select, row, lock)} AS instances`
}

const reads = (sql: PgClient.PgClient, askFor: HotPath["Service"]["askFor"], columns: Columns) => {
  const idsOf = instanceIds(sql)
  return {
    findById: (organizationId, id) =>
      record<Instance>()(
        sql`SELECT ${columns(organizationId)} FROM instances WHERE organization_id = ${organizationId} AND id = ${id}`,
      ),

    findBySlug: (organizationId, slug) =>
      record<Instance>()(
        askFor(organizationId)(
          (client) =>
            client`SELECT ${columns(organizationId)} FROM instances WHERE organization_id = ${organizationId} AND slug = ${slug}`,
        ),
      ),

    listByIds: (organizationId, ids) =>
      records<Instance>()(sql`SELECT ${columns(organizationId)} FROM ${byIds(sql, organizationId, ids)}`),

    list: (organizationId, filters, after, count) =>
      records<Instance>()(sql`
        SELECT ${columns(organizationId)} FROM instances
        WHERE organization_id = ${organizationId}
          AND id = ANY(ARRAY(${idsOf(organizationId, filters, sql`id < ${idBefore(after)}`, count)}))
        ORDER BY id DESC`),
  } satisfies Partial<InstanceQueries>
}

const idsIn = decodedColumn("id", Schema.String)

const locks = (sql: PgClient.PgClient, columns: Columns) =>
  ({
    lockBySlug: (organizationId, slug) =>
      decodedOne(Instance)(sql`
        SELECT ${columns(organizationId)} FROM instances WHERE organization_id = ${organizationId} AND slug = ${slug} FOR UPDATE`),

    lockBySlugShared: (organizationId, slug) =>
      decodedOne(NamedInstance)(sql`
        SELECT id, name, slug FROM instances WHERE organization_id = ${organizationId} AND slug = ${slug} FOR KEY SHARE`),

    lockById: (organizationId, id) =>
      decodedOne(Instance)(sql`
        SELECT ${columns(organizationId)} FROM instances WHERE organization_id = ${organizationId} AND id = ${id} FOR UPDATE`),

    lockByIds: Effect.fnUntraced(function* (organizationId: OrganizationId, ids: ReadonlyArray<string>) {
      const inOrder = ids.toSorted()
      const lockedIds = yield* idsIn(
        sql`SELECT instances.id FROM ${byIds(sql, organizationId, inOrder, "id", "FOR UPDATE")}`,
      )
      return yield* decoded(Instance)(
        sql`SELECT ${columns(organizationId)} FROM ${byIds(sql, organizationId, lockedIds)}`,
      )
    }),

    lockZoneShared: (organizationId, id) =>
      decodedOne(ZoneOf)(sql`
        SELECT id AS "deploymentZoneId", slug AS "deploymentZoneSlug", name AS "deploymentZoneName" FROM ${zonesSql.rows}
        WHERE organization_id = ${organizationId} AND id = ${id} FOR KEY SHARE`),
  }) satisfies Partial<InstanceQueries>

const writes = (sql: PgClient.PgClient, columns: Columns) =>
  ({
    insert: (organizationId, row) =>
      returnedRow(sql`
        INSERT INTO instances (organization_id, id, name, slug, description, customer_id, license_id,
          deployment_zone_id, start_license_date, end_license_date, grace_days, end_maintenance_date, metadata,
          created_at, created_by, updated_at, updated_by)
        VALUES (${organizationId}, ${row.id}, ${row.name}, ${row.slug}, ${row.description}, ${row.customerId},
          ${row.licenseId}, ${row.deploymentZoneId}, ${row.startLicenseDate}, ${row.endLicenseDate},
          ${row.graceDays}, ${row.endMaintenanceDate}, ${sql.json(row.metadata)}, ${row.createdAt},
          ${sql.json(row.createdBy)}, ${row.updatedAt}, ${sql.json(row.updatedBy)})
        ON CONFLICT ON CONSTRAINT instances_slug DO NOTHING
        RETURNING id`),

    nextOfflineSequence: (organizationId, slug) =>
      decodedOne(OfflineSequence)(sql`
        UPDATE instances SET offline_sequence = offline_sequence + 1
        WHERE organization_id = ${organizationId} AND slug = ${slug}
        RETURNING id, slug, offline_sequence AS sequence`),

    readAllowancesUntil: (organizationId, id, until) =>
      executed(sql`
        UPDATE instances SET allowances_until = greatest(allowances_until, ${until})
        WHERE organization_id = ${organizationId} AND id = ${id}`),

    moveToLicense: (organizationId, ids, { at, by, licenseId }) =>
      records<Instance>()(sql`
        WITH moved AS MATERIALIZED (
          SELECT instances.* FROM ${byIds(sql, organizationId, ids, "*, ctid AS location")}
        ), before AS (
          INSERT INTO past_instance_terms (organization_id, instance_id, until, license_id, start_license_date,
            end_license_date, grace_days)
          SELECT organization_id, id, ${at}, license_id, start_license_date, end_license_date, grace_days FROM moved
          ON CONFLICT DO NOTHING
        )
        UPDATE instances SET license_id = ${licenseId}, updated_at = ${at}, updated_by = ${sql.json(by)}
        WHERE ${isAt(sql, null, sql`SELECT location FROM moved`)}
        RETURNING ${columns(organizationId)}`),

    update: (organizationId, row) =>
      Effect.map(
        record<Instance>()(sql`
          WITH before AS (
            INSERT INTO past_instance_terms (organization_id, instance_id, until, license_id, start_license_date,
              end_license_date, grace_days)
            SELECT organization_id, id, ${row.updatedAt}, license_id, start_license_date, end_license_date, grace_days
            FROM instances
            WHERE organization_id = ${organizationId} AND id = ${row.id}
              AND (license_id, start_license_date, end_license_date, grace_days) IS DISTINCT FROM
                (${row.licenseId}::uuid, ${row.startLicenseDate}::timestamptz, ${row.endLicenseDate}::timestamptz,
                  ${row.graceDays}::smallint)
            ON CONFLICT DO NOTHING
          )
          UPDATE instances SET name = ${row.name}, description = ${row.description}, customer_id = ${row.customerId},
            license_id = ${row.licenseId}, deployment_zone_id = ${row.deploymentZoneId},
            start_license_date = ${row.startLicenseDate}, end_license_date = ${row.endLicenseDate},
            grace_days = ${row.graceDays}, end_maintenance_date = ${row.endMaintenanceDate},
            metadata = ${sql.json(row.metadata)}, updated_at = ${row.updatedAt}, updated_by = ${sql.json(row.updatedBy)}
          WHERE organization_id = ${organizationId} AND id = ${row.id}
          RETURNING ${columns(organizationId)}`),
        Option.getOrThrow,
      ),
  }) satisfies Partial<InstanceQueries>

const deletions = (sql: PgClient.PgClient, columns: Columns) =>
  ({
    delete: (organizationId, id) =>
      Effect.map(
        record<Instance>()(
          sql`DELETE FROM instances WHERE organization_id = ${organizationId} AND id = ${id} RETURNING ${columns(organizationId)}`,
        ),
        Option.getOrThrow,
      ),
  }) satisfies Partial<InstanceQueries>

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const { askFor } = yield* HotPath
  const columns = yield* instanceColumns
  return {
    ...reads(sql, askFor, columns),
    ...locks(sql, columns),
    ...writes(sql, columns),
    ...deletions(sql, columns),
  } satisfies InstanceQueries
})

/** Stores and reads instances. */
export class InstancesRepo extends Context.Service<InstancesRepo, InstanceQueries>()("keyshelf/instances/Repo") {
  static readonly layer = Layer.effect(InstancesRepo, make)
}
