/** SQL by which later domains read connectors. */
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"

/** Selects the names of the connectors that the operator registered. A condition on `name` may follow. */
export const registeredConnectors = (sql: SqlClient): Fragment => sql.literal("SELECT name FROM connectors")

/** Selects the names of the connectors for which an organization has settings or that it activated. */
export const connectorsOf = (sql: SqlClient, organizationId: OrganizationId): Fragment => sql`
          SELECT connector_name FROM connector_settings WHERE organization_id = ${organizationId}
          UNION SELECT connector_name FROM connector_activations WHERE organization_id = ${organizationId}`
