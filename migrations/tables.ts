/**
 * Every table of the service: who owns it, where Citus stores it, how the rows of a removed organization are deleted, and how rows move with
 * an organization. What a table holds is its comment, in the baseline and in the database.
 */

/** How the rows of a table move with an organization, where that differs from copying them. */
export interface MovingRule {
  /** Columns that get another value: SQL. */
  readonly values?: Readonly<Record<string, string>>
  /** Columns that are not compared, because they differ without a change of the organization. */
  readonly notCompared?: ReadonlyArray<string>
  /** The rows change while the organization is not used: deliveries go on, answers expire. */
  readonly isLive?: true
  /** Triggers write rows while those of other tables are imported. So these come last, and replace them. */
  readonly isFedByTriggers?: true
  /** The destination makes its own partitions, because they have keys that their table has not. */
  readonly hasOwnPartitions?: true
}

/** A table. */
export interface Table {
  readonly name: string
  /** The domain that reads and writes it. Others read it by a `*Sql.ts` of that domain. */
  readonly owner: string
  /**
   * Where Citus stores it: distributed by organization, in one colocation group; as a copy on each node, because statements of all
   * organizations join it; or on the coordinator alone.
   */
  readonly placement: "distributed" | "reference" | "coordinator"
  /**
   * How the rows of a removed organization are deleted: by its id; of a partitioned table by the columns that follow the organization in
   * the primary key of each partition; by the credentials that sent requests; or never, because rows belong to no organization.
   */
  readonly removal: "by-organization" | "by-sender" | "never" | ReadonlyArray<string>
  /** How its rows move, if they are not only copied. */
  readonly moving?: MovingRule
}

/**
 * All tables. The order is that of the removal of an organization: what refers to other rows goes before them, and the stream of events
 * last. An import goes the other way.
 */
export const tables: ReadonlyArray<Table> = [
  // The table has no index by organization: its rows are found by the credentials that sent the requests, so these go later.
  {
    name: "idempotency_keys",
    owner: "idempotency",
    placement: "coordinator",
    removal: "by-sender",
    moving: { isLive: true },
  },
  // Its issuer, a platform credential, stays where it is.
  {
    name: "credentials",
    owner: "access",
    placement: "coordinator",
    removal: "by-organization",
    moving: { values: { parent_id: "NULL" }, notCompared: ["last_used_at"] },
  },
  { name: "service_accounts", owner: "access", placement: "distributed", removal: "by-organization" },
  { name: "event_checkpoints", owner: "audit", placement: "distributed", removal: "by-organization" },
  { name: "event_hashes", owner: "audit", placement: "distributed", removal: "by-organization" },
  // The leases belong to nodes of the source. Without them, the nodes of the destination deliver.
  {
    name: "webhook_queue",
    owner: "webhooks",
    placement: "coordinator",
    removal: "by-organization",
    moving: { isLive: true, values: { lease: "NULL", claimed_at: "NULL", owner: "NULL" } },
  },
  {
    name: "webhook_lanes",
    owner: "webhooks",
    placement: "coordinator",
    removal: "by-organization",
    moving: { isLive: true },
  },
  {
    name: "webhook_attempts",
    owner: "webhooks",
    placement: "distributed",
    removal: ["timestamp", "id"],
    moving: { isLive: true },
  },
  { name: "webhook_secrets", owner: "webhooks", placement: "distributed", removal: "by-organization" },
  {
    name: "webhook_endpoints",
    owner: "webhooks",
    placement: "distributed",
    removal: "by-organization",
    moving: { notCompared: ["failing_since"] },
  },
  { name: "offline_bundles", owner: "offline", placement: "distributed", removal: "by-organization" },
  { name: "offline_revocations", owner: "offline", placement: "distributed", removal: "by-organization" },
  { name: "offline_lists", owner: "offline", placement: "distributed", removal: "by-organization" },
  { name: "offline_ledgers", owner: "offline", placement: "distributed", removal: "by-organization" },
  { name: "feature_flags", owner: "flags", placement: "distributed", removal: "by-organization" },
  { name: "license_migration_items", owner: "licensemoves", placement: "distributed", removal: "by-organization" },
  { name: "license_migrations", owner: "licensemoves", placement: "distributed", removal: "by-organization" },
  { name: "offline_allowances", owner: "usage", placement: "distributed", removal: "by-organization" },
  { name: "offline_period_usage", owner: "usage", placement: "distributed", removal: "by-organization" },
  { name: "usage_leases", owner: "usage", placement: "distributed", removal: "by-organization" },
  { name: "usage_seats", owner: "usage", placement: "distributed", removal: "by-organization" },
  { name: "usage_reservations", owner: "usage", placement: "distributed", removal: "by-organization" },
  { name: "usage_transactions", owner: "usage", placement: "distributed", removal: "by-organization" },
  { name: "usage_event_ids", owner: "usage", placement: "distributed", removal: "by-organization" },
  { name: "usage_hours", owner: "usage", placement: "distributed", removal: "by-organization" },
  { name: "usage_rollups", owner: "usage", placement: "distributed", removal: "by-organization" },
  { name: "usage_unique_keys", owner: "usage", placement: "distributed", removal: "by-organization" },
  {
    name: "usage_events",
    owner: "usage",
    placement: "distributed",
    removal: ["instance_id", "entitlement_id", "period_start", "ordinal"],
    moving: { hasOwnPartitions: true },
  },
  { name: "usage_drop_changes", owner: "usage", placement: "distributed", removal: "by-organization" },
  { name: "usage_days", owner: "usage", placement: "distributed", removal: "by-organization" },
  { name: "usage_key_buckets", owner: "usage", placement: "distributed", removal: "by-organization" },
  { name: "credit_uses", owner: "usage", placement: "distributed", removal: "by-organization" },
  { name: "credits", owner: "usage", placement: "distributed", removal: "by-organization" },
  { name: "usage_totals", owner: "usage", placement: "distributed", removal: "by-organization" },
  { name: "integration_records", owner: "integrations", placement: "distributed", removal: "by-organization" },
  { name: "instance_add_ons", owner: "instances", placement: "distributed", removal: "by-organization" },
  { name: "entitlement_overrides", owner: "instances", placement: "distributed", removal: "by-organization" },
  // Its rows go with those of term_schedules.
  {
    name: "term_notices",
    owner: "instances",
    placement: "distributed",
    removal: "by-organization",
    moving: { isFedByTriggers: true },
  },
  {
    name: "term_schedules",
    owner: "instances",
    placement: "distributed",
    removal: "by-organization",
    moving: { isFedByTriggers: true },
  },
  { name: "past_instance_terms", owner: "instances", placement: "distributed", removal: "by-organization" },
  { name: "instances", owner: "instances", placement: "distributed", removal: "by-organization" },
  { name: "customers", owner: "customers", placement: "distributed", removal: "by-organization" },
  { name: "past_license_grants", owner: "licenses", placement: "distributed", removal: "by-organization" },
  { name: "past_license_graces", owner: "licenses", placement: "distributed", removal: "by-organization" },
  { name: "license_entitlements", owner: "licenses", placement: "distributed", removal: "by-organization" },
  { name: "licenses", owner: "licenses", placement: "distributed", removal: "by-organization" },
  { name: "license_families", owner: "licenses", placement: "distributed", removal: "by-organization" },
  { name: "entitlement_group_members", owner: "groups", placement: "distributed", removal: "by-organization" },
  { name: "entitlement_groups", owner: "groups", placement: "distributed", removal: "by-organization" },
  { name: "release_requirements", owner: "releases", placement: "distributed", removal: "by-organization" },
  { name: "entitlements", owner: "entitlements", placement: "distributed", removal: "by-organization" },
  // Triggers on entitlements and licenses store a new version for each deleted row, so it goes after them.
  {
    name: "catalog_versions",
    owner: "entitlements",
    placement: "distributed",
    removal: "by-organization",
    moving: { isFedByTriggers: true },
  },
  { name: "deployments", owner: "zones", placement: "distributed", removal: "by-organization" },
  { name: "deployment_zones", owner: "zones", placement: "distributed", removal: "by-organization" },
  { name: "release_components", owner: "releases", placement: "distributed", removal: "by-organization" },
  { name: "releases", owner: "releases", placement: "distributed", removal: "by-organization" },
  { name: "component_images", owner: "components", placement: "distributed", removal: "by-organization" },
  { name: "components", owner: "components", placement: "distributed", removal: "by-organization" },
  { name: "connector_activations", owner: "connectors", placement: "distributed", removal: "by-organization" },
  { name: "connector_settings", owner: "connectors", placement: "distributed", removal: "by-organization" },
  { name: "connector_inclusions", owner: "connectors", placement: "distributed", removal: "by-organization" },
  { name: "metadata_fields", owner: "metadata", placement: "distributed", removal: "by-organization" },
  { name: "signing_keys", owner: "signing", placement: "coordinator", removal: "by-organization" },
  // A person who is known at the destination keeps the id there.
  {
    name: "memberships",
    owner: "people",
    placement: "distributed",
    removal: "by-organization",
    moving: { notCompared: ["user_id"] },
  },
  {
    name: "webhook_outbox",
    owner: "events",
    placement: "coordinator",
    removal: "by-organization",
    moving: { isLive: true },
  },
  { name: "event_arrivals", owner: "events", placement: "distributed", removal: "by-organization" },
  { name: "event_positions", owner: "events", placement: "distributed", removal: "by-organization" },
  { name: "events", owner: "events", placement: "distributed", removal: "by-organization" },
  { name: "event_streams", owner: "events", placement: "distributed", removal: "by-organization" },
  { name: "organizations", owner: "organizations", placement: "reference", removal: "never" },
  { name: "users", owner: "people", placement: "reference", removal: "never" },
  { name: "connectors", owner: "connectors", placement: "reference", removal: "never" },
  { name: "usage_retention", owner: "usage", placement: "reference", removal: "never" },
  { name: "usage_drops", owner: "usage", placement: "coordinator", removal: "never" },
  { name: "secret_key_checks", owner: "maintenance", placement: "coordinator", removal: "never" },
]
