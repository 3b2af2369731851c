import { statements } from "./statements.ts"

// Usage that can be seen and mended. Voided events stay, with who voided them; `event_count` counts them, because it numbers events.
export default statements(
  `ALTER TABLE usage_events
    ADD COLUMN transaction_id text,
    ADD COLUMN source text,
    ADD COLUMN voided_at timestamptz,
    ADD COLUMN voided_by jsonb`,
  // In the order in which events are listed. An operator may have created it before, without a lock (docs/upgrading.md).
  `CREATE INDEX IF NOT EXISTS usage_events_time
    ON usage_events (organization_id, instance_id, entitlement_id, period_start, timestamp, ordinal)`,
  `ALTER TABLE usage_totals ADD COLUMN voided_count bigint NOT NULL DEFAULT 0`,
  // Up to which event the hours of a total contain its usage. The lock of these hours.
  `CREATE TABLE usage_rollups (
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    period_start timestamptz NOT NULL,
    rolled_to bigint NOT NULL,
    PRIMARY KEY (organization_id, instance_id, entitlement_id, period_start),
    FOREIGN KEY (organization_id, instance_id, entitlement_id, period_start)
      REFERENCES usage_totals (organization_id, instance_id, entitlement_id, period_start) ON DELETE CASCADE
  )`,
  // The usage of a total by hours, so that its history reads no events.
  `CREATE TABLE usage_hours (
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    period_start timestamptz NOT NULL,
    hour timestamptz NOT NULL,
    event_count bigint NOT NULL,
    sum numeric NOT NULL,
    minimum numeric,
    maximum numeric,
    latest numeric,
    latest_at timestamptz,
    latest_ordinal bigint,
    PRIMARY KEY (organization_id, instance_id, entitlement_id, period_start, hour),
    FOREIGN KEY (organization_id, instance_id, entitlement_id, period_start)
      REFERENCES usage_rollups (organization_id, instance_id, entitlement_id, period_start) ON DELETE CASCADE
  )`,
)
