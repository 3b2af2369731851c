/** SQL of customers. */
import type { Statement } from "effect/sql/Statement"
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
import type { Row } from "../maintenance/moving/MoveRules.ts"
import type { Affected } from "../../kernel/contract/dryruns/Impact.ts"

/** Stores and reads customers. */
export class CustomersRepo extends Context.Service<
  CustomersRepo,
  {
    /** The statement that stores the row if its slug is free. */
    readonly insertion: (organizationId: string, row: Customer) => Statement<Row>
    /** Stores the row if its slug is free and returns whether it was. */
    readonly insert: (organizationId: string, row: Customer) => Effect.Effect<boolean>
    /** ??? */
    readonly findById: (organizationId: string, id: string) => Effect.Effect<Option.Option<Customer>>
    /** ??? */
    readonly findBySlug: (organizationId: string, slug: string) => Effect.Effect<Option.Option<Customer>>
    /** ??? */
    readonly findByExternalId: (organizationId: string, externalId: string) => Effect.Effect<Option.Option<Customer>>
    /** ??? */
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
    /** Like {@link keepById}. */
    readonly lockBySlugShared: (organizationId: string, slug: string) => Effect.Effect<Option.Option<Customer>>
    /** Locks an external id until the transaction ends: concurrent requests cannot assign it to two customers. */
    readonly lockExternalId: (organizationId: string, externalId: string) => Effect.Effect<void>
    /** ??? */
    readonly hasExternalId: (organizationId: string, externalId: string, exceptId: string) => Effect.Effect<boolean>
    /** Updates a locked row and returns the stored record. */
    readonly update: (organizationId: string, row: Customer) => Effect.Effect<Customer>
    /** ??? */
    readonly instancesOf: (organizationId: string, input: Customer) => Effect.Effect<Affected<AffectedInstance>>
    /** Deletes a locked customer and, by cascade, its integration records. Returns the deleted record. */
    readonly delete: (organizationId: string, id: string) => Effect.Effect<Customer>
  }
>()("keyshelf/customers/Repo") {
  static readonly layer = Layer.effect(
    CustomersRepo,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const { askFor } = yield* HotPath
  const pageOf = pageIds(sql, "newest")
  const columns = (organizationId: string) => sql`id, name, slug, domain, external_customer_id AS "externalCustomerId",
    ${integrationsOf(sql, "customers", organizationId)} AS integrations, created_at AS "createdAt", updated_at AS "updatedAt",
    created_by AS "createdBy", updated_by AS "updatedBy"`

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

    hasExternalId: (organizationId: string, externalId: string, exceptId: string) =>
      returnedRow(sql`
        SELECT 1 FROM customers
        WHERE organization_id = ${organizationId} AND external_customer_id = ${externalId} AND id <> ${exceptId}`),

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

    delete: (organizationId: string, id: string) =>
      Effect.map(
        record<Customer>()(sql`
          DELETE FROM customers WHERE organization_id = ${organizationId} AND id = ${id} RETURNING ${columns(organizationId)}`),
        Option.getOrThrow,
      ),
  }
})
