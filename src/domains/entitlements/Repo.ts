/** SQL of entitlements. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import { affectedRows } from "../../kernel/database/AffectedRows.ts"
import type { Affected, AffectedInstance } from "../../kernel/contract/dryruns/Impact.ts"
import { afterInDisplayOrder } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { pageIds, prefixOf } from "../../kernel/database/Pages.ts"
import type { Unordered } from "../../kernel/database/Pages.ts"
import { record, records } from "../../kernel/database/Statements.ts"
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
    readonly insertStatement: (organizationId: string, row: Entitlement) => Fragment
    /** The entitlement with a slug. */
    readonly findBySlug: (organizationId: string, slug: string) => Effect.Effect<Option.Option<Entitlement>>
    /** Entitlements after a position, in their display order. */
    readonly list: (
      organizationId: string,
      filters: EntitlementFilters,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<Entitlement>>
    /** Locks the row: it cannot change, and no license can start to grant it, before the transaction ends. */
    readonly lockBySlug: (organizationId: string, slug: string) => Effect.Effect<Option.Option<Entitlement>>
    /** Locks the row against deletion until the transaction ends. The lock is shared. */
    readonly lockBySlugShared: (organizationId: string, slug: string) => Effect.Effect<Option.Option<Entitlement>>
    /** Updates a locked row. The type and what is measured never change. */
    readonly update: (organizationId: string, row: Entitlement) => Effect.Effect<void>
    /** License versions that grant the entitlement. */
    readonly licensesGranting: (
      organizationId: string,
      id: string,
    ) => Effect.Effect<Affected<{ readonly slug: string }>>
    /** Instances with an override that is in force at an instant or starts later. */
    readonly instancesOverriding: (
      organizationId: string,
      id: string,
      at: Date,
    ) => Effect.Effect<Affected<AffectedInstance>>
    /** Instances with usage of the entitlement. */
    readonly instancesUsing: (organizationId: string, id: string) => Effect.Effect<Affected<AffectedInstance>>
    /** Deletes a locked entitlement. Nothing may need it. */
    readonly delete: (organizationId: string, id: string) => Effect.Effect<void>
  }
>()("keyshelf/entitlements/Repo") {
  static readonly layer = Layer.effect(
    EntitlementsRepo,
    Effect.suspend(() => make),
  )
}

interface Columns {
  /** The columns of one row. */
  readonly of: (organizationId: string) => Fragment
  /** The columns with the groups that an expression reads. */
  readonly withGroups: (groups: Fragment) => Fragment
}

const columnsOf = (sql: PgClient.PgClient): Columns => {
  const withGroups = (
    groups: Fragment,
  ) => sql`id, slug, name, description, type, aggregation_method AS "aggregationMethod",
    reset_period AS "resetPeriod", reset_anchor AS "resetAnchor", unit_singular AS "unitSingular",
    unit_plural AS "unitPlural", sale_unit_factor AS "saleUnitFactor", sale_unit_singular AS "saleUnitSingular",
    sale_unit_plural AS "saleUnitPlural", display_order AS "displayOrder", icon, user_facing AS "userFacing",
    warning_threshold_percent AS "warningThresholdPercent", ${groups} AS "entitlementGroups", created_at AS "createdAt",
    updated_at AS "updatedAt", created_by AS "createdBy", updated_by AS "updatedBy"`
  // The groups of a row as one JSON column, which also supplies the group slugs.
  const of = (organizationId: string) =>
    withGroups(sql`coalesce((
      SELECT jsonb_agg(jsonb_build_object('id', g.id, 'name', g.name, 'slug', g.slug) ORDER BY g.slug)
      FROM entitlement_group_members m
      JOIN entitlement_groups g ON g.organization_id = m.organization_id AND g.id = m.group_id
      WHERE m.organization_id = ${organizationId} AND m.entitlement_id = entitlements.id
    ), '[]')`)
  return { of, withGroups }
}

const reads = (sql: PgClient.PgClient, columns: Columns) => {
  const pageOf = pageIds(sql, "display")
  const inGroup = (organizationId: string, slug: string): Unordered => {
    const members = sql`FROM entitlement_group_members m WHERE m.organization_id = ${organizationId} AND m.group_id =
      (SELECT id FROM entitlement_groups WHERE organization_id = ${organizationId} AND slug = ${slug})`
    return {
      matches: sql`EXISTS (SELECT 1 ${members} AND m.entitlement_id = entitlements.id)`,
      indexed: [sql`id = ANY(ARRAY(SELECT m.entitlement_id ${members}))`],
    }
  }

  return {
    findBySlug: (organizationId: string, slug: string) =>
      entitlement(
        sql`SELECT ${columns.of(organizationId)} FROM entitlements WHERE organization_id = ${organizationId} AND slug = ${slug}`,
      ),

    list: (organizationId: string, filters: EntitlementFilters, after: Position | null, count: number) => {
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
                ...(filters.q === undefined ? [] : [prefixOf(sql, filters.q)]),
              ],
            })}))
          ), groups AS MATERIALIZED (
            SELECT m.entitlement_id,
              jsonb_agg(jsonb_build_object('id', g.id, 'name', g.name, 'slug', g.slug) ORDER BY g.slug) AS records
            FROM entitlement_group_members m
            JOIN entitlement_groups g ON g.organization_id = m.organization_id AND g.id = m.group_id
            WHERE m.organization_id = ${organizationId} AND m.entitlement_id = ANY(ARRAY(SELECT id FROM page))
            GROUP BY m.entitlement_id
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
  lockBySlug: (organizationId: string, slug: string) =>
    entitlement(sql`
      SELECT ${columns.of(organizationId)} FROM entitlements WHERE organization_id = ${organizationId} AND slug = ${slug} FOR UPDATE`),

  lockBySlugShared: (organizationId: string, slug: string) =>
    entitlement(sql`
      SELECT ${columns.of(organizationId)} FROM entitlements WHERE organization_id = ${organizationId} AND slug = ${slug}
      FOR KEY SHARE`),
})

/** What hinders the deletion of an entitlement. */
const uses = (sql: PgClient.PgClient) => {
  const instance = sql.literal("i.slug, c.slug AS customer")

  return {
    licensesGranting: (organizationId: string, id: string) =>
      affectedRows<{ readonly slug: string }>()(
        sql,
        sql`
          SELECT l.slug FROM license_entitlements g
          JOIN licenses l ON l.organization_id = g.organization_id AND l.id = g.license_id
          WHERE g.organization_id = ${organizationId} AND g.entitlement_id = ${id} ORDER BY l.id`,
      ),

    instancesOverriding: (organizationId: string, id: string, at: Date) =>
      affectedRows<AffectedInstance>()(
        sql,
        sql`
          SELECT DISTINCT ON (i.id) ${instance} FROM entitlement_overrides o
          JOIN instances i ON i.organization_id = o.organization_id AND i.id = o.instance_id
          JOIN customers c ON c.organization_id = i.organization_id AND c.id = i.customer_id
          WHERE o.organization_id = ${organizationId} AND o.entitlement_id = ${id} AND o.ended_at IS NULL
            AND (o.ends_at IS NULL OR o.ends_at > ${at}) ORDER BY i.id`,
      ),

    instancesUsing: (organizationId: string, id: string) =>
      affectedRows<AffectedInstance>()(
        sql,
        sql`
          SELECT DISTINCT ON (i.id) ${instance} FROM usage_totals t
          JOIN instances i ON i.organization_id = t.organization_id AND i.id = t.instance_id
          JOIN customers c ON c.organization_id = i.organization_id AND c.id = i.customer_id
          WHERE t.organization_id = ${organizationId} AND t.entitlement_id = ${id} ORDER BY i.id`,
      ),
  }
}

const writes = (sql: PgClient.PgClient) => ({
  insertStatement: (organizationId: string, row: Entitlement) => sql`
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

  update: (organizationId: string, row: Entitlement) =>
    Effect.asVoid(
      Effect.orDie(sql`
        UPDATE entitlements SET name = ${row.name}, description = ${row.description},
          unit_singular = ${row.unitSingular}, unit_plural = ${row.unitPlural},
          sale_unit_factor = ${row.saleUnitFactor}, sale_unit_singular = ${row.saleUnitSingular},
          sale_unit_plural = ${row.saleUnitPlural}, display_order = ${row.displayOrder}, icon = ${row.icon},
          user_facing = ${row.userFacing}, warning_threshold_percent = ${row.warningThresholdPercent},
          updated_at = ${row.updatedAt}, updated_by = ${sql.json(row.updatedBy)}
        WHERE organization_id = ${organizationId} AND id = ${row.id}`),
    ),

  delete: (organizationId: string, id: string) =>
    Effect.asVoid(Effect.orDie(sql`DELETE FROM entitlements WHERE organization_id = ${organizationId} AND id = ${id}`)),
})

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = columnsOf(sql)
  return { ...reads(sql, columns), ...locks(sql, columns), ...uses(sql), ...writes(sql) }
})
