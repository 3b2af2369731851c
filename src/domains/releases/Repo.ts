/** SQL of releases, their policies, and their links to components. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { componentColumns, componentsSql } from "../components/ComponentsSql.ts"
import { Component } from "../components/Model.ts"
import { entitlementsSql } from "../entitlements/EntitlementsSql.ts"
import { affectedRows } from "../../kernel/database/AffectedRows.ts"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { pageIds, wordsIn } from "../../kernel/database/Pages.ts"
import type { Unordered } from "../../kernel/database/Pages.ts"
import { decoded, decodedOne, executed, records, returnedRow } from "../../kernel/database/Statements.ts"
import { Release } from "./Model.ts"
import type { ReleaseAccess, ReleaseFilters } from "./Model.ts"
import { hasComponentNamed, linkedComponents, releasedAt, requiredJoin } from "./ReleasesSql.ts"
import type { Affected } from "../../kernel/contract/dryruns/Impact.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"

const { componentIds: _ids, components: _components, access, ...fields } = Release.fields

/** A release with its policy in one row. */
const FlatRow = Schema.Struct({
  ...fields,
  ...Schema.Struct(access.fields).mapFields(({ updatedAt, updatedBy, ...policy }) => ({
    ...policy,
    accessUpdatedAt: updatedAt,
    accessUpdatedBy: updatedBy,
  })).fields,
})

/** A release without its components, which are stored in separate rows. */
export type ReleaseRow = Omit<Release, "componentIds" | "components">

const rowOf = ({
  accessUpdatedAt: updatedAt,
  accessUpdatedBy: updatedBy,
  entitlements,
  offered,
  withdrawnAt,
  withdrawnReason,
  ...release
}: typeof FlatRow.Type): ReleaseRow => ({
  ...release,
  access: { offered, entitlements, withdrawnAt, withdrawnReason, updatedAt, updatedBy },
})

/** A component with the id of the release that links it. */
interface LinkedComponent extends Component {
  readonly releaseId: string
}

/** By what components are named. */
type ComponentKey = "id" | "slug"

/** Stores and reads releases, their policies and their links to components. */
export class ReleasesRepo extends Context.Service<
  ReleasesRepo,
  {
    /** Stores the row, without what it requires, if its slug is free and returns whether it was. */
    readonly insert: (organizationId: OrganizationId, row: ReleaseRow) => Effect.Effect<boolean>
    /** Links the components in the order of their ids. */
    readonly link: (
      organizationId: OrganizationId,
      id: string,
      componentIds: ReadonlyArray<string>,
    ) => Effect.Effect<void>
    /** Finds components by id or slug, sorted by id, and locks them: none can be deleted before its link commits. */
    readonly lockComponents: (
      organizationId: OrganizationId,
      key: ComponentKey,
      names: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyArray<Component>>
    /** The components of the given releases. Components of one release are in link order. */
    readonly componentsOf: (
      organizationId: OrganizationId,
      ids: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyArray<LinkedComponent>>
    /** A release without its components. */
    readonly findBySlug: (organizationId: OrganizationId, slug: string) => Effect.Effect<Option.Option<ReleaseRow>>
    /** The releases that match all filters after a position, newest first. */
    readonly list: (
      organizationId: OrganizationId,
      filters: ReleaseFilters,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<ReleaseRow>>
    /** Locks the row: no zone can switch to the release before the transaction ends. */
    readonly lockBySlug: (organizationId: OrganizationId, slug: string) => Effect.Effect<Option.Option<ReleaseRow>>
    /** Stores the policy of a locked release, without what it requires. */
    readonly updateAccess: (organizationId: OrganizationId, id: string, access: ReleaseAccess) => Effect.Effect<void>
    /** Replaces what a locked release requires by these entitlements, which are locked. */
    readonly replaceRequired: (
      organizationId: OrganizationId,
      id: string,
      entitlementIds: ReadonlyArray<string>,
    ) => Effect.Effect<void>
    /** The releases that contain a component: their count, and the names of the first ones. */
    readonly containing: (
      organizationId: OrganizationId,
      component: { readonly id: string },
    ) => Effect.Effect<Affected<{ readonly slug: string }>>
    /** The releases that require an entitlement: their count, and the names of the first ones. */
    readonly requiring: (
      organizationId: OrganizationId,
      entitlement: { readonly id: string },
    ) => Effect.Effect<Affected<{ readonly slug: string }>>
    /** Deletes the release and, by cascade, its links and what it requires. */
    readonly delete: (organizationId: OrganizationId, id: string) => Effect.Effect<void>
  }
>()("keyshelf/releases/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(ReleasesRepo, make))
}

/** The filter by the name of a component, which has no index in the order of the list. */
const withComponent = (sql: PgClient.PgClient, organizationId: OrganizationId, name: string): Unordered => {
  const containing = hasComponentNamed(sql, organizationId, name)
  return { matches: containing, indexed: [containing] }
}

const reads = (sql: PgClient.PgClient) => {
  const pageOf = pageIds(sql, "newest")
  const columns = (organizationId: OrganizationId) => sql`id, slug, version, description,
    ${sql.literal(releasedAt("releases"))} AS "releasedAt", offered, withdrawn_at AS "withdrawnAt",
    withdrawn_reason AS "withdrawnReason", access_updated_at AS "accessUpdatedAt", access_updated_by AS "accessUpdatedBy",
    coalesce((SELECT json_agg(e.slug ORDER BY e.slug) FROM ${requiredJoin(sql)}
      WHERE required.organization_id = ${organizationId} AND required.release_id = releases.id), '[]') AS entitlements, created_at AS "createdAt", created_by AS "createdBy"`
  const bySlug = (organizationId: OrganizationId, slug: string, lock = "") =>
    Effect.map(
      decodedOne(FlatRow)(sql`
        SELECT ${columns(organizationId)} FROM releases
        WHERE organization_id = ${organizationId} AND slug = ${slug} ${sql.literal(lock)}`),
      Option.map(rowOf),
    )

  return {
    findBySlug: (organizationId: OrganizationId, slug: string) => bySlug(organizationId, slug),

    lockBySlug: (organizationId: OrganizationId, slug: string) => bySlug(organizationId, slug, "FOR UPDATE"),

    list: (organizationId: OrganizationId, filters: ReleaseFilters, after: Position | null, count: number) =>
      Effect.map(
        decoded(FlatRow)(sql`
          SELECT ${columns(organizationId)} FROM releases
          WHERE organization_id = ${organizationId} AND id = ANY(ARRAY(${pageOf({
            table: "releases",
            organizationId,
            after: sql`id < ${idBefore(after)}`,
            count,
            where: filters.offered === undefined ? [] : [sql`offered = ${filters.offered === "true"}`],
            unordered: [
              ...(filters.component === undefined ? [] : [withComponent(sql, organizationId, filters.component)]),
              ...(filters.q === undefined ? [] : wordsIn(sql, organizationId, filters.q, "version")),
            ],
          })}))
          ORDER BY id DESC`),
        (rows) => rows.map(rowOf),
      ),

    containing: (organizationId: OrganizationId, { id }: { readonly id: string }) =>
      affectedRows<{ readonly slug: string }>()(
        sql,
        sql`
          SELECT r.slug FROM release_components l
          JOIN releases r ON r.organization_id = l.organization_id AND r.id = l.release_id
          WHERE l.organization_id = ${organizationId} AND l.component_id = ${id} ORDER BY r.id`,
      ),

    requiring: (organizationId: OrganizationId, { id }: { readonly id: string }) =>
      affectedRows<{ readonly slug: string }>()(
        sql,
        sql`
          SELECT r.slug FROM release_requirements required
          JOIN releases r ON r.organization_id = required.organization_id AND r.id = required.release_id
          WHERE required.organization_id = ${organizationId} AND required.entitlement_id = ${id} ORDER BY r.id`,
      ),
  }
}

/** The components of releases. */
const components = (sql: PgClient.PgClient) => ({
  link: (organizationId: OrganizationId, id: string, componentIds: ReadonlyArray<string>) =>
    executed(sql`
      INSERT INTO release_components (organization_id, release_id, component_id, ordinal)
      SELECT ${organizationId}::uuid, ${id}::uuid, linked.component_id, linked.ordinal
      FROM unnest(${componentIds}::uuid[]) WITH ORDINALITY AS linked (component_id, ordinal)`),

  lockComponents: (organizationId: OrganizationId, key: ComponentKey, names: ReadonlyArray<string>) =>
    decoded(Component)(sql`
      SELECT ${componentColumns(sql, organizationId)} FROM ${componentsSql.rows}
      WHERE organization_id = ${organizationId}
        AND ${key === "id" ? sql`id = ANY(${names}::uuid[])` : sql`slug = ANY(${names}::text[])`}
      ORDER BY id FOR KEY SHARE`),

  componentsOf: (organizationId: OrganizationId, ids: ReadonlyArray<string>) =>
    records<LinkedComponent>()(sql`
      SELECT link.release_id AS "releaseId", ${componentColumns(sql, organizationId)}
      FROM ${linkedComponents(sql)}
      WHERE link.organization_id = ${organizationId} AND link.release_id = ANY(${ids}::uuid[])
      ORDER BY link.release_id, link.ordinal`),
})

const make = Effect.map(PgClient.PgClient, (sql) =>
  ReleasesRepo.of({
    ...reads(sql),
    ...components(sql),

    insert: (organizationId, { access: policy, ...row }) =>
      returnedRow(sql`
        INSERT INTO releases (organization_id, id, slug, version, description, released_at, offered, created_at, created_by)
        VALUES (${organizationId}, ${row.id}, ${row.slug}, ${row.version}, ${row.description}, ${row.releasedAt},
          ${policy.offered}, ${row.createdAt}, ${sql.json(row.createdBy)})
        ON CONFLICT ON CONSTRAINT releases_slug DO NOTHING
        RETURNING id`),

    updateAccess: (organizationId, id, policy) =>
      executed(sql`
        UPDATE releases SET offered = ${policy.offered}, withdrawn_at = ${policy.withdrawnAt},
          withdrawn_reason = ${policy.withdrawnReason}, access_updated_at = ${policy.updatedAt},
          access_updated_by = ${policy.updatedBy === null ? null : sql.json(policy.updatedBy)}
        WHERE organization_id = ${organizationId} AND id = ${id}`),

    replaceRequired: (organizationId, id, entitlementIds) =>
      Effect.andThen(
        executed(
          sql`DELETE FROM release_requirements WHERE organization_id = ${organizationId} AND release_id = ${id}`,
        ),
        executed(sql`
          INSERT INTO release_requirements (organization_id, release_id, entitlement_id)
          SELECT ${organizationId}::uuid, ${id}::uuid, entitlement.id
          FROM ${entitlementsSql.as("entitlement")}
          WHERE entitlement.organization_id = ${organizationId} AND entitlement.id = ANY(${entitlementIds}::uuid[])`),
      ),

    delete: (organizationId, id) =>
      executed(sql`DELETE FROM releases WHERE organization_id = ${organizationId} AND id = ${id}`),
  }),
)
