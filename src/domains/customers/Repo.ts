/** SQL of customers. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option } from "effect"
import { olderThan } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { HotPath } from "../../kernel/database/Connections.ts"
import { integrationsOf } from "./IntegrationRecordsSql.ts"
import { lockName, record, records, touched } from "../../kernel/database/Statements.ts"
import type { Customer } from "./Model.ts"

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const { ask } = yield* HotPath
  const columns = sql.literal(`id, name, slug, domain, external_customer_id AS "externalCustomerId",
    ${integrationsOf("customers")} AS integrations, created_at AS "createdAt", updated_at AS "updatedAt", created_by AS "createdBy",
    updated_by AS "updatedBy"`)

  /** Stores the row if its slug is free. */
  const insertion = (organizationId: string, row: Customer) => sql`
    INSERT INTO customers (organization_id, id, name, slug, domain, external_customer_id, created_at, created_by,
      updated_at, updated_by)
    VALUES (${organizationId}, ${row.id}, ${row.name}, ${row.slug}, ${row.domain}, ${row.externalCustomerId},
      ${row.createdAt}, ${sql.json(row.createdBy)}, ${row.updatedAt}, ${sql.json(row.updatedBy)})
    ON CONFLICT ON CONSTRAINT customers_slug DO NOTHING
    RETURNING id`

  return {
    insertion,

    /** Whether the slug was free and the row is stored. */
    insert: (organizationId: string, row: Customer) => touched(insertion(organizationId, row)),

    findById: (organizationId: string, id: string) =>
      record<Customer>()(
        sql`SELECT ${columns} FROM customers WHERE organization_id = ${organizationId} AND id = ${id}`,
      ),

    findBySlug: (organizationId: string, slug: string) =>
      record<Customer>()(
        ask(
          (own) => own`SELECT ${columns} FROM customers WHERE organization_id = ${organizationId} AND slug = ${slug}`,
        ),
      ),

    list: (organizationId: string, after: Position | null, count: number) =>
      records<Customer>()(sql`
        SELECT ${columns} FROM customers
        WHERE organization_id = ${organizationId} AND id < ${olderThan(after)}
        ORDER BY id DESC LIMIT ${count}`),

    /**
     * Locks the row, so that it can be changed or deleted and gets no instance meanwhile. After a wait for the lock its
     * integrations may be older than the rest; those that `update` and `delete` answer are not.
     */
    lockBySlug: (organizationId: string, slug: string) =>
      record<Customer>()(sql`
        SELECT ${columns} FROM customers WHERE organization_id = ${organizationId} AND slug = ${slug} FOR UPDATE`),

    /** As {@link lockBySlug}. */
    lockById: (organizationId: string, id: string) =>
      record<Customer>()(sql`
        SELECT ${columns} FROM customers WHERE organization_id = ${organizationId} AND id = ${id} FOR UPDATE`),

    /** Keeps the row from being deleted until the transaction ends. */
    keepById: (organizationId: string, id: string) =>
      record<Customer>()(sql`
        SELECT ${columns} FROM customers WHERE organization_id = ${organizationId} AND id = ${id} FOR KEY SHARE`),

    /** As {@link keepById}. */
    keepBySlug: (organizationId: string, slug: string) =>
      record<Customer>()(sql`
        SELECT ${columns} FROM customers WHERE organization_id = ${organizationId} AND slug = ${slug} FOR KEY SHARE`),

    /** Held until the transaction ends, so that two customers cannot take one external id at once. */
    lockExternalId: (organizationId: string, externalId: string) =>
      lockName(sql, `customers:${organizationId}:${externalId}`),

    hasExternalId: (organizationId: string, externalId: string, exceptId: string) =>
      touched(sql`
        SELECT 1 FROM customers
        WHERE organization_id = ${organizationId} AND external_customer_id = ${externalId} AND id <> ${exceptId}`),

    /** Stores the row, which is locked, and answers it as it is now. */
    update: (organizationId: string, row: Customer) =>
      Effect.map(
        record<Customer>()(sql`
          UPDATE customers SET name = ${row.name}, domain = ${row.domain},
            external_customer_id = ${row.externalCustomerId}, updated_at = ${row.updatedAt},
            updated_by = ${sql.json(row.updatedBy)}
          WHERE organization_id = ${organizationId} AND id = ${row.id}
          RETURNING ${columns}`),
        Option.getOrThrow,
      ),

    hasInstances: (organizationId: string, id: string) =>
      touched(sql`SELECT 1 FROM instances WHERE organization_id = ${organizationId} AND customer_id = ${id} LIMIT 1`),

    /** Deletes the customer, which is locked, and, by cascade, its integration records. Answers it as it was. */
    delete: (organizationId: string, id: string) =>
      Effect.map(
        record<Customer>()(sql`
          DELETE FROM customers WHERE organization_id = ${organizationId} AND id = ${id} RETURNING ${columns}`),
        Option.getOrThrow,
      ),
  }
})

/** Rows of customers. */
export class CustomersRepo extends Context.Service<CustomersRepo, Effect.Success<typeof make>>()(
  "keyshelf/customers/Repo",
) {
  static readonly layer = Layer.effect(CustomersRepo, make)
}
