/** SQL of service accounts. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import type { Option } from "effect"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { executed, record, records, returnedRow } from "../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import type { ServiceAccount } from "./Model.ts"

/** A service account without its tokens, which are rows of their own. */
type AccountRow = Omit<ServiceAccount, "tokens">

/** Stores and reads service accounts. */
export class ServiceAccountsRepo extends Context.Service<
  ServiceAccountsRepo,
  {
    /** Stores the row if its slug is free and returns whether it was. */
    readonly insert: (organizationId: OrganizationId, row: Omit<AccountRow, "externalId">) => Effect.Effect<boolean>
    /** The service account with a slug. */
    readonly findBySlug: (organizationId: OrganizationId, slug: string) => Effect.Effect<Option.Option<AccountRow>>
    /** Reads the row and locks it until the transaction ends: it gets no token meanwhile. */
    readonly lockBySlug: (organizationId: OrganizationId, slug: string) => Effect.Effect<Option.Option<AccountRow>>
    /** Reads the row and locks it against changes and deletion until the transaction ends. */
    readonly lockBySlugShared: (
      organizationId: OrganizationId,
      slug: string,
    ) => Effect.Effect<Option.Option<AccountRow>>
    /** Updates the name and the external id of a locked row. */
    readonly update: (organizationId: OrganizationId, row: AccountRow) => Effect.Effect<void>
    /** Deletes a locked row. Its tokens must have ended. */
    readonly delete: (organizationId: OrganizationId, id: string) => Effect.Effect<void>
    /** Service accounts after a position, newest first, without their tokens. */
    readonly list: (
      organizationId: OrganizationId,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<ServiceAccount>>
  }
>()("keyshelf/access/ServiceAccountsRepo") {
  static readonly layer = Layer.suspend(() => Layer.effect(ServiceAccountsRepo, make))
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const accountColumns = sql.literal(`id, name, slug, external_id AS "externalId", created_at AS "createdAt",
    created_by AS "createdBy"`)

  return ServiceAccountsRepo.of({
    insert: (organizationId, row) =>
      returnedRow(sql`
        INSERT INTO service_accounts (organization_id, id, name, slug, created_at, created_by)
        VALUES (${organizationId}, ${row.id}, ${row.name}, ${row.slug}, ${row.createdAt},
          ${sql.json(row.createdBy)})
        ON CONFLICT ON CONSTRAINT service_accounts_slug DO NOTHING
        RETURNING id`),

    findBySlug: (organizationId, slug) =>
      record<AccountRow>()(sql`
        SELECT ${accountColumns} FROM service_accounts WHERE organization_id = ${organizationId} AND slug = ${slug}`),

    lockBySlug: (organizationId, slug) =>
      record<AccountRow>()(sql`
        SELECT ${accountColumns} FROM service_accounts
        WHERE organization_id = ${organizationId} AND slug = ${slug} FOR UPDATE`),

    lockBySlugShared: (organizationId, slug) =>
      record<AccountRow>()(sql`
        SELECT ${accountColumns} FROM service_accounts
        WHERE organization_id = ${organizationId} AND slug = ${slug} FOR SHARE`),

    update: (organizationId, row) =>
      executed(sql`
        UPDATE service_accounts SET name = ${row.name}, external_id = ${row.externalId}
        WHERE organization_id = ${organizationId} AND id = ${row.id}`),

    delete: (organizationId, id) =>
      executed(sql`DELETE FROM service_accounts WHERE organization_id = ${organizationId} AND id = ${id}`),

    list: (organizationId, after, count) =>
      records<ServiceAccount>()(sql`
        SELECT ${accountColumns}, NULL AS tokens FROM service_accounts
        WHERE organization_id = ${organizationId}
          AND id < ${idBefore(after)}
        ORDER BY id DESC LIMIT ${count}`),
  })
})
