/** SQL of customers. */
import type { Fragment } from "effect/sql/Statement"
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option } from "effect"
import { affectedRows } from "../../kernel/database/AffectedRows.ts"
import type { Affected, AffectedInstance } from "../../kernel/contract/dryruns/Impact.ts"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { HotPath } from "../../kernel/database/Connections.ts"
import { pageIds, prefixOf } from "../../kernel/database/Pages.ts"
import { integrationsOf } from "./IntegrationRecordsSql.ts"
import { advisoryLock, record, records, returnedRow } from "../../kernel/database/Statements.ts"
import type { Customer, CustomerFilters } from "./Model.ts"

/** Stores and reads customers. */
export class CustomersRepo extends Context.Service<
  CustomersRepo,
  {
    /** The statement that stores the row if its slug is free. */
    readonly insertion: (organizationId: string, row: Customer) => Fragment
    /** Stores the row if its slug is free and returns whether it was. */
    readonly insert: (organizationId: string, row: Customer) => Effect.Effect<boolean>
    /** The customer with an id. */
    readonly findById: (organizationId: string, id: string) => Effect.Effect<Option.Option<Customer>>
    /** The customer with a slug. */
    readonly findBySlug: (organizationId: string, slug: string) => Effect.Effect<Option.Option<Customer>>
    /** The customer with an external id. */
    readonly findByExternalId: (organizationId: string, externalId: string) => Effect.Effect<Option.Option<Customer>>
    /** Customers after a position, newest first. */
    readonly list: (
      organizationId: string,
      filters: CustomerFilters,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<Customer>>
    /**
     * Locks the row: it can be changed or deleted, and gets no instance before the transaction ends. After a wait for
     * the lock, `integrations` can be stale. `update` and `delete` return current ones.
     */
    readonly lockBySlug: (organizationId: string, slug: string) => Effect.Effect<Option.Option<Customer>>
    /** Like {@link lockBySlug}. */
    readonly lockById: (organizationId: string, id: string) => Effect.Effect<Option.Option<Customer>>
    /** Locks the row against deletion until the transaction ends. */
    readonly lockByIdShared: (organizationId: string, id: string) => Effect.Effect<Option.Option<Customer>>
    /** Like {@link lockByIdShared}. */
    readonly lockBySlugShared: (organizationId: string, slug: string) => Effect.Effect<Option.Option<Customer>>
    /** Locks an external id until the transaction ends: concurrent requests cannot assign it to two customers. */
    readonly lockExternalId: (organizationId: string, externalId: string) => Effect.Effect<void>
    /** Whether another customer than this one has the external id. */
    readonly hasExternalId: (organizationId: string, externalId: string, exceptId: string) => Effect.Effect<boolean>
    /** Updates a locked row and returns the stored record. */
    readonly update: (organizationId: string, row: Customer) => Effect.Effect<Customer>
    /** The instances of a customer: their count, and the names of the first ones. */
    readonly instancesOf: (organizationId: string, customer: Customer) => Effect.Effect<Affected<AffectedInstance>>
    /** Deletes a locked customer and, by cascade, its integration records. Returns the deleted record. */
    readonly delete: (organizationId: string, id: string) => Effect.Effect<Customer>
  }
>()("keyshelf/customers/Repo") {
  static readonly layer = Layer.effect(
    CustomersRepo,
    Effect.suspend(() => make),
  )
}

type Columns = (organizationId: string) => Fragment

const reads = (sql: PgClient.PgClient, askFor: HotPath["Service"]["askFor"], columns: Columns) => {
  const pageOf = pageIds(sql, "newest")
  return {
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

    hasExternalId: (organizationId: string, externalId: string, exceptId: string) =>
      returnedRow(sql`
        SELECT 1 FROM customers
        WHERE organization_id = ${organizationId} AND external_customer_id = ${externalId} AND id <> ${exceptId}`),

    instancesOf: (organizationId: string, { id, slug }: Customer) =>
      affectedRows<AffectedInstance>()(
        sql,
        sql`
          SELECT slug, ${slug}::text AS customer FROM instances
          WHERE organization_id = ${organizationId} AND customer_id = ${id} ORDER BY id`,
      ),
  }
}

const locks = (sql: PgClient.PgClient, columns: Columns) => ({
  lockBySlug: (organizationId: string, slug: string) =>
    record<Customer>()(sql`
      SELECT ${columns(organizationId)} FROM customers WHERE organization_id = ${organizationId} AND slug = ${slug} FOR UPDATE`),

  lockById: (organizationId: string, id: string) =>
    record<Customer>()(sql`
      SELECT ${columns(organizationId)} FROM customers WHERE organization_id = ${organizationId} AND id = ${id} FOR UPDATE`),

  lockByIdShared: (organizationId: string, id: string) =>
    record<Customer>()(sql`
      SELECT ${columns(organizationId)} FROM customers WHERE organization_id = ${organizationId} AND id = ${id} FOR KEY SHARE`),

  lockBySlugShared: (organizationId: string, slug: string) =>
    record<Customer>()(sql`
      SELECT ${columns(organizationId)} FROM customers WHERE organization_id = ${organizationId} AND slug = ${slug} FOR KEY SHARE`),

  lockExternalId: (organizationId: string, externalId: string) =>
    advisoryLock(sql, `customers:${organizationId}:${externalId}`),
})

const writes = (sql: PgClient.PgClient, columns: Columns) => {
  const insertStatement = (organizationId: string, row: Customer) => sql`
    INSERT INTO customers (organization_id, id, name, slug, domain, external_customer_id, created_at, created_by,
      updated_at, updated_by)
    VALUES (${organizationId}, ${row.id}, ${row.name}, ${row.slug}, ${row.domain}, ${row.externalCustomerId},
      ${row.createdAt}, ${sql.json(row.createdBy)}, ${row.updatedAt}, ${sql.json(row.updatedBy)})
    ON CONFLICT ON CONSTRAINT customers_slug DO NOTHING
    RETURNING id`

  return {
    insertion: insertStatement,

    insert: (organizationId: string, row: Customer) => returnedRow(insertStatement(organizationId, row)),

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

    delete: (organizationId: string, id: string) =>
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
  const columns = (organizationId: string) => sql`id, name, slug, domain, external_customer_id AS "externalCustomerId",
    ${integrationsOf(sql, "customers", organizationId)} AS integrations, created_at AS "createdAt", updated_at AS "updatedAt",
    created_by AS "createdBy", updated_by AS "updatedBy"`
  return { ...reads(sql, askFor, columns), ...locks(sql, columns), ...writes(sql, columns) }
})
