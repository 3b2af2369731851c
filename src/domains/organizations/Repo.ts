/** SQL statements for organizations. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import type { Option } from "effect"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import type { ActorReference } from "../../kernel/contract/Caller.ts"
import {
  advisoryLock,
  decoded,
  decodedOne,
  executed,
  record,
  records,
  returnedRow,
} from "../../kernel/database/Statements.ts"
import { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { Organization } from "./Model.ts"

const StoredOrganization = Schema.Struct({ ...Organization.fields, id: OrganizationId })

/** An organization that was removed. */
const RemovedOrganization = Schema.Struct({ id: OrganizationId, removedAt: Schema.Date })
export type RemovedOrganization = typeof RemovedOrganization.Type

/** Stores organizations. */
export class OrganizationsRepo extends Context.Service<
  OrganizationsRepo,
  {
    /** Inserts the row. Returns false if the slug is taken. */
    readonly insert: (row: Organization) => Effect.Effect<boolean>
    /** The organization with an id. A removed one is not found. */
    readonly find: (id: string) => Effect.Effect<Option.Option<Organization>>
    /** Reads the row and locks it until the transaction ends. */
    readonly lock: (id: string) => Effect.Effect<Option.Option<Organization>>
    /** Locks all external ids until the transaction ends, so that two organizations cannot take the same one. */
    readonly lockExternalIds: Effect.Effect<void>
    /** The organization with this external id. A removed one has none. */
    readonly findByExternalId: (externalId: string) => Effect.Effect<Option.Option<Organization>>
    /** Whether another organization than this one has the external id. */
    readonly hasExternalId: (externalId: string, exceptId: string) => Effect.Effect<boolean>
    /** Updates the name and the external id of a locked row. */
    readonly update: (row: Organization) => Effect.Effect<void>
    /** Organizations after a position, newest first, without removed ones. */
    readonly list: (after: Position | null, count: number) => Effect.Effect<ReadonlyArray<Organization>>
    /** Marks the organization as removed. No slug contains a colon, so its own one is free afterwards. */
    readonly remove: (id: string, by: ActorReference, at: Date) => Effect.Effect<void>
    /** Removed organizations whose rows are being deleted. */
    readonly listRemoved: Effect.Effect<ReadonlyArray<RemovedOrganization>>
    /** Deletes the row of a removed organization. All its other rows must have been deleted. */
    readonly deleteRemoved: (id: string) => Effect.Effect<void>
  }
>()("keyshelf/organizations/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(OrganizationsRepo, make))
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = sql.literal(`id, name, slug, external_id AS "externalId", created_at AS "createdAt",
    updated_at AS "updatedAt", created_by AS "createdBy", updated_by AS "updatedBy"`)

  return OrganizationsRepo.of({
    insert: (row) =>
      returnedRow(sql`
        INSERT INTO organizations (id, name, slug, external_id, created_at, created_by, updated_at, updated_by)
        VALUES (${row.id}, ${row.name}, ${row.slug}, ${row.externalId}, ${row.createdAt}, ${sql.json(row.createdBy)},
          ${row.updatedAt}, ${sql.json(row.updatedBy)})
        ON CONFLICT ON CONSTRAINT organizations_slug DO NOTHING
        RETURNING id`),

    find: (id) =>
      record<Organization>()(sql`SELECT ${columns} FROM organizations WHERE id = ${id} AND removed_at IS NULL`),

    lock: (id) =>
      decodedOne(StoredOrganization)(sql`
        SELECT ${columns} FROM organizations WHERE id = ${id} AND removed_at IS NULL FOR UPDATE`),

    lockExternalIds: advisoryLock(sql, "organizations.external_id"),

    findByExternalId: (externalId) =>
      record<Organization>()(sql`SELECT ${columns} FROM organizations WHERE external_id = ${externalId}`),

    hasExternalId: (externalId, exceptId) =>
      returnedRow(sql`SELECT 1 FROM organizations WHERE external_id = ${externalId} AND id <> ${exceptId}`),

    update: (row) =>
      executed(sql`
        UPDATE organizations SET name = ${row.name}, external_id = ${row.externalId}, updated_at = ${row.updatedAt},
          updated_by = ${sql.json(row.updatedBy)}
        WHERE id = ${row.id}`),

    list: (after, count) =>
      records<Organization>()(sql`
        SELECT ${columns} FROM organizations
        WHERE id < ${idBefore(after)} AND removed_at IS NULL ORDER BY id DESC LIMIT ${count}`),

    remove: (id, by, at) =>
      executed(sql`
        UPDATE organizations SET removed_at = ${at}, removed_by = ${sql.json(by)}, slug = 'removed:' || id,
          external_id = NULL
        WHERE id = ${id}`),

    listRemoved: decoded(RemovedOrganization)(
      sql`SELECT id, removed_at AS "removedAt" FROM organizations WHERE removed_at IS NOT NULL ORDER BY id`,
    ),

    deleteRemoved: (id) => executed(sql`DELETE FROM organizations WHERE id = ${id} AND removed_at IS NOT NULL`),
  })
})
