/**
 * Files of organizations that a version before 0.2.0 wrote, whose migrations were not the baseline. Tables that have another form
 * since then are imported into a temporary table of the old form. There the digests of the file are compared with its rows, and
 * the rows are converted afterwards.
 */

import { CONVERT_HASHES } from "../../audit/FormerSql.ts"
import { convertEvents, FORMER_EVENT_TABLES, FORMER_HASHES } from "../../events/log/FormerSql.ts"
import type { Column } from "./MoveRules.ts"

/** The migrations that these files name. */
const formerMigrations: ReadonlyArray<string> = [
  "0001_access",
  "0002_events",
  "0003_releases",
  "0004_deployment_zones",
  "0005_entitlements",
  "0006_licenses",
  "0007_customers",
  "0008_instances",
  "0009_metadata_fields",
  "0010_connectors",
  "0011_integrations",
  "0012_feature_flags",
  "0013_entitlement_groups",
  "0014_usage",
  "0015_reservations",
  "0016_webhooks",
  "0017_event_feed",
  "0018_people",
  "0019_retention",
  "0020_usage_references",
  "0021_webhook_lanes",
  "0022_webhook_queue",
  "0023_past_terms",
  "0024_usage_room",
  "0025_catalog_versions",
  "0026_webhook_leases",
  "0027_secret_key_checks",
  "0028_idempotency_targets",
  "0029_removals",
  "0030_list_filters",
  "0031_history_filters",
  "0032_event_previous",
  "0033_grace",
  "0034_term_notices",
  "0035_overrides",
  "0036_leases",
  "0037_license_keys",
  "0038_license_migrations",
  "0039_usage_history",
  "0040_signing_keys",
  "0041_offline_bundles",
  "0042_event_hashes",
  "0043_offline_usage",
  "0044_usage_partitions",
  "0045_folded_names",
]

/** Whether a file with these migrations is one of them. */
export const isFormer = (migrations: ReadonlyArray<string>): boolean =>
  migrations.length === formerMigrations.length && formerMigrations.every((name) => migrations.includes(name))

/** The columns that tables had, where that differs. */
const FORMER_TABLES: Readonly<Record<string, string>> = {
  // Responses are stored for a day, under a fingerprint of another kind. They do not move.
  idempotency_keys: `caller_id uuid, key text, organization_id uuid, fingerprint bytea, target_fingerprint bytea, status smallint,
    location text, body text, secret_slug text, expires_at timestamptz`,
  ...FORMER_EVENT_TABLES,
  event_hashes: FORMER_HASHES,
}

/** The columns that tables have got since. What they are by default, or `NULL`, is what those versions did. */
const ADDED_COLUMNS: Readonly<Record<string, ReadonlyArray<string>>> = {
  licenses: ["away_stale_seconds", "away_then"],
  license_entitlements: ["combine", "overage_stated"],
  past_license_grants: ["combine", "overage_stated"],
  instances: ["extras", "end_maintenance_date"],
  usage_reservations: ["ledger", "spend_until", "from_credits", "credits"],
  usage_totals: ["burned"],
  releases: ["released_at", "offered", "withdrawn_at", "withdrawn_reason", "access_updated_at", "access_updated_by"],
  deployment_zones: ["release_access"],
  webhook_endpoints: ["paused_at"],
  webhook_lanes: ["paused"],
}

/** Where the rows of a file's tables are stored, and in which of their columns. */
export interface StoredForm {
  readonly storedIn: (table: string) => string
  readonly columnsOf: (table: string, columns: ReadonlyArray<Column>) => ReadonlyArray<Column>
}

/** The form of files of this version. */
export const currentForm: StoredForm = { storedIn: (table) => table, columnsOf: (_, columns) => columns }

/** The form of files of a version before 0.2.0. */
export const formerForm: StoredForm = {
  storedIn: (table) => (table in FORMER_TABLES ? formerTable(table) : table),
  columnsOf: (table, columns) => {
    const added = ADDED_COLUMNS[table]
    return added === undefined ? columns : columns.filter(({ name }) => !added.includes(name))
  },
}

const formerTable = (table: string): string => `former_${table}`

/** The tables whose rows differ after the import. */
export const convertedTables: ReadonlyArray<string> = Object.keys(FORMER_TABLES)

/** The statements that create the temporary tables, for the transaction of the import. */
export const formerTables: ReadonlyArray<string> = Object.entries(FORMER_TABLES).map(
  ([table, columns]) => `CREATE TEMP TABLE ${formerTable(table)} (${columns}) ON COMMIT DROP`,
)

/** The statements that store the rows of the temporary tables in the current form. */
export const convertFormer: ReadonlyArray<string> = [...convertEvents, CONVERT_HASHES]
