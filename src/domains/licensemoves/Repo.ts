/** SQL of license migrations. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { ActorReference, CredentialReference } from "../../kernel/contract/Caller.ts"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { isRemoved } from "../../kernel/database/RemovedOrganizations.ts"
import { locatedBy, rowByKey, scopeOf } from "../../kernel/database/RowsByKey.ts"
import {
  column,
  decoded,
  decodedOne,
  decodedValue,
  executed,
  records,
  returnedRow,
} from "../../kernel/database/Statements.ts"
import { OrganizationId, Uuid } from "../../kernel/values/Identifiers.ts"
import { customersSql } from "../customers/CustomersSql.ts"
import { holdersOf } from "../instances/addons/AddOnsSql.ts"
import type { HolderPage } from "../instances/addons/AddOnsSql.ts"
import { instancesSql } from "../instances/InstancesSql.ts"
import { LicenseMigration } from "./Model.ts"
import type { LicenseMigrationItem } from "./Model.ts"

/** A migration as it is stored. */
const MigrationRow = Schema.Struct({
  ...LicenseMigration.fields,
  organizationId: OrganizationId,
  fromLicenseId: Uuid,
  toLicenseId: Uuid,
  customerId: Schema.NullOr(Uuid),
  /** The instances that it names; `null`: all of the license. */
  instanceSlugs: Schema.NullOr(Schema.Array(Schema.String)),
  processed: Schema.Int,
  /** The last instance that was looked at, in the order of ids. */
  cursorId: Schema.NullOr(Uuid),
  /** The last position that was looked at by the revert. */
  revertedTo: Schema.Int,
  revertedBy: Schema.NullOr(ActorReference),
  /** The credentials of the requests. They are stored with the actors. */
  createdWith: Schema.NullOr(CredentialReference),
  revertedWith: Schema.NullOr(CredentialReference),
})
export type MigrationRow = typeof MigrationRow.Type

/** An item to store. */
export interface ItemRow extends LicenseMigrationItem {
  readonly position: number
  readonly instanceId: string | null
}

/** An instance that a migration may move. */
const MigratedInstance = Schema.Struct({
  id: Uuid,
  slug: Schema.String,
  licenseId: Uuid,
  customerId: Uuid,
  customer: Schema.String,
})
export type MigratedInstance = typeof MigratedInstance.Type

/** Of a migration between versions of an add-on, when instances have it; `null`: it is one between licenses. */
type AddOnsAt = Date | null

const MovedInstance = Schema.Struct({ position: Schema.Int, instanceId: Uuid })

interface MigrationQueries {
  /** Stores a migration that has not begun. */
  readonly insert: (row: MigrationRow) => Effect.Effect<void>
  /** Finds a migration by its id. */
  readonly find: (organizationId: OrganizationId, id: string) => Effect.Effect<Option.Option<MigrationRow>>
  /** Finds a migration and locks its row until the transaction ends. */
  readonly lock: (organizationId: OrganizationId, id: string) => Effect.Effect<Option.Option<MigrationRow>>
  /** Up to `count` migrations of an organization, from the newest on, after a position. */
  readonly list: (
    organizationId: OrganizationId,
    after: Position | null,
    count: number,
  ) => Effect.Effect<ReadonlyArray<MigrationRow>>
  /**
   * Locks a migration of any organization that has work to do, until the transaction ends: the one that waited longest.
   * Skips those that another node works on.
   */
  readonly claim: (at: Date) => Effect.Effect<Option.Option<MigrationRow>>
  /** Lets others come first. */
  readonly postpone: (organizationId: OrganizationId, id: string, at: Date) => Effect.Effect<void>
  /** Stores how far a locked migration is. */
  readonly update: (row: MigrationRow, at: Date) => Effect.Effect<void>
  /** Up to `count` instances of the license after the cursor, in the order of ids. */
  readonly next: (
    migration: MigrationRow,
    count: number,
    addOnsAt: AddOnsAt,
  ) => Effect.Effect<ReadonlyArray<MigratedInstance>>
  /** Those of the instances that a migration names that exist. */
  readonly named: (
    migration: MigrationRow,
    slugs: ReadonlyArray<string>,
    addOnsAt: AddOnsAt,
  ) => Effect.Effect<ReadonlyArray<MigratedInstance>>
  /** How many instances the license has, at most `limit`. */
  readonly count: (migration: MigrationRow, limit: number, addOnsAt: AddOnsAt) => Effect.Effect<number>
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
    organizationId: OrganizationId,
    id: string,
    after: Position | null,
    count: number,
  ) => Effect.Effect<ReadonlyArray<LicenseMigrationItem & { readonly position: number }>>
}

const migrationColumns = `organization_id AS "organizationId", id, from_license_id AS "fromLicenseId", from_slug AS "from",
    to_license_id AS "toLicenseId", to_slug AS "to", customer_id AS "customerId", instance_slugs AS "instanceSlugs", state, at,
    json_build_object('total', total, 'moved', moved, 'skipped', skipped, 'failed', failed) AS counts, processed,
    cursor_id AS "cursorId", reverted_to AS "revertedTo", created_at AS "createdAt",
    finished_at AS "finishedAt", created_by - 'credential' AS "createdBy", created_by->'credential' AS "createdWith",
    reverted_by - 'credential' AS "revertedBy", reverted_by->'credential' AS "revertedWith"`

/** Selects migrations of any organization that have work to do, the one that waited longest first. */
export const waiting = (sql: SqlClient, columns: string, scope: Fragment, at: Date, count: number): Fragment => sql`
    SELECT ${sql.literal(columns)} FROM license_migrations
    WHERE ${scope} state IN ('SCHEDULED', 'RUNNING', 'REVERTING') AND (state <> 'SCHEDULED' OR at <= ${at})
      AND NOT ${sql.literal(isRemoved("license_migrations.organization_id"))}
    ORDER BY stepped_at NULLS FIRST, id LIMIT ${count}`

/** Locks the first of those that wait in a scope, unless another node works on it. */
export const claimWaiting = (sql: SqlClient, at: Date, scope: Fragment = sql``) =>
  decodedOne(MigrationRow)(sql`${waiting(sql, migrationColumns, scope, at, 1)} FOR UPDATE SKIP LOCKED`)

const migrations = (sql: PgClient.PgClient) => {
  const columns = sql.literal(migrationColumns)
  return {
    insert: (row) =>
      executed(sql`
        INSERT INTO license_migrations (organization_id, id, from_license_id, from_slug, to_license_id, to_slug, customer_id,
          instance_slugs, state, at, total, created_at, created_by)
        VALUES (${row.organizationId}, ${row.id}, ${row.fromLicenseId}, ${row.from}, ${row.toLicenseId}, ${row.to},
          ${row.customerId}, ${row.instanceSlugs}::text[], ${row.state}, ${row.at}, ${row.counts.total}, ${row.createdAt},
          ${sql.json({ ...row.createdBy, credential: row.createdWith })})`),

    find: (organizationId, id) =>
      decodedOne(MigrationRow)(
        sql`SELECT ${columns} FROM license_migrations WHERE organization_id = ${organizationId} AND id = ${id}`,
      ),

    lock: (organizationId, id) =>
      decodedOne(MigrationRow)(sql`
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
          reverted_by = ${row.revertedBy === null ? null : sql.json({ ...row.revertedBy, credential: row.revertedWith })}
        WHERE organization_id = ${row.organizationId} AND id = ${row.id}`),
  } satisfies Partial<MigrationQueries>
}

const countIn = decodedValue("count", Schema.Int)

/** The instances of the license that a migration moves from. */
const instances = (sql: PgClient.PgClient) => {
  const instance = (licenseId = sql`i.license_id`) =>
    sql`i.id, i.slug, ${licenseId} AS "licenseId", i.customer_id AS "customerId", c.slug AS customer`
  const holders = ({ fromLicenseId, ...row }: MigrationRow, at: Date, page?: HolderPage) =>
    holdersOf(sql, { ...row, license: sql`${fromLicenseId}`, at, page })
  const customerJoin = (organizationId: OrganizationId) =>
    sql`CROSS JOIN ${customersSql.byKey(sql, "slug", organizationId, "i.customer_id")} AS c`
  const ofCustomer = (customerId: string | null) =>
    customerId === null ? sql.literal("") : sql`AND i.customer_id = ${customerId}`

  return {
    next: (row, count, addOnsAt) => {
      const { cursorId, customerId, fromLicenseId, organizationId } = row
      if (addOnsAt !== null) {
        return decoded(MigratedInstance)(sql`
          SELECT ${instance(sql`${fromLicenseId}::uuid`)} FROM ${holders(row, addOnsAt, { after: cursorId, count })} held
          CROSS JOIN ${instancesSql.byKey(sql, "id, slug, customer_id", organizationId, "held.id")} AS i
          ${customerJoin(organizationId)} ORDER BY i.id LIMIT ${count}`)
      }
      return decoded(MigratedInstance)(sql`
        SELECT ${instance()} FROM (
          -- In the order of the index of the license alone: by that of ids, instances of all licenses would be read.
          SELECT * FROM ${instancesSql.as("i")}
          WHERE i.organization_id = ${organizationId} AND i.license_id BETWEEN ${fromLicenseId} AND ${fromLicenseId}
            AND i.id > ${cursorId ?? "00000000-0000-0000-0000-000000000000"} ${ofCustomer(customerId)}
          ORDER BY i.license_id, i.id LIMIT ${count}
        ) AS i ${customerJoin(organizationId)} ORDER BY i.license_id, i.id`)
    },

    named: (row, slugs, addOnsAt) => {
      const { fromLicenseId, organizationId } = row
      const holding = addOnsAt === null ? sql`(NULL)` : holders({ ...row, customerId: null }, addOnsAt)
      const licenseId = sql`CASE WHEN i.id IN ${holding} THEN ${fromLicenseId}::uuid ELSE i.license_id END`
      return decoded(MigratedInstance)(sql`
        SELECT ${instance(licenseId)} FROM unnest(${slugs}::text[]) AS named (slug)
        CROSS JOIN ${instancesSql.byKey(sql, "id, slug, license_id, customer_id", organizationId, "named.slug", "slug")} AS i ${customerJoin(organizationId)}`)
    },

    count: (row, limit, addOnsAt) => {
      const { customerId, fromLicenseId, organizationId } = row
      const counted =
        addOnsAt === null
          ? sql`SELECT 1 FROM ${instancesSql.as("i")}
            WHERE i.organization_id = ${organizationId} AND i.license_id = ${fromLicenseId} ${ofCustomer(customerId)}`
          : sql`SELECT 1 FROM ${holders(row, addOnsAt)} held`
      const count = countIn(sql`SELECT count(*)::int AS count FROM (${counted} LIMIT ${limit}) AS counted`)
      return Effect.map(count, Option.getOrThrow)
    },

    hasLateEnd: ({ customerId, fromLicenseId, instanceSlugs, organizationId }, after) =>
      returnedRow(sql`
        SELECT 1 FROM ${instancesSql.as("i")}
        WHERE i.organization_id = ${organizationId} AND i.license_id = ${fromLicenseId} ${ofCustomer(customerId)}
          AND i.grace_days IS NULL AND i.end_license_date > ${after}
          ${instanceSlugs === null ? sql.literal("") : sql`AND i.slug = ANY(${instanceSlugs}::text[])`} LIMIT 1`),
  } satisfies Partial<MigrationQueries>
}

const items = (sql: PgClient.PgClient, located: (organizationId: OrganizationId) => string | null) =>
  ({
    insertItems: ({ id, organizationId }, items) =>
      executed(sql`
        INSERT INTO license_migration_items (organization_id, migration_id, position, instance_id, instance_slug, state, code)
        SELECT ${organizationId}, ${id}, item.*
        FROM unnest(${column("int4", items, (item) => item.position)}, (SELECT ${column("uuid", items, (item) => item.instanceId)}),
          ${column("text", items, (item) => item.instance)}, ${column("text", items, (item) => item.state)},
          ${column("text", items, (item) => item.code)}) AS item`),

    movedAfter: ({ id, organizationId, revertedTo }, count) =>
      decoded(MovedInstance)(sql`
        SELECT position, instance_id AS "instanceId" FROM license_migration_items
        WHERE organization_id = ${organizationId} AND migration_id = ${id} AND position > ${revertedTo} AND state = 'MOVED'
        ORDER BY position LIMIT ${count}`),

    updateItems: ({ id, organizationId }, items) =>
      executed(sql`
        WITH item AS MATERIALIZED (
          SELECT result.state, result.code, stored.location FROM unnest(${column("int4", items, (item) => item.position)}, (SELECT ${column("text", items, (item) => item.state)}),
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
export class MigrationsRepo extends Context.Service<MigrationsRepo, MigrationQueries>()("keyshelf/licensemoves/Repo") {
  static readonly layer = Layer.effect(MigrationsRepo, make)
}
