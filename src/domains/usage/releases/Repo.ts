/** SQL of the facts that decide on releases. Many are decided at once, so each statement returns up to a page of facts. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import type { Position } from "../../../kernel/contract/Page.ts"
import { HotPath } from "../../../kernel/database/Connections.ts"
import { wordsIn } from "../../../kernel/database/Pages.ts"
import { decoded, decodedOne } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { imagesOfRow } from "../../components/ComponentsSql.ts"
import { currentAddOns } from "../../instances/addons/AddOnsSql.ts"
import { instancesSql } from "../../instances/InstancesSql.ts"
import { currentOverride } from "../../instances/overrides/OverridesSql.ts"
import { grantJoin, licensedTerms } from "../../licenses/grants/GrantSql.ts"
import { licenseJoin } from "../../licenses/LicensesSql.ts"
import {
  hasComponentNamed,
  linkedComponents,
  releasedAt,
  releasesSql,
  requiredJoin,
} from "../../releases/ReleasesSql.ts"
import { graceDays } from "../terms/TermsSql.ts"
import { ComponentsOfRelease, ReleaseFacts } from "./Model.ts"
import type { InstanceReleaseFilters } from "./Model.ts"

/** Which instances: those of ids, or up to `count` after an id, all or those of a zone. */
export type InstancesOf =
  | { readonly ids: ReadonlyArray<string> }
  | { readonly after: string | null; readonly count: number; readonly zoneId?: string }

/** A release, by its id or its slug. */
export type ReleaseKey = { readonly id: string } | { readonly slug: string }

/** Less than each id, and greater than each. */
const NIL = "00000000-0000-0000-0000-000000000000"
const LAST = "ffffffff-ffff-ffff-ffff-ffffffffffff"

/** Reads the facts that decide on releases. */
export class ReleaseAccessRepo extends Context.Service<
  ReleaseAccessRepo,
  {
    /** The facts about an instance and a release, by their slugs. Runs on the connection of the hot path. */
    readonly one: (
      organizationId: OrganizationId,
      instanceSlug: string,
      releaseSlug: string,
    ) => Effect.Effect<Option.Option<ReleaseFacts>>
    /** The facts about an instance and the offered releases that match the filters, newest first, after a position. */
    readonly ofInstance: (
      organizationId: OrganizationId,
      instanceId: string,
      filters: Omit<InstanceReleaseFilters, "allowed">,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<ReleaseFacts>>
    /** The facts about a release and instances, in the order of their ids. */
    readonly ofRelease: (
      organizationId: OrganizationId,
      release: ReleaseKey,
      instances: InstancesOf,
    ) => Effect.Effect<ReadonlyArray<ReleaseFacts>>
    /** The components of releases, in any order of the releases. */
    readonly componentsOf: (
      organizationId: OrganizationId,
      releaseIds: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyArray<ComponentsOfRelease>>
  }
>()("keyshelf/usage/releases/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(ReleaseAccessRepo, make))
}

/** What a page of releases is sorted by. */
export const positionOf = ({ releasedAt: at, releaseId }: ReleaseFacts): Position => [at.getTime(), releaseId]

/** The columns of `ReleaseFacts`, of the instance `i`, its license `l` and the release `r`. */
const factColumns = (sql: SqlClient, organization: Fragment): Fragment => sql`
  ${sql.literal(`i.id AS "instanceId", i.slug AS instance, i.start_license_date AS "startLicenseDate",
  i.end_license_date AS "endLicenseDate", ${graceDays}, i.end_maintenance_date AS "endMaintenanceDate",
  r.id AS "releaseId", r.slug AS release, r.version, r.description, ${releasedAt("r")} AS "releasedAt", r.offered,
  r.withdrawn_at AS "withdrawnAt", r.withdrawn_reason AS "withdrawnReason"`)},
  coalesce((
    SELECT json_agg(terms) FROM (
      SELECT e.slug AS entitlement, e.type, ${sql.literal(`${licensedTerms}, ${currentOverride}`)},
        ${currentAddOns(sql, organization)}
      FROM ${requiredJoin(sql)}
      ${grantJoin(sql, organization)}
      WHERE required.organization_id = ${organization} AND required.release_id = r.id
      ORDER BY e.slug
    ) terms
  ), '[]') AS required`

const single = (sql: PgClient.PgClient, askFor: HotPath["Service"]["askFor"]) => ({
  one: (organizationId: OrganizationId, instanceSlug: string, releaseSlug: string) =>
    decodedOne(ReleaseFacts)(
      askFor(organizationId)(
        (client) => client`
        SELECT ${factColumns(sql, sql`${organizationId}`)}
        FROM ${instancesSql.as("i")}
        JOIN ${releasesSql.as("r")} ON r.organization_id = i.organization_id AND r.slug = ${releaseSlug}
        ${licenseJoin(sql, sql`${organizationId}`)}
        WHERE i.organization_id = ${organizationId} AND i.slug = ${instanceSlug}`,
      ),
    ),
})

const many = (sql: PgClient.PgClient) => {
  const ofInstances = (organizationId: OrganizationId, asked: InstancesOf): Fragment =>
    "ids" in asked
      ? sql`SELECT * FROM ${instancesSql.rows} WHERE organization_id = ${organizationId} AND id = ANY(${asked.ids}::uuid[])`
      : sql`SELECT * FROM ${instancesSql.rows}
          WHERE organization_id = ${organizationId} AND id > ${asked.after ?? NIL}
            ${asked.zoneId === undefined ? sql.literal("") : sql`AND deployment_zone_id = ${asked.zoneId}`}
          ORDER BY id LIMIT ${asked.count}`

  return {
    ofInstance: (
      organizationId: OrganizationId,
      instanceId: string,
      { component, q }: Omit<InstanceReleaseFilters, "allowed">,
      after: Position | null,
      count: number,
    ) => {
      const sorted = sql.literal(releasedAt("releases"))
      const conditions = [
        sql`organization_id = ${organizationId}`,
        sql`offered`,
        ...(after === null
          ? []
          : [sql`(${sorted}, id) < (${new Date(Number(after[0]))}::timestamptz, ${after[1] ?? LAST}::uuid)`]),
        ...(component === undefined ? [] : [hasComponentNamed(sql, organizationId, component)]),
        ...(q === undefined ? [] : wordsIn(sql, organizationId, q, "version").map(({ matches }) => matches)),
      ]
      return decoded(ReleaseFacts)(sql`
        SELECT ${factColumns(sql, sql`${organizationId}`)}
        FROM ${instancesSql.as("i")}
        CROSS JOIN (
          SELECT * FROM ${releasesSql.rows} WHERE ${sql.and(conditions)} ORDER BY ${sorted} DESC, id DESC LIMIT ${count}
        ) r
        ${licenseJoin(sql, sql`${organizationId}`)}
        WHERE i.organization_id = ${organizationId} AND i.id = ${instanceId}
        ORDER BY ${sql.literal(releasedAt("r"))} DESC, r.id DESC`)
    },

    ofRelease: (organizationId: OrganizationId, release: ReleaseKey, instances: InstancesOf) =>
      decoded(ReleaseFacts)(sql`
        SELECT ${factColumns(sql, sql`${organizationId}`)}
        FROM (${ofInstances(organizationId, instances)}) i
        JOIN ${releasesSql.as("r")} ON r.organization_id = i.organization_id
          AND ${"id" in release ? sql`r.id = ${release.id}` : sql`r.slug = ${release.slug}`}
        ${licenseJoin(sql, sql`${organizationId}`)}
        ORDER BY i.id`),

    componentsOf: (organizationId: OrganizationId, releaseIds: ReadonlyArray<string>) =>
      decoded(ComponentsOfRelease)(sql`
        SELECT link.release_id AS "releaseId", json_agg(json_build_object('name', components.name, 'version', components.version,
          'slug', components.slug, 'images', ${imagesOfRow(sql, organizationId)}) ORDER BY link.ordinal) AS components
        FROM ${linkedComponents(sql)}
        WHERE link.organization_id = ${organizationId} AND link.release_id = ANY(${releaseIds}::uuid[])
        GROUP BY link.release_id`),
  }
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const { askFor } = yield* HotPath
  return ReleaseAccessRepo.of({ ...single(sql, askFor), ...many(sql) })
})
