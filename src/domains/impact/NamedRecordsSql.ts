/** Finds the records that a reader of events names by slug. */
import { Layer } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { NamedRecords } from "../events/log/SubjectsSql.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"

/** The records of every kind with a slug or a key. Each kind has a unique index of it. */
const bySlug = (sql: SqlClient, organizationId: OrganizationId, slugs: ReadonlyArray<string>) => {
  const slug = sql`organization_id = ${organizationId} AND slug = ANY(${slugs}::text[])`
  const key = sql`organization_id = ${organizationId} AND key = ANY(${slugs}::text[])`
  return sql`
    SELECT id::text FROM customers WHERE ${slug}
    UNION ALL SELECT id::text FROM instances WHERE ${slug}
    UNION ALL SELECT id::text FROM licenses WHERE ${slug}
    UNION ALL SELECT id::text FROM license_families WHERE ${slug}
    UNION ALL SELECT id::text FROM entitlements WHERE ${slug}
    UNION ALL SELECT id::text FROM entitlement_groups WHERE ${slug}
    UNION ALL SELECT id::text FROM deployment_zones WHERE ${slug}
    UNION ALL SELECT id::text FROM releases WHERE ${slug}
    UNION ALL SELECT id::text FROM components WHERE ${slug}
    UNION ALL SELECT id::text FROM service_accounts WHERE ${slug}
    UNION ALL SELECT id::text FROM feature_flags WHERE ${key}`
}

const ofCustomers = (sql: SqlClient, organizationId: OrganizationId, customers: ReadonlyArray<string>) => sql`
  SELECT id::text FROM instances
  WHERE organization_id = ${organizationId} AND customer_id = ANY(${customers}::uuid[])`

/** Provides them to `domains/events`, which may not know the tables. */
export const layer = Layer.succeed(NamedRecords, { bySlug, ofCustomers })
