/** SQL of customers. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option } from "effect"
import { affectedRows } from "../../kernel/database/AffectedRows.ts"
import type { AffectedInstance } from "../../kernel/contract/dryruns/Impact.ts"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { HotPath } from "../../kernel/database/Connections.ts"
import { pageIds, prefixOf } from "../../kernel/database/Pages.ts"
import { integrationsOf } from "./IntegrationRecordsSql.ts"
import { advisoryLock, record, records, returnedRow } from "../../kernel/database/Statements.ts"
import type { Customer, CustomerFilters } from "./Model.ts"

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const { askFor } = yield* HotPath
  const pageOf = pageIds(sql, "newest")
  const columns = (organizationId: string) => sql`id, name, slug, domain, external_customer_id AS "externalCustomerId",
    ${integrationsOf(sql, "customers", organizationId)} AS integrations, created_at AS "createdAt", updated_at AS "updatedAt",
    created_by AS "createdBy", updated_by AS "updatedBy"`

  /** The statement that stores the row if its slug is free. */
  const insertStatement = (organizationId: string, row: Customer) => sql`
    INSERT INTO customers (organization_id, id, name, slug, domain, external_customer_id, created_at, created_by,
      updated_at, updated_by)
    VALUES (${organizationId}, ${row.id}, ${row.name}, ${row.slug}, ${row.domain}, ${row.externalCustomerId},
      ${row.createdAt}, ${sql.json(row.createdBy)}, ${row.updatedAt}, ${sql.json(row.updatedBy)})
    ON CONFLICT ON CONSTRAINT customers_slug DO NOTHING
    RETURNING id`

  return {
    insertion: insertStatement,

    /** Stores the row if its slug is free and returns whether it was. */
    insert: (organizationId: string, row: Customer) => returnedRow(insertStatement(organizationId, row)),

    findById: (organizationId: string, id: string) =>
      record<Customer>()(
        sql`SELECT ${columns(organizationId)} FROM customers WHERE organization_id = ${organizationId} AND id = ${id}`,
      ),

    findBySlug: (organizationId: string, slug: string) =>
      record<Customer>()(
        askFor(organizationId)(
          (client) =>
            client`SELECT ${columns(organizationId)} FROM customers WHERE organization_id = ${organizationId} AND slug = ${slug}`,
        ),
      ),

    findByExternalId: (organizationId: string, externalId: string) =>
      record<Customer>()(sql`
        SELECT ${columns(organizationId)} FROM customers
        WHERE organization_id = ${organizationId} AND external_customer_id = ${externalId}`),

    list: (organizationId: string, filters: CustomerFilters, after: Position | null, count: number) =>
      records<Customer>()(sql`
        SELECT ${columns(organizationId)} FROM customers
        WHERE organization_id = ${organizationId} AND id = ANY(ARRAY(${pageOf({
          table: "customers",
          organizationId,
          after: sql`id < ${idBefore(after)}`,
          count,
          where: [
            ...(filters.domain === undefined ? [] : [sql`lower(domain) = lower(${filters.domain}::text)`]),
            ...(filters.externalCustomerId === undefined
              ? []
              : [sql`external_customer_id = ${filters.externalCustomerId}`]),
          ],
          unordered: filters.q === undefined ? [] : [prefixOf(sql, filters.q)],
        })}))
        ORDER BY id DESC`),

    /**
     * Locks the row: it can be changed or deleted, and gets no instance before the transaction ends. After a wait for
     * the lock, `integrations` can be stale. `update` and `delete` return current ones.
     */
    lockBySlug: (organizationId: string, slug: string) =>
      record<Customer>()(sql`
        SELECT ${columns(organizationId)} FROM customers WHERE organization_id = ${organizationId} AND slug = ${slug} FOR UPDATE`),

    /** Like {@link lockBySlug}. */
    lockById: (organizationId: string, id: string) =>
      record<Customer>()(sql`
        SELECT ${columns(organizationId)} FROM customers WHERE organization_id = ${organizationId} AND id = ${id} FOR UPDATE`),

    /** Locks the row against deletion until the transaction ends. */
    lockByIdShared: (organizationId: string, id: string) =>
      record<Customer>()(sql`
        SELECT ${columns(organizationId)} FROM customers WHERE organization_id = ${organizationId} AND id = ${id} FOR KEY SHARE`),

    /** Like {@link keepById}. */
    lockBySlugShared: (organizationId: string, slug: string) =>
      record<Customer>()(sql`
        SELECT ${columns(organizationId)} FROM customers WHERE organization_id = ${organizationId} AND slug = ${slug} FOR KEY SHARE`),

    /** Locks an external id until the transaction ends: concurrent requests cannot assign it to two customers. */
    lockExternalId: (organizationId: string, externalId: string) =>
      advisoryLock(sql, `customers:${organizationId}:${externalId}`),

    hasExternalId: (organizationId: string, externalId: string, exceptId: string) =>
      returnedRow(sql`
        SELECT 1 FROM customers
        WHERE organization_id = ${organizationId} AND external_customer_id = ${externalId} AND id <> ${exceptId}`),

    /** Updates a locked row and returns the stored record. */
    update: (organizationId: string, row: Customer) =>
      Effect.map(
        record<Customer>()(sql`
          UPDATE customers SET name = ${row.name}, domain = ${row.domain},
            external_customer_id = ${row.externalCustomerId}, updated_at = ${row.updatedAt},
            updated_by = ${sql.json(row.updatedBy)}
          WHERE organization_id = ${organizationId} AND id = ${row.id}
          RETURNING ${columns(organizationId)}`),
        Option.getOrThrow,
      ),

    instancesOf: (organizationId: string, { id, slug }: Customer) =>
      affectedRows<AffectedInstance>()(
        sql,
        sql`
          SELECT slug, ${slug}::text AS customer FROM instances
          WHERE organization_id = ${organizationId} AND customer_id = ${id} ORDER BY id`,
      ),

    /** Deletes a locked customer and, by cascade, its integration records. Returns the deleted record. */
    delete: (organizationId: string, id: string) =>
      Effect.map(
        record<Customer>()(sql`
          DELETE FROM customers WHERE organization_id = ${organizationId} AND id = ${id} RETURNING ${columns(organizationId)}`),
        Option.getOrThrow,
      ),
  }
})

/** Stores and reads customers. */
export class CustomersRepo extends Context.Service<CustomersRepo, Effect.Success<typeof make>>()(
  "keyshelf/customers/Repo",
) {
  static readonly layer = Layer.effect(CustomersRepo, make)
}
