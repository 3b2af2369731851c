import { statements } from "./statements.ts"

export default statements(
  // The state that updates a total by one event without reading earlier events.
  `ALTER TABLE usage_totals
    ADD COLUMN sum numeric NOT NULL DEFAULT 0,
    ADD COLUMN value_count bigint NOT NULL DEFAULT 0,
    ADD COLUMN set_at timestamptz,
    ADD COLUMN latest_at timestamptz,
    ADD COLUMN last_at timestamptz,
    ADD COLUMN warned boolean NOT NULL DEFAULT false,
    ADD COLUMN limit_reached boolean NOT NULL DEFAULT false,
    ADD COLUMN cap_exceeded boolean NOT NULL DEFAULT false`,
  // Append-only log of all counted events. ordinal is the order of arrival within the total.
  `CREATE TABLE usage_events (
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    period_start timestamptz NOT NULL,
    ordinal bigint NOT NULL,
    timestamp timestamptz NOT NULL,
    behavior text NOT NULL CHECK (behavior IN ('append', 'set')),
    value numeric NOT NULL,
    unique_key text,
    metadata jsonb,
    reported_at timestamptz NOT NULL,
    reported_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, instance_id, entitlement_id, period_start, ordinal),
    FOREIGN KEY (organization_id, instance_id, entitlement_id, period_start)
      REFERENCES usage_totals (organization_id, instance_id, entitlement_id, period_start) ON DELETE CASCADE
  )`,
  // The keys that a UNIQUE_COUNT has counted in a period.
  `CREATE TABLE usage_unique_keys (
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    period_start timestamptz NOT NULL,
    unique_key text NOT NULL,
    PRIMARY KEY (organization_id, instance_id, entitlement_id, period_start, unique_key),
    FOREIGN KEY (organization_id, instance_id, entitlement_id, period_start)
      REFERENCES usage_totals (organization_id, instance_id, entitlement_id, period_start) ON DELETE CASCADE
  )`,
  // Reports with a transaction id, retained until the id can be reused.
  `CREATE TABLE usage_transactions (
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    transaction_id text NOT NULL,
    report jsonb NOT NULL,
    timestamp timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, instance_id, entitlement_id, transaction_id),
    FOREIGN KEY (organization_id, instance_id) REFERENCES instances (organization_id, id) ON DELETE CASCADE,
    FOREIGN KEY (organization_id, entitlement_id) REFERENCES entitlements (organization_id, id) ON DELETE CASCADE
  )`,
  `CREATE INDEX usage_transactions_expiry ON usage_transactions (expires_at)`,
  // Counted CloudEvents, retained until their source and id can be reused.
  `CREATE TABLE usage_event_ids (
    organization_id uuid NOT NULL REFERENCES organizations (id),
    source text NOT NULL,
    event_id text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, source, event_id)
  )`,
  `CREATE INDEX usage_event_ids_expiry ON usage_event_ids (expires_at)`,
)
