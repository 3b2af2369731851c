/** The column of a row's integration records. */

/**
 * The column expression for the integration records of a customer or an instance: a map from connector name to record.
 * It uses an index. Its instants are texts in the format of responses.
 */
export const integrationsOf = (table: "customers" | "instances"): string => `(
    SELECT coalesce(jsonb_object_agg(records.connector, jsonb_build_object('external_id', records.external_id,
      'last_error', records.last_error, 'metadata', records.metadata, 'synced_at',
      to_char(records.synced_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'web_url', records.web_url)), '{}')
    FROM integration_records records
    WHERE records.organization_id = ${table}.organization_id AND records.resource_id = ${table}.id
      AND records.kind = '${table === "customers" ? "CUSTOMER" : "INSTANCE"}')`
