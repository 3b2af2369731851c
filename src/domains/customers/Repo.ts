/** SQL of customers. */
import type { Fragment } from "effect/sql/Statement"
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option } from "effect"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { HotPath } from "../../kernel/database/Connections.ts"
import { pageIds, wordsIn } from "../../kernel/database/Pages.ts"
import { IntegrationRecordsSql } from "./IntegrationRecordsSql.ts"
import { advisoryLock, decodedOne, record, records, returnedRow } from "../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { Customer } from "./Model.ts"
import type { CustomerFilters } from "./Model.ts"

/** Stores and reads customers. */
export class CustomersRepo extends Context.Service<
  CustomersRepo,
  {
    /** The statement that stores the row if its slug is free. */
    readonly insertion: (organizationId: OrganizationId, row: Customer) => Fragment
    /** Stores the row if its slug is free and returns whether it was. */
    readonly insert: (organizationId: OrganizationId, row: Customer) => Effect.Effect<boolean>
    /** The customer with an id. */
    readonly findById: (organizationId: OrganizationId, id: string) => Effect.Effect<Option.Option<Customer>>
    /** The customer with a slug. */
    readonly findBySlug: (organizationId: OrganizationId, slug: string) => Effect.Effect<Option.Option<Customer>>
    /** The customer with an external id. */
    readonly findByExternalId: (
      organizationId: OrganizationId,
      externalId: string,
    ) => Effect.Effect<Option.Option<Customer>>
    /** Customers after a position, newest first. */
    readonly list: (
      organizationId: OrganizationId,
      filters: CustomerFilters,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<Customer>>
    /**
     * Locks the row: it can be changed or deleted, and gets no instance before the transaction ends. After a wait for
     * the lock, `integrations` can be stale. `update` and `delete` return current ones.
     */
    readonly lockBySlug: (organizationId: OrganizationId, slug: string) => Effect.Effect<Option.Option<Customer>>
    /** Like {@link lockBySlug}. */
    readonly lockById: (organizationId: OrganizationId, id: string) => Effect.Effect<Option.Option<Customer>>
    /** Locks the row against deletion until the transaction ends. */
    readonly lockByIdShared: (organizationId: OrganizationId, id: string) => Effect.Effect<Option.Option<Customer>>
    /** Like {@link lockByIdShared}. */
    readonly lockBySlugShared: (organizationId: OrganizationId, slug: string) => Effect.Effect<Option.Option<Customer>>
    /** Locks an external id until the transaction ends: concurrent requests cannot assign it to two customers. */
    readonly lockExternalId: (organizationId: OrganizationId, externalId: string) => Effect.Effect<void>
    /** Whether another customer than this one has the external id. */
    readonly hasExternalId: (
      organizationId: OrganizationId,
      externalId: string,
      exceptId: string,
    ) => Effect.Effect<boolean>
    /** Updates a locked row and returns the stored record. */
    readonly update: (organizationId: OrganizationId, row: Customer) => Effect.Effect<Customer>
    /** Deletes a locked customer and, by cascade, its integration records. Returns the deleted record. */
    readonly delete: (organizationId: OrganizationId, id: string) => Effect.Effect<Customer>
  }
>()("keyshelf/customers/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(CustomersRepo, make))
}

type Columns = (organizationId: OrganizationId) => Fragment

const reads = (sql: PgClient.PgClient, askFor: HotPath["Service"]["askFor"], columns: Columns) => {
  const pageOf = pageIds(sql, "newest")
  return {
    findById: (organizationId: OrganizationId, id: string) =>
      record<Customer>()(
        sql`SELECT ${columns(organizationId)} FROM customers WHERE organization_id = ${organizationId} AND id = ${id}`,
      ),

    findBySlug: (organizationId: OrganizationId, slug: string) =>
      record<Customer>()(
        askFor(organizationId)(
          (client) =>
            client`SELECT ${columns(organizationId)} FROM customers WHERE organization_id = ${organizationId} AND slug = ${slug}`,
        ),
      ),

    findByExternalId: (organizationId: OrganizationId, externalId: string) =>
      record<Customer>()(sql`
        SELECT ${columns(organizationId)} FROM customers
        WHERE organization_id = ${organizationId} AND external_customer_id = ${externalId}`),

    list: (organizationId: OrganizationId, filters: CustomerFilters, after: Position | null, count: number) =>
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
          unordered: filters.q === undefined ? [] : wordsIn(sql, organizationId, filters.q),
        })}))
        ORDER BY id DESC`),

    hasExternalId: (organizationId: OrganizationId, externalId: string, exceptId: string) =>
      returnedRow(sql`
        SELECT 1 FROM customers
        WHERE organization_id = ${organizationId} AND external_customer_id = ${externalId} AND id <> ${exceptId}`),
  }
}

const locks = (sql: PgClient.PgClient, columns: Columns) => ({
  lockBySlug: (organizationId: OrganizationId, slug: string) =>
    decodedOne(Customer)(sql`
      SELECT ${columns(organizationId)} FROM customers WHERE organization_id = ${organizationId} AND slug = ${slug} FOR UPDATE`),

  lockById: (organizationId: OrganizationId, id: string) =>
    decodedOne(Customer)(sql`
      SELECT ${columns(organizationId)} FROM customers WHERE organization_id = ${organizationId} AND id = ${id} FOR UPDATE`),

  lockByIdShared: (organizationId: OrganizationId, id: string) =>
    decodedOne(Customer)(sql`
      SELECT ${columns(organizationId)} FROM customers WHERE organization_id = ${organizationId} AND id = ${id} FOR KEY SHARE`),

  lockBySlugShared: (organizationId: OrganizationId, slug: string) =>
    decodedOne(Customer)(sql`
      SELECT ${columns(organizationId)} FROM customers WHERE organization_id = ${organizationId} AND slug = ${slug} FOR KEY SHARE`),

  lockExternalId: (organizationId: OrganizationId, externalId: string) =>
    advisoryLock(sql, `customers:${organizationId}:${externalId}`),
})

const writes = (sql: PgClient.PgClient, columns: Columns) => {
  const insertStatement = (organizationId: OrganizationId, row: Customer) => sql`
    INSERT INTO customers (organization_id, id, name, slug, domain, external_customer_id, created_at, created_by,
      updated_at, updated_by)
    VALUES (${organizationId}, ${row.id}, ${row.name}, ${row.slug}, ${row.domain}, ${row.externalCustomerId},
      ${row.createdAt}, ${sql.json(row.createdBy)}, ${row.updatedAt}, ${sql.json(row.updatedBy)})
    ON CONFLICT ON CONSTRAINT customers_slug DO NOTHING
    RETURNING id`

  return {
    insertion: insertStatement,

    insert: (organizationId: OrganizationId, row: Customer) => returnedRow(insertStatement(organizationId, row)),

    update: (organizationId: OrganizationId, row: Customer) =>
      Effect.map(
        record<Customer>()(sql`
          UPDATE customers SET name = ${row.name}, domain = ${row.domain},
            external_customer_id = ${row.externalCustomerId}, updated_at = ${row.updatedAt},
            updated_by = ${sql.json(row.updatedBy)}
          WHERE organization_id = ${organizationId} AND id = ${row.id}
          RETURNING ${columns(organizationId)}`),
        Option.getOrThrow,
      ),

    delete: (organizationId: OrganizationId, id: string) =>
      Effect.map(
        record<Customer>()(sql`
          DELETE FROM customers WHERE organization_id = ${organizationId} AND id = ${id} RETURNING ${columns(organizationId)}`),
        Option.getOrThrow,
      ),
  }
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const { askFor } = yield* HotPath
  const integrations = yield* IntegrationRecordsSql
  const columns = (
    organizationId: OrganizationId,
  ) => sql`id, name, slug, domain, external_customer_id AS "externalCustomerId",
    ${integrations.of(sql, "CUSTOMER", "customers", organizationId)} AS integrations, created_at AS "createdAt", updated_at AS "updatedAt",
    created_by AS "createdBy", updated_by AS "updatedBy"`
  return { ...reads(sql, askFor, columns), ...locks(sql, columns), ...writes(sql, columns) }
})
