/** SQL of entitlements. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import { afterInDisplayOrder } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { pageIds, wordsIn } from "../../kernel/database/Pages.ts"
import type { Unordered } from "../../kernel/database/Pages.ts"
import { executed, record, records } from "../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { GroupsSql } from "./GroupsSql.ts"
import type { Entitlement, EntitlementFilters } from "./Model.ts"

type Row = Omit<Entitlement, "groupSlugs">

const toEntitlement = (row: Row): Entitlement => ({
  ...row,
  groupSlugs: row.entitlementGroups.map(({ slug }) => slug),
})

/** Runs a statement that selects the columns below and returns its first row. */
const entitlement = <R>(statement: Effect.Effect<ReadonlyArray<unknown>, SqlError, R>) =>
  Effect.map(record<Row>()(statement), Option.map(toEntitlement))

/** Stores and reads entitlements. */
export class EntitlementsRepo extends Context.Service<
  EntitlementsRepo,
  {
    /** The statement that stores the row if its slug is free. */
    readonly insertStatement: (organizationId: OrganizationId, row: Entitlement) => Fragment
    /** The entitlement with a slug. */
    readonly findBySlug: (organizationId: OrganizationId, slug: string) => Effect.Effect<Option.Option<Entitlement>>
    /** Entitlements after a position, in their display order. */
    readonly list: (
      organizationId: OrganizationId,
      filters: EntitlementFilters,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<Entitlement>>
    /** Locks the row: it cannot change, and no license can start to grant it, before the transaction ends. */
    readonly lockBySlug: (organizationId: OrganizationId, slug: string) => Effect.Effect<Option.Option<Entitlement>>
    /** Locks the row against deletion until the transaction ends. The lock is shared. */
    readonly lockBySlugShared: (
      organizationId: OrganizationId,
      slug: string,
    ) => Effect.Effect<Option.Option<Entitlement>>
    /** Updates a locked row. The type and what is measured never change. */
    readonly update: (organizationId: OrganizationId, row: Entitlement) => Effect.Effect<void>
    /** Deletes a locked entitlement. Nothing may need it. */
    readonly delete: (organizationId: OrganizationId, id: string) => Effect.Effect<void>
  }
>()("keyshelf/entitlements/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(EntitlementsRepo, make))
}

interface Columns {
  /** The columns of one row. */
  readonly of: (organizationId: OrganizationId) => Fragment
  /** The columns with the groups that an expression reads. */
  readonly withGroups: (groups: Fragment) => Fragment
}

const columnsOf = (sql: PgClient.PgClient, groups: GroupsSql["Service"]): Columns => {
  const withGroups = (
    groups: Fragment,
  ) => sql`id, slug, name, description, type, aggregation_method AS "aggregationMethod",
    reset_period AS "resetPeriod", reset_anchor AS "resetAnchor", unit_singular AS "unitSingular",
    unit_plural AS "unitPlural", sale_unit_factor AS "saleUnitFactor", sale_unit_singular AS "saleUnitSingular",
    sale_unit_plural AS "saleUnitPlural", display_order AS "displayOrder", icon, user_facing AS "userFacing",
    warning_threshold_percent AS "warningThresholdPercent", ${groups} AS "entitlementGroups", created_at AS "createdAt",
    updated_at AS "updatedAt", created_by AS "createdBy", updated_by AS "updatedBy"`
  // The groups of a row as one JSON column, which also supplies the group slugs.
  const of = (organizationId: OrganizationId) => withGroups(groups.ofRow(sql, organizationId))
  return { of, withGroups }
}

const reads = (sql: PgClient.PgClient, columns: Columns, groups: GroupsSql["Service"]) => {
  const pageOf = pageIds(sql, "display")
  const inGroup = (organizationId: OrganizationId, slug: string): Unordered => {
    const members = groups.membersOf(sql, organizationId, slug)
    return {
      matches: sql`EXISTS (SELECT 1 ${members} AND m.entitlement_id = entitlements.id)`,
      indexed: [sql`id = ANY(ARRAY(SELECT m.entitlement_id ${members}))`],
    }
  }

  return {
    findBySlug: (organizationId: OrganizationId, slug: string) =>
      entitlement(
        sql`SELECT ${columns.of(organizationId)} FROM entitlements WHERE organization_id = ${organizationId} AND slug = ${slug}`,
      ),

    list: (organizationId: OrganizationId, filters: EntitlementFilters, after: Position | null, count: number) => {
      const [displayOrder, id] = afterInDisplayOrder(after)
      return Effect.map(
        records<Row>()(sql`
          WITH page AS MATERIALIZED (
            SELECT * FROM entitlements
            WHERE organization_id = ${organizationId} AND id = ANY(ARRAY(${pageOf({
              table: "entitlements",
              organizationId,
              after: sql`(display_order, id) > (${displayOrder}, ${id}::uuid)`,
              count,
              where: filters.type === undefined ? [] : [sql`type = ${filters.type}`],
              unordered: [
                ...(filters.group === undefined ? [] : [inGroup(organizationId, filters.group)]),
                ...(filters.q === undefined ? [] : wordsIn(sql, organizationId, filters.q)),
              ],
            })}))
          ), groups AS MATERIALIZED (${groups.ofEach(sql, organizationId, sql`SELECT id FROM page`)}
          )
          SELECT ${columns.withGroups(sql`coalesce(groups.records, '[]')`)}
          FROM page LEFT JOIN groups ON groups.entitlement_id = page.id
          ORDER BY display_order, id`),
        (rows) => rows.map(toEntitlement),
      )
    },
  }
}

const locks = (sql: PgClient.PgClient, columns: Columns) => ({
  lockBySlug: (organizationId: OrganizationId, slug: string) =>
    entitlement(sql`
      SELECT ${columns.of(organizationId)} FROM entitlements WHERE organization_id = ${organizationId} AND slug = ${slug} FOR UPDATE`),

  lockBySlugShared: (organizationId: OrganizationId, slug: string) =>
    entitlement(sql`
      SELECT ${columns.of(organizationId)} FROM entitlements WHERE organization_id = ${organizationId} AND slug = ${slug}
      FOR KEY SHARE`),
})

const writes = (sql: PgClient.PgClient) => ({
  insertStatement: (organizationId: OrganizationId, row: Entitlement) => sql`
    INSERT INTO entitlements (organization_id, id, slug, name, description, type, aggregation_method, reset_period,
      reset_anchor, unit_singular, unit_plural, sale_unit_factor, sale_unit_singular, sale_unit_plural,
      display_order, icon, user_facing, warning_threshold_percent, created_at, created_by, updated_at, updated_by)
    VALUES (${organizationId}, ${row.id}, ${row.slug}, ${row.name}, ${row.description}, ${row.type},
      ${row.aggregationMethod}, ${row.resetPeriod}, ${row.resetAnchor}, ${row.unitSingular}, ${row.unitPlural},
      ${row.saleUnitFactor}, ${row.saleUnitSingular}, ${row.saleUnitPlural}, ${row.displayOrder}, ${row.icon},
      ${row.userFacing}, ${row.warningThresholdPercent}, ${row.createdAt}, ${sql.json(row.createdBy)},
      ${row.updatedAt}, ${sql.json(row.updatedBy)})
    ON CONFLICT ON CONSTRAINT entitlements_slug DO NOTHING
    RETURNING id`,

  update: (organizationId: OrganizationId, row: Entitlement) =>
    executed(sql`
      UPDATE entitlements SET name = ${row.name}, description = ${row.description},
        unit_singular = ${row.unitSingular}, unit_plural = ${row.unitPlural},
        sale_unit_factor = ${row.saleUnitFactor}, sale_unit_singular = ${row.saleUnitSingular},
        sale_unit_plural = ${row.saleUnitPlural}, display_order = ${row.displayOrder}, icon = ${row.icon},
        user_facing = ${row.userFacing}, warning_threshold_percent = ${row.warningThresholdPercent},
        updated_at = ${row.updatedAt}, updated_by = ${sql.json(row.updatedBy)}
      WHERE organization_id = ${organizationId} AND id = ${row.id}`),

  delete: (organizationId: OrganizationId, id: string) =>
    executed(sql`DELETE FROM entitlements WHERE organization_id = ${organizationId} AND id = ${id}`),
})

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const groups = yield* GroupsSql
  const columns = columnsOf(sql, groups)
  return { ...reads(sql, columns, groups), ...locks(sql, columns), ...writes(sql) }
})
