/** SQL of license migrations. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option } from "effect"
import type { Fragment } from "effect/sql/Statement"
import type { ActorReference } from "../../kernel/contract/Caller.ts"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { isRemoved } from "../../kernel/database/RemovedOrganizations.ts"
import { rowByKey } from "../../kernel/database/RowsByKey.ts"
import { column, executed, hasCitus, record, records, returnedRow } from "../../kernel/database/Statements.ts"
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

/** As many nodes may work on migrations at the same time on Citus. */
const MAX_TRIED = 20

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const isSharded = yield* hasCitus(sql)
  const columns =
    sql.literal(`organization_id AS "organizationId", id, from_license_id AS "fromLicenseId", from_slug AS "from",
    to_license_id AS "toLicenseId", to_slug AS "to", customer_id AS "customerId", instance_slugs AS "instanceSlugs", state, at,
    json_build_object('total', total, 'moved', moved, 'skipped', skipped, 'failed', failed) AS counts, processed,
    cursor_id AS "cursorId", reverted_to AS "revertedTo", created_at AS "createdAt", created_by AS "createdBy",
    finished_at AS "finishedAt", reverted_by AS "revertedBy"`)
  const instance = sql.literal(
    `i.id, i.slug, i.license_id AS "licenseId", i.customer_id AS "customerId", c.slug AS customer`,
  )
  const ofOrganization = (organizationId: string) => sql`organization_id = ${organizationId}`
  const customerJoin = (organizationId: string) => {
    const row = { table: "customers", within: ofOrganization(organizationId), column: "id", key: "i.customer_id" }
    return sql`CROSS JOIN ${rowByKey(sql, "slug", row)} AS c`
  }
  const ofCustomer = (customerId: string | null) =>
    customerId === null ? sql.literal("") : sql`AND i.customer_id = ${customerId}`

  const waiting = (columns: Fragment, scope: Fragment, at: Date, count: number) => sql`
    SELECT ${columns} FROM license_migrations
    WHERE ${scope} state IN ('SCHEDULED', 'RUNNING', 'REVERTING') AND (state <> 'SCHEDULED' OR at <= ${at})
      AND NOT ${sql.literal(isRemoved("license_migrations.organization_id"))}
    ORDER BY stepped_at NULLS FIRST, id LIMIT ${count}`
  const claimIn = (scope: Fragment, at: Date) =>
    record<MigrationRow>()(sql`${waiting(columns, scope, at, 1)} FOR UPDATE SKIP LOCKED`)

  /** On Citus a statement that locks names one organization. So those that wait are looked up first. */
  const claimOneByOne = Effect.fnUntraced(function* (at: Date) {
    const found = yield* records<Pick<MigrationRow, "organizationId" | "id">>()(
      waiting(sql.literal(`organization_id AS "organizationId", id`), sql``, at, MAX_TRIED),
    )
    for (const { id, organizationId } of found) {
      const claimed = yield* claimIn(sql`organization_id = ${organizationId} AND id = ${id} AND`, at)
      if (Option.isSome(claimed)) return claimed
    }
    return Option.none<MigrationRow>()
  })

  return {
    insert: (row: MigrationRow) =>
      executed(sql`
        INSERT INTO license_migrations (organization_id, id, from_license_id, from_slug, to_license_id, to_slug, customer_id,
          instance_slugs, state, at, total, created_at, created_by)
        VALUES (${row.organizationId}, ${row.id}, ${row.fromLicenseId}, ${row.from}, ${row.toLicenseId}, ${row.to},
          ${row.customerId}, ${row.instanceSlugs}::text[], ${row.state}, ${row.at}, ${row.counts.total}, ${row.createdAt},
          ${sql.json(row.createdBy)})`),

    find: (organizationId: string, id: string) =>
      record<MigrationRow>()(
        sql`SELECT ${columns} FROM license_migrations WHERE organization_id = ${organizationId} AND id = ${id}`,
      ),

    lock: (organizationId: string, id: string) =>
      record<MigrationRow>()(sql`
        SELECT ${columns} FROM license_migrations WHERE organization_id = ${organizationId} AND id = ${id} FOR UPDATE`),

    list: (organizationId: string, after: Position | null, count: number) =>
      records<MigrationRow>()(sql`
        SELECT ${columns} FROM license_migrations
        WHERE organization_id = ${organizationId} AND id < ${idBefore(after)} ORDER BY id DESC LIMIT ${count}`),

    /**
     * Locks a migration of any organization that has work to do, until the transaction ends: the one that waited longest.
     * Skips those that another node works on.
     */
    claim: (at: Date) => (isSharded ? claimOneByOne(at) : claimIn(sql``, at)),

    /** Lets others come first. */
    postpone: (organizationId: string, id: string, at: Date) =>
      executed(
        sql`UPDATE license_migrations SET stepped_at = ${at} WHERE organization_id = ${organizationId} AND id = ${id}`,
      ),

    /** Stores how far a locked migration is. */
    update: (row: MigrationRow, at: Date) =>
      executed(sql`
        UPDATE license_migrations SET state = ${row.state}, total = ${row.counts.total}, moved = ${row.counts.moved},
          skipped = ${row.counts.skipped}, failed = ${row.counts.failed}, processed = ${row.processed},
          cursor_id = ${row.cursorId}, reverted_to = ${row.revertedTo}, finished_at = ${row.finishedAt}, stepped_at = ${at},
          reverted_by = ${row.revertedBy === null ? null : sql.json(row.revertedBy)}
        WHERE organization_id = ${row.organizationId} AND id = ${row.id}`),

    /** Up to `count` instances of the license after the cursor, in the order of ids. */
    next: ({ cursorId, customerId, fromLicenseId, organizationId }: MigrationRow, count: number) =>
      records<MigratedInstance>()(sql`
        SELECT ${instance} FROM (
          -- In the order of the index of the license alone: by that of ids, instances of all licenses would be read.
          SELECT * FROM instances i
          WHERE i.organization_id = ${organizationId} AND i.license_id BETWEEN ${fromLicenseId} AND ${fromLicenseId}
            AND i.id > ${cursorId ?? "00000000-0000-0000-0000-000000000000"} ${ofCustomer(customerId)}
          ORDER BY i.license_id, i.id LIMIT ${count}
        ) AS i ${customerJoin(organizationId)} ORDER BY i.license_id, i.id`),

    /** Those of the named instances that exist. */
    named: (organizationId: string, slugs: ReadonlyArray<string>) =>
      records<MigratedInstance>()(sql`
        SELECT ${instance} FROM unnest(${slugs}::text[]) AS named (slug)
        CROSS JOIN ${rowByKey(sql, "id, slug, license_id, customer_id", {
          table: "instances",
          within: ofOrganization(organizationId),
          column: "slug",
          key: "named.slug",
        })} AS i ${customerJoin(organizationId)}`),

    /** How many instances the license has, at most `limit`. */
    count: ({ customerId, fromLicenseId, organizationId }: MigrationRow, limit: number) =>
      Effect.map(
        record<{ readonly count: number }>()(sql`
          SELECT count(*)::int AS count FROM (
            SELECT 1 FROM instances i
            WHERE i.organization_id = ${organizationId} AND i.license_id = ${fromLicenseId} ${ofCustomer(customerId)}
            LIMIT ${limit}) AS counted`),
        (row) => Option.getOrThrow(row).count,
      ),

    /** Whether one of the instances, without days of grace of its own, ends after an instant. */
    hasLateEnd: ({ customerId, fromLicenseId, instanceSlugs, organizationId }: MigrationRow, after: Date) =>
      returnedRow(sql`
        SELECT 1 FROM instances i
        WHERE i.organization_id = ${organizationId} AND i.license_id = ${fromLicenseId} ${ofCustomer(customerId)}
          AND i.grace_days IS NULL AND i.end_license_date > ${after}
          ${instanceSlugs === null ? sql.literal("") : sql`AND i.slug = ANY(${instanceSlugs}::text[])`} LIMIT 1`),

    insertItems: ({ id, organizationId }: MigrationRow, items: ReadonlyArray<ItemRow>) =>
      executed(sql`
        INSERT INTO license_migration_items (organization_id, migration_id, position, instance_id, instance_slug, state, code)
        SELECT ${organizationId}, ${id}, item.*
        FROM unnest(${column("int4", items, (item) => item.position)}, (SELECT ${column("uuid", items, (item) => item.instanceId)}),
          ${column("text", items, (item) => item.instance)}, ${column("text", items, (item) => item.state)},
          ${column("text", items, (item) => item.code)}) AS item`),

    /** Up to `count` moved instances after a position. */
    movedAfter: ({ id, organizationId, revertedTo }: MigrationRow, count: number) =>
      records<{ readonly position: number; readonly instanceId: string }>()(sql`
        SELECT position, instance_id AS "instanceId" FROM license_migration_items
        WHERE organization_id = ${organizationId} AND migration_id = ${id} AND position > ${revertedTo} AND state = 'MOVED'
        ORDER BY position LIMIT ${count}`),

    updateItems: (
      { id, organizationId }: MigrationRow,
      items: ReadonlyArray<Pick<ItemRow, "position" | "state" | "code">>,
    ) =>
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
        WHERE ${isSharded ? sql`organization_id = ${organizationId} AND` : sql``} license_migration_items.ctid = item.location`),

    listItems: (organizationId: string, id: string, after: Position | null, count: number) =>
      records<LicenseMigrationItem & { readonly position: number }>()(sql`
        SELECT position, instance_slug AS instance, state, code FROM license_migration_items
        WHERE organization_id = ${organizationId} AND migration_id = ${id} AND position > ${Number(after?.[0] ?? 0)}
        ORDER BY position LIMIT ${count}`),
  }
})

/** Stores and reads license migrations. */
export class MigrationsRepo extends Context.Service<MigrationsRepo, Effect.Success<typeof make>>()(
  "keyshelf/migrations/Repo",
) {
  static readonly layer = Layer.effect(MigrationsRepo, make)
}
