/** The column of a row's integration records. */
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"

/**
 * The column expression for the integration records of a customer or an instance of an organization: a map from connector
 * name to record. It uses an index. Its instants are texts in the format of responses.
 */
export const integrationsOf = (
  sql: SqlClient,
  table: "customers" | "instances",
  organizationId: string,
): Fragment => sql`(
    SELECT coalesce(jsonb_object_agg(records.connector, jsonb_build_object('external_id', records.external_id,
      'last_error', records.last_error, 'metadata', records.metadata, 'synced_at',
      to_char(records.synced_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'web_url', records.web_url)), '{}')
    FROM integration_records records
    WHERE records.organization_id = ${organizationId} AND records.resource_id = ${sql(table)}.id
      AND records.kind = ${sql.literal(table === "customers" ? "'CUSTOMER'" : "'INSTANCE'")})`
