/**
 * All migrations, one topic each, in order. The SQL of a released migration never changes. Append new migrations: the
 * migrator skips ids below the newest one in the database.
 */
import type { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import access from "./0001_access.ts"
import events from "./0002_events.ts"
import releases from "./0003_releases.ts"
import deploymentZones from "./0004_deployment_zones.ts"
import entitlements from "./0005_entitlements.ts"
import licenses from "./0006_licenses.ts"
import customers from "./0007_customers.ts"
import instances from "./0008_instances.ts"
import metadataFields from "./0009_metadata_fields.ts"
import connectors from "./0010_connectors.ts"
import integrations from "./0011_integrations.ts"
import featureFlags from "./0012_feature_flags.ts"
import entitlementGroups from "./0013_entitlement_groups.ts"
import usage from "./0014_usage.ts"
import reservations from "./0015_reservations.ts"
import webhooks from "./0016_webhooks.ts"
import eventFeed from "./0017_event_feed.ts"
import people from "./0018_people.ts"
import retention from "./0019_retention.ts"
import usageReferences from "./0020_usage_references.ts"
import webhookLanes from "./0021_webhook_lanes.ts"
import webhookQueue from "./0022_webhook_queue.ts"
import pastTerms from "./0023_past_terms.ts"
import usageRoom from "./0024_usage_room.ts"
import catalogVersions from "./0025_catalog_versions.ts"
import webhookLeases from "./0026_webhook_leases.ts"
import secretKeyChecks from "./0027_secret_key_checks.ts"
import idempotencyTargets from "./0028_idempotency_targets.ts"
import removals from "./0029_removals.ts"
import listFilters from "./0030_list_filters.ts"
import historyFilters from "./0031_history_filters.ts"
import eventPrevious from "./0032_event_previous.ts"
import grace from "./0033_grace.ts"
import termNotices from "./0034_term_notices.ts"
import overrides from "./0035_overrides.ts"
import leases from "./0036_leases.ts"
import licenseKeys from "./0037_license_keys.ts"
import licenseMigrations from "./0038_license_migrations.ts"
import usageHistory from "./0039_usage_history.ts"
import signingKeys from "./0040_signing_keys.ts"
import offlineBundles from "./0041_offline_bundles.ts"
import eventHashes from "./0042_event_hashes.ts"
import offlineUsage from "./0043_offline_usage.ts"
import usagePartitions from "./0044_usage_partitions.ts"
import foldedNames from "./0045_folded_names.ts"

export const migrations: Record<string, Effect.Effect<void, SqlError, SqlClient.SqlClient>> = {
  "0001_access": access,
  "0002_events": events,
  "0003_releases": releases,
  "0004_deployment_zones": deploymentZones,
  "0005_entitlements": entitlements,
  "0006_licenses": licenses,
  "0007_customers": customers,
  "0008_instances": instances,
  "0009_metadata_fields": metadataFields,
  "0010_connectors": connectors,
  "0011_integrations": integrations,
  "0012_feature_flags": featureFlags,
  "0013_entitlement_groups": entitlementGroups,
  "0014_usage": usage,
  "0015_reservations": reservations,
  "0016_webhooks": webhooks,
  "0017_event_feed": eventFeed,
  "0018_people": people,
  "0019_retention": retention,
  "0020_usage_references": usageReferences,
  "0021_webhook_lanes": webhookLanes,
  "0022_webhook_queue": webhookQueue,
  "0023_past_terms": pastTerms,
  "0024_usage_room": usageRoom,
  "0025_catalog_versions": catalogVersions,
  "0026_webhook_leases": webhookLeases,
  "0027_secret_key_checks": secretKeyChecks,
  "0028_idempotency_targets": idempotencyTargets,
  "0029_removals": removals,
  "0030_list_filters": listFilters,
  "0031_history_filters": historyFilters,
  "0032_event_previous": eventPrevious,
  "0033_grace": grace,
  "0034_term_notices": termNotices,
  "0035_overrides": overrides,
  "0036_leases": leases,
  "0037_license_keys": licenseKeys,
  "0038_license_migrations": licenseMigrations,
  "0039_usage_history": usageHistory,
  "0040_signing_keys": signingKeys,
  "0041_offline_bundles": offlineBundles,
  "0042_event_hashes": eventHashes,
  "0043_offline_usage": offlineUsage,
  "0044_usage_partitions": usagePartitions,
  "0045_folded_names": foldedNames,
}
