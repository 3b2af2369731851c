/** SQL of licenses and their families. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import type { Option } from "effect"
import type { ActorReference } from "../../kernel/contract/Caller.ts"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { rowByKey } from "../../kernel/database/RowsByKey.ts"
import { decoded, decodedOne, executed, record, records, returnedRow } from "../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { licenseIds } from "./ListSql.ts"
import { License } from "./Model.ts"
import type { LicenseFamily, LicenseFilters } from "./Model.ts"
import type { Fragment } from "effect/sql/Statement"

/** A family without its current version. */
export type FamilyRow = Omit<LicenseFamily, "currentVersion">

interface NewFamily {
  readonly id: string
  readonly slug: string
  readonly createdAt: Date
  readonly createdBy: ActorReference
}

/** Stores and reads licenses and their families. */
export class LicensesRepo extends Context.Service<
  LicensesRepo,
  {
    /** Stores a family, which counts its first version already, and returns whether the slug was free. */
    readonly insertFamily: (organizationId: OrganizationId, row: NewFamily) => Effect.Effect<boolean>
    /** Deletes a family. It must have no versions. */
    readonly deleteFamily: (organizationId: OrganizationId, id: string) => Effect.Effect<void>
    /** The family with a slug. */
    readonly findFamily: (organizationId: OrganizationId, slug: string) => Effect.Effect<Option.Option<FamilyRow>>
    /** The family with an id. */
    readonly findFamilyById: (organizationId: OrganizationId, id: string) => Effect.Effect<Option.Option<FamilyRow>>
    /** Families after a position, newest first. */
    readonly listFamilies: (
      organizationId: OrganizationId,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<FamilyRow>>
    /** Increments and returns the last version number of a family. The row lock serializes the assignment. */
    readonly nextVersion: (
      organizationId: OrganizationId,
      familyId: string,
    ) => Effect.Effect<Option.Option<{ readonly version: number }>>
    /** Locks the family of a license: its default and its versions cannot change before the transaction ends. */
    readonly lockFamilyOf: (organizationId: OrganizationId, licenseSlug: string) => Effect.Effect<boolean>
    /** Whether a family still has a version. */
    readonly hasVersions: (organizationId: OrganizationId, familyId: string) => Effect.Effect<boolean>
    /** The current versions of families by the rule `currentVersion`. Families without one are omitted. */
    readonly currentVersions: (
      organizationId: OrganizationId,
      familyIds: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyArray<License>>
    /** The version of a family with a number. */
    readonly findVersion: (
      organizationId: OrganizationId,
      familyId: string,
      version: number,
    ) => Effect.Effect<Option.Option<License>>
    /** The versions of a family, highest first. */
    readonly listVersions: (
      organizationId: OrganizationId,
      familyId: string,
      count: number,
    ) => Effect.Effect<ReadonlyArray<License>>
    /** Stores the row if its slug is free and returns whether it was. */
    readonly insert: (organizationId: OrganizationId, row: License) => Effect.Effect<boolean>
    /** The license with a slug. */
    readonly findBySlug: (organizationId: OrganizationId, slug: string) => Effect.Effect<Option.Option<License>>
    /** The license with an id. */
    readonly findById: (organizationId: OrganizationId, id: string) => Effect.Effect<Option.Option<License>>
    /** Licenses after a position, newest first. */
    readonly list: (
      organizationId: OrganizationId,
      filters: LicenseFilters,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<License>>
    /** Locks the row: it cannot change, and no instance can start to use it, before the transaction ends. */
    readonly lockBySlug: (organizationId: OrganizationId, slug: string) => Effect.Effect<Option.Option<License>>
    /** Locks the row against changes until the transaction ends. The lock is shared. */
    readonly lockBySlugShared: (organizationId: OrganizationId, slug: string) => Effect.Effect<Option.Option<License>>
    /** Like `lockBySlugShared`. Work in the background calls it, so only the primary key has the order of the statement. */
    readonly lockByIdShared: (organizationId: OrganizationId, id: string) => Effect.Effect<Option.Option<License>>
    /** Locks the default version of a family until the transaction ends. None if the family has no default. */
    readonly lockDefault: (organizationId: OrganizationId, familyId: string) => Effect.Effect<Option.Option<License>>
    /** Updates a locked row. Stores the previous grace days if they change. */
    readonly update: (organizationId: OrganizationId, row: License) => Effect.Effect<void>
    /** Deletes a license. No instance may have it. */
    readonly delete: (organizationId: OrganizationId, id: string) => Effect.Effect<void>
  }
>()("keyshelf/licenses/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(LicensesRepo, make))
}

type Licenses = (organizationId: OrganizationId) => Fragment

/** The columns of licenses, each with its family. */
const selection = (sql: PgClient.PgClient): Licenses => {
  const selected = sql.literal(`SELECT license.id, family.id AS "familyId", family.slug AS "familySlug", license.slug,
      license.name, license.version::text AS version, license.version_name AS "versionName", license.description,
      license.type, license.is_default AS "isDefault", license.lifecycle_state AS "lifecycleState", license.grace_days AS "graceDays",
      json_build_object('staleSeconds', license.away_stale_seconds, 'then', license.away_then) AS away,
      license.created_at AS "createdAt", license.updated_at AS "updatedAt", license.created_by AS "createdBy",
      license.updated_by AS "updatedBy"`)
  // Looks up the family of each license. A join could begin with all families of the organization.
  return (organizationId) => sql`
    ${selected} FROM licenses license CROSS JOIN ${rowByKey(sql, "id, slug", {
      table: "license_families",
      within: sql`organization_id = ${organizationId}`,
      column: "id",
      key: "license.family_id",
    })} AS family`
}

const familyStatements = (sql: PgClient.PgClient) => {
  const families = sql.literal(
    `SELECT id, slug, created_at AS "createdAt", created_by AS "createdBy" FROM license_families`,
  )

  return {
    insertFamily: (organizationId: OrganizationId, row: NewFamily) =>
      returnedRow(sql`
        INSERT INTO license_families (organization_id, id, slug, last_version, created_at, created_by)
        VALUES (${organizationId}, ${row.id}, ${row.slug}, 1, ${row.createdAt}, ${sql.json(row.createdBy)})
        ON CONFLICT ON CONSTRAINT license_families_slug DO NOTHING
        RETURNING id`),

    deleteFamily: (organizationId: OrganizationId, id: string) =>
      executed(sql`DELETE FROM license_families WHERE organization_id = ${organizationId} AND id = ${id}`),

    findFamily: (organizationId: OrganizationId, slug: string) =>
      record<FamilyRow>()(sql`${families} WHERE organization_id = ${organizationId} AND slug = ${slug}`),

    findFamilyById: (organizationId: OrganizationId, id: string) =>
      record<FamilyRow>()(sql`${families} WHERE organization_id = ${organizationId} AND id = ${id}`),

    listFamilies: (organizationId: OrganizationId, after: Position | null, count: number) =>
      records<FamilyRow>()(sql`
        ${families} WHERE organization_id = ${organizationId} AND id < ${idBefore(after)}
        ORDER BY id DESC LIMIT ${count}`),

    nextVersion: (organizationId: OrganizationId, familyId: string) =>
      decodedOne(Schema.Struct({ version: Schema.Int }))(sql`
        UPDATE license_families SET last_version = last_version + 1
        WHERE organization_id = ${organizationId} AND id = ${familyId}
        RETURNING last_version AS version`),

    lockFamilyOf: (organizationId: OrganizationId, licenseSlug: string) =>
      returnedRow(sql`
        SELECT 1 FROM license_families family
        JOIN licenses license ON license.organization_id = family.organization_id AND license.family_id = family.id
        WHERE license.organization_id = ${organizationId} AND license.slug = ${licenseSlug}
        FOR UPDATE OF family`),

    hasVersions: (organizationId: OrganizationId, familyId: string) =>
      returnedRow(sql`
        SELECT 1 FROM licenses WHERE organization_id = ${organizationId} AND family_id = ${familyId} LIMIT 1`),
  }
}

const versionReads = (sql: PgClient.PgClient, licenses: Licenses) => {
  const idsOf = licenseIds(sql)
  return {
    currentVersions: (organizationId: OrganizationId, familyIds: ReadonlyArray<string>) =>
      decoded(License)(sql`
        SELECT DISTINCT ON ("familyId") * FROM (
          ${licenses(organizationId)}
          WHERE license.organization_id = ${organizationId} AND license.family_id = ANY(${familyIds}::uuid[])
            AND license.lifecycle_state = 'PUBLISHED') published
        ORDER BY "familyId", "isDefault" DESC, version::integer DESC`),

    findVersion: (organizationId: OrganizationId, familyId: string, version: number) =>
      storedLicense(sql`
        ${licenses(organizationId)} WHERE license.organization_id = ${organizationId} AND license.family_id = ${familyId}
          AND license.version = ${version}`),

    listVersions: (organizationId: OrganizationId, familyId: string, count: number) =>
      records<License>()(sql`
        ${licenses(organizationId)} WHERE license.organization_id = ${organizationId} AND license.family_id = ${familyId}
        ORDER BY license.version DESC LIMIT ${count}`),

    findBySlug: (organizationId: OrganizationId, slug: string) =>
      storedLicense(
        sql`${licenses(organizationId)} WHERE license.organization_id = ${organizationId} AND license.slug = ${slug}`,
      ),

    findById: (organizationId: OrganizationId, id: string) =>
      storedLicense(
        sql`${licenses(organizationId)} WHERE license.organization_id = ${organizationId} AND license.id = ${id}`,
      ),

    list: (organizationId: OrganizationId, filters: LicenseFilters, after: Position | null, count: number) =>
      records<License>()(sql`
        ${licenses(organizationId)} WHERE license.organization_id = ${organizationId}
          AND license.id = ANY(ARRAY(${idsOf(organizationId, filters, idBefore(after), count)}))
        ORDER BY license.id DESC`),
  }
}

const storedLicense = decodedOne(License)

const versionLocks = (sql: PgClient.PgClient, licenses: Licenses) => ({
  lockBySlug: (organizationId: OrganizationId, slug: string) =>
    storedLicense(sql`
      ${licenses(organizationId)} WHERE license.organization_id = ${organizationId} AND license.slug = ${slug}
      FOR UPDATE OF license`),

  lockBySlugShared: (organizationId: OrganizationId, slug: string) =>
    storedLicense(sql`
      ${licenses(organizationId)} WHERE license.organization_id = ${organizationId} AND license.slug = ${slug}
      FOR SHARE OF license`),

  lockByIdShared: (organizationId: OrganizationId, id: string) =>
    storedLicense(sql`
      ${licenses(organizationId)}
      WHERE license.organization_id = ${organizationId} AND license.id BETWEEN ${id} AND ${id}
      ORDER BY license.id LIMIT 1 FOR SHARE OF license`),

  lockDefault: (organizationId: OrganizationId, familyId: string) =>
    storedLicense(sql`
      ${licenses(organizationId)}
      WHERE license.organization_id = ${organizationId} AND license.family_id = ${familyId} AND license.is_default
      FOR UPDATE OF license`),
})

const versionWrites = (sql: PgClient.PgClient) => ({
  insert: (organizationId: OrganizationId, row: License) =>
    returnedRow(sql`
      INSERT INTO licenses (organization_id, id, family_id, slug, name, version, version_name, description, type,
        is_default, lifecycle_state, grace_days, away_stale_seconds, away_then, created_at, created_by, updated_at, updated_by)
      VALUES (${organizationId}, ${row.id}, ${row.familyId}, ${row.slug}, ${row.name}, ${Number(row.version)},
        ${row.versionName}, ${row.description}, ${row.type}, ${row.isDefault}, ${row.lifecycleState},
        ${row.graceDays}, ${row.away.staleSeconds}, ${row.away.then}, ${row.createdAt}, ${sql.json(row.createdBy)}, ${row.updatedAt}, ${sql.json(row.updatedBy)})
      ON CONFLICT ON CONSTRAINT licenses_slug DO NOTHING
      RETURNING id`),

  update: (organizationId: OrganizationId, row: License) =>
    executed(sql`
      WITH before AS (
        INSERT INTO past_license_graces (organization_id, license_id, until, grace_days)
        SELECT organization_id, id, ${row.updatedAt}, grace_days FROM licenses
        WHERE organization_id = ${organizationId} AND id = ${row.id} AND grace_days <> ${row.graceDays}
        ON CONFLICT DO NOTHING
      )
      UPDATE licenses SET name = ${row.name}, type = ${row.type}, description = ${row.description},
        version_name = ${row.versionName}, is_default = ${row.isDefault}, lifecycle_state = ${row.lifecycleState},
        grace_days = ${row.graceDays}, away_stale_seconds = ${row.away.staleSeconds}, away_then = ${row.away.then},
        updated_at = ${row.updatedAt}, updated_by = ${sql.json(row.updatedBy)}
      WHERE organization_id = ${organizationId} AND id = ${row.id}`),

  delete: (organizationId: OrganizationId, id: string) =>
    executed(sql`DELETE FROM licenses WHERE organization_id = ${organizationId} AND id = ${id}`),
})

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const licenses = selection(sql)
  return {
    ...familyStatements(sql),
    ...versionReads(sql, licenses),
    ...versionLocks(sql, licenses),
    ...versionWrites(sql),
  }
})
