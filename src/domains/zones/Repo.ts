/** SQL of deployment zones and their deployments. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Struct } from "effect"
import type { Option } from "effect"
import { affectedRows } from "../../kernel/database/AffectedRows.ts"
import type { Affected } from "../../kernel/contract/dryruns/Impact.ts"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { pageIds, wordsIn } from "../../kernel/database/Pages.ts"
import { decodedOne, executed, record, records, returnedRow } from "../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { Release } from "../releases/Model.ts"
import { releasesSql } from "../releases/ReleasesSql.ts"
import { DeploymentZone } from "./Model.ts"
import type { Deployment, ZoneFilters } from "./Model.ts"

/** The release that a zone runs. */
const RunRelease = Release.mapFields(Struct.pick(["id", "slug", "version"]))
export type RunRelease = typeof RunRelease.Type

/** Stores and reads deployment zones and their deployments. */
export class DeploymentZonesRepo extends Context.Service<
  DeploymentZonesRepo,
  {
    /** Stores the row if its slug is free and returns whether it was. */
    readonly insert: (organizationId: OrganizationId, row: DeploymentZone) => Effect.Effect<boolean>
    /** The zone with this slug. */
    readonly findBySlug: (organizationId: OrganizationId, slug: string) => Effect.Effect<Option.Option<DeploymentZone>>
    /** The zones that match all filters after a position, newest first. */
    readonly list: (
      organizationId: OrganizationId,
      filters: ZoneFilters,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<DeploymentZone>>
    /** Locks the row: changes to one zone are serialized, and no instance can use it before the transaction ends. */
    readonly lockBySlug: (organizationId: OrganizationId, slug: string) => Effect.Effect<Option.Option<DeploymentZone>>
    /** Stores all properties that can change. */
    readonly update: (organizationId: OrganizationId, row: DeploymentZone) => Effect.Effect<void>
    /** The zones that run a release. */
    readonly running: (
      organizationId: OrganizationId,
      release: { readonly id: string },
    ) => Effect.Effect<Affected<{ readonly slug: string }>>
    /** Deletes the zone and, by cascade, its deployments. */
    readonly delete: (organizationId: OrganizationId, id: string) => Effect.Effect<void>
    /** Finds a release and locks it: it cannot be deleted before the zone that runs it commits. */
    readonly lockRelease: (
      organizationId: OrganizationId,
      key: "id" | "slug",
      name: string,
    ) => Effect.Effect<Option.Option<RunRelease>>
    /** Adds an entry to the history of a zone. */
    readonly insertDeployment: (organizationId: OrganizationId, zoneId: string, row: Deployment) => Effect.Effect<void>
    /** The history of a zone after a position, newest first. */
    readonly listDeployments: (
      organizationId: OrganizationId,
      zoneId: string,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<Deployment>>
  }
>()("keyshelf/zones/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(DeploymentZonesRepo, make))
}

const zones = (sql: PgClient.PgClient) => {
  const pageOf = pageIds(sql, "newest")
  const columns = (
    organizationId: OrganizationId,
  ) => sql`id, name, slug, description, type, metadata, release_id AS "releaseId",
    (SELECT * FROM ${releasesSql.byKey(sql, "slug", organizationId, "deployment_zones.release_id")} AS named) AS "releaseSlug",
    release_access AS "releaseAccess", created_at AS "createdAt", updated_at AS "updatedAt", created_by AS "createdBy",
    updated_by AS "updatedBy"`

  return {
    insert: (organizationId: OrganizationId, row: DeploymentZone) =>
      returnedRow(sql`
        INSERT INTO deployment_zones (organization_id, id, name, slug, description, type, metadata, release_id,
          release_access, created_at, created_by, updated_at, updated_by)
        VALUES (${organizationId}, ${row.id}, ${row.name}, ${row.slug}, ${row.description}, ${row.type},
          ${sql.json(row.metadata)}, ${row.releaseId}, ${row.releaseAccess}, ${row.createdAt}, ${sql.json(row.createdBy)},
          ${row.updatedAt}, ${sql.json(row.updatedBy)})
        ON CONFLICT ON CONSTRAINT deployment_zones_slug DO NOTHING
        RETURNING id`),

    findBySlug: (organizationId: OrganizationId, slug: string) =>
      record<DeploymentZone>()(
        sql`SELECT ${columns(organizationId)} FROM deployment_zones WHERE organization_id = ${organizationId} AND slug = ${slug}`,
      ),

    list: (organizationId: OrganizationId, filters: ZoneFilters, after: Position | null, count: number) =>
      records<DeploymentZone>()(sql`
        SELECT ${columns(organizationId)} FROM deployment_zones
        WHERE organization_id = ${organizationId} AND id = ANY(ARRAY(${pageOf({
          table: "deployment_zones",
          organizationId,
          after: sql`id < ${idBefore(after)}`,
          count,
          where: [
            ...(filters.type === undefined ? [] : [sql`type = ${filters.type}`]),
            // An unknown slug yields NULL, which equals no column.
            ...(filters.release === undefined
              ? []
              : [sql`release_id = ${releasesSql.idBySlug(sql, organizationId, filters.release)}`]),
          ],
          unordered: filters.q === undefined ? [] : wordsIn(sql, organizationId, filters.q),
        })}))
        ORDER BY id DESC`),

    lockBySlug: (organizationId: OrganizationId, slug: string) =>
      decodedOne(DeploymentZone)(sql`
        SELECT ${columns(organizationId)} FROM deployment_zones
        WHERE organization_id = ${organizationId} AND slug = ${slug} FOR UPDATE`),

    update: (organizationId: OrganizationId, row: DeploymentZone) =>
      executed(sql`
        UPDATE deployment_zones SET name = ${row.name}, description = ${row.description}, type = ${row.type},
          metadata = ${sql.json(row.metadata)}, release_id = ${row.releaseId}, release_access = ${row.releaseAccess},
          updated_at = ${row.updatedAt}, updated_by = ${sql.json(row.updatedBy)}
        WHERE organization_id = ${organizationId} AND id = ${row.id}`),

    running: (organizationId: OrganizationId, { id }: { readonly id: string }) =>
      affectedRows<{ readonly slug: string }>()(
        sql,
        sql`
          SELECT slug FROM deployment_zones WHERE organization_id = ${organizationId} AND release_id = ${id} ORDER BY id`,
      ),

    delete: (organizationId: OrganizationId, id: string) =>
      executed(sql`DELETE FROM deployment_zones WHERE organization_id = ${organizationId} AND id = ${id}`),
  }
}

/** The releases that zones run, and their histories. */
const deployments = (sql: PgClient.PgClient) => ({
  lockRelease: (organizationId: OrganizationId, key: "id" | "slug", name: string) =>
    decodedOne(RunRelease)(sql`
      SELECT id, slug, version FROM ${releasesSql.rows}
      WHERE organization_id = ${organizationId} AND ${sql(key)} = ${name} FOR SHARE`),

  insertDeployment: (organizationId: OrganizationId, zoneId: string, row: Deployment) =>
    executed(sql`
      INSERT INTO deployments (organization_id, deployment_zone_id, id, release_id, release_slug, release_version,
        deployed_at, deployed_by)
      VALUES (${organizationId}, ${zoneId}, ${row.id}, ${row.releaseId}, ${row.releaseSlug}, ${row.releaseVersion},
        ${row.deployedAt}, ${sql.json(row.deployedBy)})`),

  listDeployments: (organizationId: OrganizationId, zoneId: string, after: Position | null, count: number) =>
    records<Deployment>()(sql`
      SELECT id, release_id AS "releaseId", release_slug AS "releaseSlug", release_version AS "releaseVersion",
        deployed_at AS "deployedAt", deployed_by AS "deployedBy"
      FROM deployments
      WHERE organization_id = ${organizationId} AND deployment_zone_id = ${zoneId} AND id < ${idBefore(after)}
      ORDER BY id DESC LIMIT ${count}`),
})

const make = Effect.map(PgClient.PgClient, (sql) => ({ ...zones(sql), ...deployments(sql) }))
