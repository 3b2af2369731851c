/** SQL of the impact of changes: it reads tables of other domains, so that each impact takes one statement. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { affectedRows } from "../../kernel/database/AffectedRows.ts"
import { decoded, decodedColumn, decodedOne, decodedValue } from "../../kernel/database/Statements.ts"
import type { Affected, AffectedInstance } from "../../kernel/contract/dryruns/Impact.ts"
import type {
  ConnectorImpact,
  InstanceDeletionImpact,
  RevocationImpact,
} from "../../kernel/contract/dryruns/ImpactModels.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { holdersOf } from "../instances/addons/AddOnsSql.ts"
import { licensesSql } from "../licenses/LicensesSql.ts"

type ItemOf<A extends { readonly items: ReadonlyArray<unknown> }> = A["items"][number]

/** The field that decides on the values of a key. */
const DecidingField = Schema.Struct({
  key: Schema.String,
  resourceType: Schema.Literals(["DEPLOYMENT_ZONE", "INSTANCE"]),
  jsonSchema: Schema.Unknown,
  isArchived: Schema.Boolean,
})
type DecidingField = typeof DecidingField.Type

/** A stored value of a metadata key. */
const StoredValue = Schema.Struct({
  slug: Schema.String,
  /** Of an instance. */
  customer: Schema.optionalKey(Schema.String),
  id: Schema.String,
  value: Schema.Unknown,
})
export type StoredValue = typeof StoredValue.Type

// As timestamps are written in JSON elsewhere.
const instant = (column: string): string => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** Reads what a change concerns. */
export class ImpactRepo extends Context.Service<
  ImpactRepo,
  {
    /** Instances with this license version, or with an add-on of it that is in force at an instant or planned. */
    readonly instancesOn: (
      organizationId: OrganizationId,
      licenseSlug: string,
      at: Date,
    ) => Effect.Effect<Affected<AffectedInstance>>
    /** The ids of the same, after an id. */
    readonly instanceIdsOn: (
      organizationId: OrganizationId,
      version: { readonly licenseSlug: string; readonly at: Date },
      after: string | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<string>>
    /** The id of the instance with a slug, if there is one. */
    readonly instanceIdsNamed: (organizationId: OrganizationId, slug: string) => Effect.Effect<ReadonlyArray<string>>
    /** The ids of all versions of a family. */
    readonly versionsOf: (organizationId: OrganizationId, familySlug: string) => Effect.Effect<ReadonlyArray<string>>
    /** The slug of the default version of a family. */
    readonly defaultOf: (organizationId: OrganizationId, familySlug: string) => Effect.Effect<string | null>
    /** The usage events of an instance: their count, and the first ones. */
    readonly usageEventsOf: (
      organizationId: OrganizationId,
      instanceSlug: string,
    ) => Effect.Effect<Affected<ItemOf<InstanceDeletionImpact["usageEvents"]>>>
    /** The reservations of an instance that are in force at an instant, oldest first. */
    readonly reservationsOf: (
      organizationId: OrganizationId,
      instanceSlug: string,
      at: Date,
    ) => Effect.Effect<Affected<ItemOf<InstanceDeletionImpact["reservations"]>>>
    /** Offline bundles that are neither revoked nor expired: all of an instance, or one and those before it. */
    readonly bundlesInForce: (
      organizationId: OrganizationId,
      instanceSlug: string,
      upTo: string | null,
      at: Date,
    ) => Effect.Effect<Affected<ItemOf<RevocationImpact["bundles"]>>>
    /** The field that decides on values of the key of this field: the active one, otherwise this one. */
    readonly decidingField: (
      organizationId: OrganizationId,
      fieldId: string,
    ) => Effect.Effect<Option.Option<DecidingField>>
    /** Stored values of a key, by the ids of their records, after an id. */
    readonly valuesOf: (
      organizationId: OrganizationId,
      field: DecidingField,
      after: string | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<StoredValue>>
    /** The integration records of a connector, by the kind of their resource and their external id. */
    readonly integrationRecordsOf: (
      organizationId: OrganizationId,
      connector: string,
    ) => Effect.Effect<Affected<ItemOf<ConnectorImpact["integrationRecords"]>>>
  }
>()("keyshelf/impact/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(ImpactRepo, make))
}

const slugIn = decodedValue("slug", Schema.String)
const idsIn = decodedColumn("id", Schema.String)

const ofLicenses = (sql: PgClient.PgClient) =>
  ({
    instancesOn: (organizationId: OrganizationId, licenseSlug: string, at: Date) =>
      affectedRows<AffectedInstance>()(
        sql,
        sql`
        SELECT i.slug, c.slug AS customer
        FROM ${holdersOf(sql, { organizationId, at, license: licensesSql.idBySlug(sql, organizationId, licenseSlug) })} held
        JOIN instances i ON i.organization_id = ${organizationId} AND i.id = held.id
        JOIN customers c ON c.organization_id = i.organization_id AND c.id = i.customer_id
        ORDER BY i.id`,
      ),

    instanceIdsOn: (organizationId, { at, licenseSlug }, after, count) =>
      idsIn(sql`
      SELECT held.id FROM ${holdersOf(sql, {
        organizationId,
        at,
        license: licensesSql.idBySlug(sql, organizationId, licenseSlug),
        page: { after, count },
      })} held
      ORDER BY held.id LIMIT ${count}`),

    instanceIdsNamed: (organizationId, slug) =>
      idsIn(sql`SELECT id FROM instances WHERE organization_id = ${organizationId} AND slug = ${slug}`),

    versionsOf: (organizationId, familySlug) =>
      idsIn(sql`
      SELECT l.id FROM license_families f
      JOIN licenses l ON l.organization_id = f.organization_id AND l.family_id = f.id
      WHERE f.organization_id = ${organizationId} AND f.slug = ${familySlug}`),

    defaultOf: (organizationId: OrganizationId, familySlug: string) =>
      Effect.map(
        slugIn(sql`
        SELECT l.slug FROM license_families f
        JOIN licenses l ON l.organization_id = f.organization_id AND l.family_id = f.id AND l.is_default
        WHERE f.organization_id = ${organizationId} AND f.slug = ${familySlug}`),
        Option.getOrNull,
      ),
  }) satisfies Partial<ImpactRepo["Service"]>

const ofInstances = (sql: PgClient.PgClient) => {
  const timestamp = sql.literal(instant("u.timestamp"))
  const expiresAt = sql.literal(instant("r.expires_at"))
  const bundleExpiresAt = sql.literal(instant("b.expires_at"))

  return {
    usageEventsOf: (organizationId: OrganizationId, instanceSlug: string) =>
      affectedRows<ItemOf<InstanceDeletionImpact["usageEvents"]>>()(
        sql,
        sql`
          SELECT e.slug AS entitlement, ${timestamp} AS timestamp FROM instances i
          JOIN usage_events u ON u.organization_id = i.organization_id AND u.instance_id = i.id
          JOIN entitlements e ON e.organization_id = u.organization_id AND e.id = u.entitlement_id
          WHERE i.organization_id = ${organizationId} AND i.slug = ${instanceSlug}`,
      ),

    reservationsOf: (organizationId: OrganizationId, instanceSlug: string, at: Date) =>
      affectedRows<ItemOf<InstanceDeletionImpact["reservations"]>>()(
        sql,
        sql`
          SELECT r.id, e.slug AS entitlement, ${expiresAt} AS "expiresAt" FROM instances i
          JOIN usage_reservations r ON r.organization_id = i.organization_id AND r.instance_id = i.id
          JOIN entitlements e ON e.organization_id = r.organization_id AND e.id = r.entitlement_id
          WHERE i.organization_id = ${organizationId} AND i.slug = ${instanceSlug}
            AND r.state = 'HELD' AND r.expires_at > ${at} AND r.ledger IS NULL
          ORDER BY r.id`,
      ),

    bundlesInForce: (organizationId: OrganizationId, instanceSlug: string, upTo: string | null, at: Date) =>
      affectedRows<ItemOf<RevocationImpact["bundles"]>>()(
        sql,
        sql`
          SELECT b.id, b.sequence, ${bundleExpiresAt} AS "expiresAt" FROM instances i
          JOIN offline_bundles b ON b.organization_id = i.organization_id AND b.instance_id = i.id
          WHERE i.organization_id = ${organizationId} AND i.slug = ${instanceSlug}
            AND b.revoked_at IS NULL AND b.expires_at > ${at}
            AND (${upTo}::uuid IS NULL OR b.sequence <= (SELECT sequence FROM offline_bundles
              WHERE organization_id = ${organizationId} AND instance_id = i.id AND id = ${upTo}::uuid))
          ORDER BY b.sequence DESC`,
      ),
  }
}

const ofMetadataFields = (sql: PgClient.PgClient) => ({
  decidingField: (organizationId: OrganizationId, fieldId: string) =>
    decodedOne(DecidingField)(sql`
      SELECT d.key, d.resource_type AS "resourceType", d.json_schema AS "jsonSchema",
        d.archived_at IS NOT NULL AS "isArchived"
      FROM metadata_fields f
      JOIN metadata_fields d ON d.organization_id = f.organization_id AND d.resource_type = f.resource_type
        AND d.key = f.key AND (d.id = f.id OR d.archived_at IS NULL)
      WHERE f.organization_id = ${organizationId} AND f.id = ${fieldId}
      ORDER BY d.archived_at IS NOT NULL LIMIT 1`),

  valuesOf: (organizationId: OrganizationId, field: DecidingField, after: string | null, count: number) =>
    field.resourceType === "INSTANCE"
      ? decoded(StoredValue)(sql`
          SELECT i.id, i.slug, c.slug AS customer, i.metadata -> ${field.key} AS value FROM instances i
          JOIN customers c ON c.organization_id = i.organization_id AND c.id = i.customer_id
          WHERE i.organization_id = ${organizationId} AND i.metadata ? ${field.key}
            AND (${after}::uuid IS NULL OR i.id > ${after}::uuid)
          ORDER BY i.id LIMIT ${count}`)
      : decoded(StoredValue)(sql`
          SELECT id, slug, metadata -> ${field.key} AS value FROM deployment_zones
          WHERE organization_id = ${organizationId} AND metadata ? ${field.key}
            AND (${after}::uuid IS NULL OR id > ${after}::uuid)
          ORDER BY id LIMIT ${count}`),
})

const ofConnectors = (sql: PgClient.PgClient) => ({
  integrationRecordsOf: (organizationId: OrganizationId, connector: string) =>
    affectedRows<ItemOf<ConnectorImpact["integrationRecords"]>>()(
      sql,
      sql`
        SELECT r.kind, coalesce(c.slug, i.slug) AS slug, r.external_id AS "externalId" FROM integration_records r
        LEFT JOIN customers c ON c.organization_id = r.organization_id AND c.id = r.customer_id
        LEFT JOIN instances i ON i.organization_id = r.organization_id AND i.id = r.instance_id
        WHERE r.organization_id = ${organizationId} AND r.connector = ${connector}
        ORDER BY r.kind, r.external_id`,
    ),
})

const make = Effect.map(PgClient.PgClient, (sql) => ({
  ...ofLicenses(sql),
  ...ofInstances(sql),
  ...ofMetadataFields(sql),
  ...ofConnectors(sql),
}))
