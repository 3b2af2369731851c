/** SQL that finds the records of the filter `resource`. */
import { Context, Schema } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { decodedColumn } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { isRecordId } from "../Model.ts"

export interface NamedRecordsSql {
  /** Selects the `id` of the records with these slugs, of every kind, as text. */
  readonly bySlug: (sql: SqlClient, organizationId: OrganizationId, slugs: ReadonlyArray<string>) => Fragment
  /** Selects the `id` of the instances of customers, as text. */
  readonly ofCustomers: (sql: SqlClient, organizationId: OrganizationId, customers: ReadonlyArray<string>) => Fragment
}

/** SQL that finds records by their slugs. A later domain knows their tables, so the app provides it; without it, only ids are known. */
export const NamedRecords = Context.Reference<NamedRecordsSql | undefined>("keyshelf.reference/events/NamedRecords", {
  defaultValue: () => undefined,
})

const idsIn = decodedColumn("id", Schema.String)

/** The ids of the records with these slugs. */
export const idsOfSlugs = (
  sql: SqlClient,
  { bySlug }: NamedRecordsSql,
  organizationId: OrganizationId,
  slugs: ReadonlyArray<string>,
) => idsIn(sql`${bySlug(sql, organizationId, slugs)}`)

/**
 * What belongs to records: what events say, of deleted records too, and the instances that customers have now, whose first events
 * retention may have deleted.
 */
export const idsOwnedBy = (
  sql: SqlClient,
  { ofCustomers }: NamedRecordsSql,
  organizationId: OrganizationId,
  subjects: ReadonlyArray<string>,
) =>
  idsIn(sql`
  SELECT owned.resource AS id FROM unnest(${subjects}::text[]) AS wanted (subject)
  CROSS JOIN LATERAL (
    SELECT placed.resource FROM event_positions placed
    WHERE placed.organization_id = ${organizationId} AND placed.owner BETWEEN wanted.subject AND wanted.subject
      AND placed.resource IS NOT NULL
    ORDER BY placed.owner, placed.position
  ) AS owned
  UNION ${ofCustomers(sql, organizationId, subjects.filter(isRecordId))}`)
