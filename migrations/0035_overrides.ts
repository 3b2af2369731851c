import { statements } from "./statements.ts"

// Other terms of single instances. `instances.overrides` repeats the current ones, by the id of their entitlement, so that a check
// reads them with its instance. A row of the table was in force from `starts_at` until the earlier of `ends_at` and `ended_at`.
export default statements(
  `ALTER TABLE instances ADD COLUMN overrides jsonb`,
  `CREATE TABLE entitlement_overrides (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    instance_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    mode text NOT NULL CHECK (mode IN ('SET', 'ADD')),
    value jsonb NOT NULL,
    overage_percent double precision CHECK (overage_percent >= 0),
    starts_at timestamptz NOT NULL,
    ends_at timestamptz CHECK (ends_at > starts_at),
    reason text,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    ended_at timestamptz,
    ended_by jsonb,
    PRIMARY KEY (organization_id, id),
    FOREIGN KEY (organization_id, instance_id) REFERENCES instances (organization_id, id) ON DELETE CASCADE,
    FOREIGN KEY (organization_id, entitlement_id) REFERENCES entitlements (organization_id, id) ON DELETE CASCADE
  )`,
  // One for each instance and entitlement is current, or was until it ended by time.
  `CREATE UNIQUE INDEX entitlement_overrides_current ON entitlement_overrides (organization_id, instance_id, entitlement_id)
    WHERE ended_at IS NULL`,
  `CREATE INDEX entitlement_overrides_instance ON entitlement_overrides (organization_id, instance_id, id)`,
  `CREATE INDEX entitlement_overrides_past ON entitlement_overrides (organization_id, instance_id, entitlement_id, starts_at)`,
  `CREATE INDEX entitlement_overrides_entitlement ON entitlement_overrides (organization_id, entitlement_id)`,
)
