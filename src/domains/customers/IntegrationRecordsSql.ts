/** The port by which customers and instances read their integration records. The domain `integrations` provides it. */
import { Context } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"

/**
 * The column expression for the integration records of a row in `table`, a customer or an instance of an organization: a map from
 * connector name to record. It uses an index. Its instants are texts in the format of responses.
 */
export type IntegrationsOf = (
  sql: SqlClient,
  kind: "CUSTOMER" | "INSTANCE",
  table: string,
  organizationId: OrganizationId,
) => Fragment

/** Selects integration records along with what they belong to. */
export class IntegrationRecordsSql extends Context.Service<IntegrationRecordsSql, { readonly of: IntegrationsOf }>()(
  "keyshelf/customers/IntegrationRecordsSql",
) {}
