/** The column of a row's integration records. */
import { Layer } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { IntegrationRecordsSql } from "../customers/IntegrationRecordsSql.ts"
import type { IntegrationsOf } from "../customers/IntegrationRecordsSql.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"

const integrationsOf: IntegrationsOf = (sql, kind, table, organizationId) => sql`(
    SELECT coalesce(jsonb_object_agg(records.connector, jsonb_build_object('external_id', records.external_id,
      'last_error', records.last_error, 'metadata', records.metadata, 'synced_at',
      to_char(records.synced_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'web_url', records.web_url)), '{}')
    FROM integration_records records
    WHERE records.organization_id = ${organizationId} AND records.resource_id = ${sql(table)}.id
      AND records.kind = ${sql.literal(`'${kind}'`)})`

/** Selects the names of the connectors that records of an organization have. */
export const connectorsOfRecords = (sql: SqlClient, organizationId: OrganizationId): Fragment =>
  sql`SELECT connector FROM integration_records WHERE organization_id = ${organizationId}`

/** Provides the column to `customers` and `instances`. */
export const recordsSql = Layer.succeed(IntegrationRecordsSql, { of: integrationsOf })
