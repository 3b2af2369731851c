/** SQL of license migrations. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import type { ActorReference } from "../../kernel/contract/Caller.ts"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { isRemoved } from "../../kernel/database/RemovedOrganizations.ts"
import { locatedBy, rowByKey, scopeOf } from "../../kernel/database/RowsByKey.ts"
import { column, executed, record, records, returnedRow } from "../../kernel/database/Statements.ts"
import type { LicenseMigration, LicenseMigrationItem } from "./Model.ts"

/** A migration as it is stored. */
export interface MigrationRow extends LicenseMigration {
  readonly organizationId: string
  readonly fromLicenseId: string
  readonly toLicenseId: string
  readonly customerId: string | null
  /** The instances that it names; `null`: all of the license. */
  readonly instanceSlugs: ReadonlyArray<string> | null
  readonly processed: number
  /** The last instance that was looked at, in the order of ids. */
  readonly cursorId: string | null
  /** The last position that was looked at by the revert. */
  readonly revertedTo: number
  readonly revertedBy: ActorReference | null
}

/** An item to store. */
export interface ItemRow extends LicenseMigrationItem {
  readonly position: number
  readonly instanceId: string | null
}

/** An instance that a migration may move. */
export interface MigratedInstance {
  readonly id: string
  readonly slug: string
  readonly licenseId: string
  readonly customerId: string
  readonly customer: string
}

interface MigrationQueries {
  /** Stores a migration that has not begun. */
  readonly insert: (row: MigrationRow) => Effect.Effect<void>
  /** Finds a migration by its id. */
  readonly find: (organizationId: string, id: string) => Effect.Effect<Option.Option<MigrationRow>>
  /** Finds a migration and locks its row until the transaction ends. */
  readonly lock: (organizationId: string, id: string) => Effect.Effect<Option.Option<MigrationRow>>
  /** Up to `count` migrations of an organization, from the newest on, after a position. */
  readonly list: (
    organizationId: string,
    after: Position | null,
    count: number,
  ) => Effect.Effect<ReadonlyArray<MigrationRow>>
  /**
   * Locks a migration of any organization that has work to do, until the transaction ends: the one that waited longest.
   * Skips those that another node works on.
   */
  readonly claim: (at: Date) => Effect.Effect<Option.Option<MigrationRow>>
  /** Lets others come first. */
  readonly postpone: (organizationId: string, id: string, at: Date) => Effect.Effect<void>
  /** Stores how far a locked migration is. */
  readonly update: (row: MigrationRow, at: Date) => Effect.Effect<void>
  /** Up to `count` instances of the license after the cursor, in the order of ids. */
  readonly next: (migration: MigrationRow, count: number) => Effect.Effect<ReadonlyArray<MigratedInstance>>
  /** Those of the named instances that exist. */
  readonly named: (
    organizationId: string,
    slugs: ReadonlyArray<string>,
  ) => Effect.Effect<ReadonlyArray<MigratedInstance>>
  /** How many instances the license has, at most `limit`. */
  readonly count: (migration: MigrationRow, limit: number) => Effect.Effect<number>
  /** Whether one of the instances, without days of grace of its own, ends after an instant. */
  readonly hasLateEnd: (migration: MigrationRow, after: Date) => Effect.Effect<boolean>
  /** Stores what became of instances that the migration looked at. */
  readonly insertItems: (migration: MigrationRow, items: ReadonlyArray<ItemRow>) => Effect.Effect<void>
  /** Up to `count` moved instances after a position. */
  readonly movedAfter: (
    migration: MigrationRow,
    count: number,
  ) => Effect.Effect<ReadonlyArray<{ readonly position: number; readonly instanceId: string }>>
  /** Changes the state and the code of stored items, by their positions. */
  readonly updateItems: (
    migration: MigrationRow,
    items: ReadonlyArray<Pick<ItemRow, "position" | "state" | "code">>,
  ) => Effect.Effect<void>
  /** Up to `count` items of a migration after a position, in the order of their positions. */
  readonly listItems: (
    organizationId: string,
    id: string,
    after: Position | null,
    count: number,
  ) => Effect.Effect<ReadonlyArray<LicenseMigrationItem & { readonly position: number }>>
}

const migrationColumns = `organization_id AS "organizationId", id, from_license_id AS "fromLicenseId", from_slug AS "from",
    to_license_id AS "toLicenseId", to_slug AS "to", customer_id AS "customerId", instance_slugs AS "instanceSlugs", state, at,
    json_build_object('total', total, 'moved', moved, 'skipped', skipped, 'failed', failed) AS counts, processed,
    cursor_id AS "cursorId", reverted_to AS "revertedTo", created_at AS "createdAt", created_by AS "createdBy",
    finished_at AS "finishedAt", reverted_by AS "revertedBy"`

/** Selects migrations of any organization that have work to do, the one that waited longest first. */
export const waiting = (sql: SqlClient, columns: string, scope: Fragment, at: Date, count: number): Fragment => sql`
    SELECT ${sql.literal(columns)} FROM license_migrations
    WHERE ${scope} state IN ('SCHEDULED', 'RUNNING', 'REVERTING') AND (state <> 'SCHEDULED' OR at <= ${at})
      AND NOT ${sql.literal(isRemoved("license_migrations.organization_id"))}
    ORDER BY stepped_at NULLS FIRST, id LIMIT ${count}`

/** Locks the first of those that wait in a scope, unless another node works on it. */
export const claimWaiting = (sql: SqlClient, at: Date, scope: Fragment = sql``) =>
  record<MigrationRow>()(sql`${waiting(sql, migrationColumns, scope, at, 1)} FOR UPDATE SKIP LOCKED`)

const ofOrganization = (sql: SqlClient, organizationId: string): Fragment => sql`organization_id = ${organizationId}`

const migrations = (sql: PgClient.PgClient) => {
  const columns = sql.literal(migrationColumns)
  return {
    insert: (row) =>
      executed(sql`
        INSERT INTO license_migrations (organization_id, id, from_license_id, from_slug, to_license_id, to_slug, customer_id,
          instance_slugs, state, at, total, created_at, created_by)
        VALUES (${row.organizationId}, ${row.id}, ${row.fromLicenseId}, ${row.from}, ${row.toLicenseId}, ${row.to},
          ${row.customerId}, ${row.instanceSlugs}::text[], ${row.state}, ${row.at}, ${row.counts.total}, ${row.createdAt},
          ${sql.json(row.createdBy)})`),

    find: (organizationId, id) =>
      record<MigrationRow>()(
        sql`SELECT ${columns} FROM license_migrations WHERE organization_id = ${organizationId} AND id = ${id}`,
      ),

    lock: (organizationId, id) =>
      record<MigrationRow>()(sql`
        SELECT ${columns} FROM license_migrations WHERE organization_id = ${organizationId} AND id = ${id} FOR UPDATE`),

    list: (organizationId, after, count) =>
      records<MigrationRow>()(sql`
        SELECT ${columns} FROM license_migrations
        WHERE organization_id = ${organizationId} AND id < ${idBefore(after)} ORDER BY id DESC LIMIT ${count}`),

    claim: (at) => claimWaiting(sql, at),

    postpone: (organizationId, id, at) =>
      executed(
        sql`UPDATE license_migrations SET stepped_at = ${at} WHERE organization_id = ${organizationId} AND id = ${id}`,
      ),

    update: (row, at) =>
      executed(sql`
        UPDATE license_migrations SET state = ${row.state}, total = ${row.counts.total}, moved = ${row.counts.moved},
          skipped = ${row.counts.skipped}, failed = ${row.counts.failed}, processed = ${row.processed},
          cursor_id = ${row.cursorId}, reverted_to = ${row.revertedTo}, finished_at = ${row.finishedAt}, stepped_at = ${at},
          reverted_by = ${row.revertedBy === null ? null : sql.json(row.revertedBy)}
        WHERE organization_id = ${row.organizationId} AND id = ${row.id}`),
  } satisfies Partial<MigrationQueries>
}

/** The instances of the license that a migration moves from. */
const instances = (sql: PgClient.PgClient) => {
  const instance = sql.literal(
    `i.id, i.slug, i.license_id AS "licenseId", i.customer_id AS "customerId", c.slug AS customer`,
  )
  const customerJoin = (organizationId: string) => {
    const row = { table: "customers", within: ofOrganization(sql, organizationId), column: "id", key: "i.customer_id" }
    return sql`CROSS JOIN ${rowByKey(sql, "slug", row)} AS c`
  }
  const ofCustomer = (customerId: string | null) =>
    customerId === null ? sql.literal("") : sql`AND i.customer_id = ${customerId}`

  return {
    next: ({ cursorId, customerId, fromLicenseId, organizationId }, count) =>
      records<MigratedInstance>()(sql`
        SELECT ${instance} FROM (
          -- In the order of the index of the license alone: by that of ids, instances of all licenses would be read.
          SELECT * FROM instances i
          WHERE i.organization_id = ${organizationId} AND i.license_id BETWEEN ${fromLicenseId} AND ${fromLicenseId}
            AND i.id > ${cursorId ?? "00000000-0000-0000-0000-000000000000"} ${ofCustomer(customerId)}
          ORDER BY i.license_id, i.id LIMIT ${count}
        ) AS i ${customerJoin(organizationId)} ORDER BY i.license_id, i.id`),

    named: (organizationId, slugs) =>
      records<MigratedInstance>()(sql`
        SELECT ${instance} FROM unnest(${slugs}::text[]) AS named (slug)
        CROSS JOIN ${rowByKey(sql, "id, slug, license_id, customer_id", {
          table: "instances",
          within: ofOrganization(sql, organizationId),
          column: "slug",
          key: "named.slug",
        })} AS i ${customerJoin(organizationId)}`),

    count: ({ customerId, fromLicenseId, organizationId }, limit) =>
      Effect.map(
        record<{ readonly count: number }>()(sql`
          SELECT count(*)::int AS count FROM (
            SELECT 1 FROM instances i
            WHERE i.organization_id = ${organizationId} AND i.license_id = ${fromLicenseId} ${ofCustomer(customerId)}
            LIMIT ${limit}) AS counted`),
        (row) => Option.getOrThrow(row).count,
      ),

    hasLateEnd: ({ customerId, fromLicenseId, instanceSlugs, organizationId }, after) =>
      returnedRow(sql`
        SELECT 1 FROM instances i
        WHERE i.organization_id = ${organizationId} AND i.license_id = ${fromLicenseId} ${ofCustomer(customerId)}
          AND i.grace_days IS NULL AND i.end_license_date > ${after}
          ${instanceSlugs === null ? sql.literal("") : sql`AND i.slug = ANY(${instanceSlugs}::text[])`} LIMIT 1`),
  } satisfies Partial<MigrationQueries>
}

const items = (sql: PgClient.PgClient, located: (organizationId: string) => string | null) =>
  ({
    insertItems: ({ id, organizationId }, items) =>
      executed(sql`
        INSERT INTO license_migration_items (organization_id, migration_id, position, instance_id, instance_slug, state, code)
        SELECT ${organizationId}, ${id}, item.*
        FROM unnest(${column("int4", items, (item) => item.position)}, (SELECT ${column("uuid", items, (item) => item.instanceId)}),
          ${column("text", items, (item) => item.instance)}, ${column("text", items, (item) => item.state)},
          ${column("text", items, (item) => item.code)}) AS item`),

    movedAfter: ({ id, organizationId, revertedTo }, count) =>
      records<{ readonly position: number; readonly instanceId: string }>()(sql`
        SELECT position, instance_id AS "instanceId" FROM license_migration_items
        WHERE organization_id = ${organizationId} AND migration_id = ${id} AND position > ${revertedTo} AND state = 'MOVED'
        ORDER BY position LIMIT ${count}`),

    updateItems: ({ id, organizationId }, items) =>
      executed(sql`
        WITH item AS MATERIALIZED (
          SELECT result.state, result.code, stored.location
          FROM unnest(${column("int4", items, (item) => item.position)}, (SELECT ${column("text", items, (item) => item.state)}),
            ${column("text", items, (item) => item.code)}) AS result (position, state, code)
          CROSS JOIN ${rowByKey(sql, "ctid AS location", {
            table: "license_migration_items",
            within: sql`organization_id = ${organizationId} AND migration_id = ${id}`,
            column: "position",
            key: "result.position",
          })} AS stored
        )
        UPDATE license_migration_items SET state = item.state, code = item.code FROM item
        WHERE ${scopeOf(sql, located(organizationId))} license_migration_items.ctid = item.location`),

    listItems: (organizationId, id, after, count) =>
      records<LicenseMigrationItem & { readonly position: number }>()(sql`
        SELECT position, instance_slug AS instance, state, code FROM license_migration_items
        WHERE organization_id = ${organizationId} AND migration_id = ${id} AND position > ${Number(after?.[0] ?? 0)}
        ORDER BY position LIMIT ${count}`),
  }) satisfies Partial<MigrationQueries>

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  return {
    ...migrations(sql),
    ...instances(sql),
    ...items(sql, yield* locatedBy(sql)),
  } satisfies MigrationQueries
})

/** Stores and reads license migrations. */
export class MigrationsRepo extends Context.Service<MigrationsRepo, MigrationQueries>()("keyshelf/migrations/Repo") {
  static readonly layer = Layer.effect(MigrationsRepo, make)
}
