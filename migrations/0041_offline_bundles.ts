import { statements } from "./statements.ts"

// Offline bundles, and what voids them. The rows outlive their instances: a site still has the bundle, and may report its usage
// until `usage_until`. In `offline_revocations`, `sequence` is the highest voided one of an instance, and `until` the full hour from
// which on all that it voids has expired. `offline_lists` has a row for each organization that has issued a bundle.
export default statements(
  `ALTER TABLE instances ADD COLUMN offline_sequence integer NOT NULL DEFAULT 0`,
  `CREATE TABLE offline_bundles (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    instance_id uuid NOT NULL,
    sequence integer NOT NULL,
    kid text NOT NULL,
    token text NOT NULL,
    binding jsonb,
    issued_at timestamptz NOT NULL,
    renew_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    usage_until timestamptz NOT NULL,
    revoked_at timestamptz,
    revoked_by jsonb,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, id),
    CONSTRAINT offline_bundles_sequence UNIQUE (organization_id, instance_id, sequence)
  )`,
  `CREATE INDEX offline_bundles_key ON offline_bundles (organization_id, kid, expires_at)`,
  `CREATE INDEX offline_bundles_sweep ON offline_bundles (usage_until)`,
  `CREATE TABLE offline_revocations (
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    sequence integer NOT NULL,
    revoked_at timestamptz NOT NULL,
    until timestamptz NOT NULL,
    PRIMARY KEY (organization_id, instance_id)
  )`,
  `CREATE INDEX offline_revocations_sweep ON offline_revocations (until)`,
  `CREATE TABLE offline_lists (
    organization_id uuid PRIMARY KEY,
    number bigint NOT NULL
  )`,
)
