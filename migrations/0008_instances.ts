import { statements } from "./statements.ts"

export default statements(
  `CREATE TABLE instances (
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    name text NOT NULL,
    slug text NOT NULL,
    description text,
    customer_id uuid NOT NULL,
    license_id uuid NOT NULL,
    deployment_zone_id uuid,
    start_license_date timestamptz NOT NULL,
    end_license_date timestamptz CHECK (end_license_date > start_license_date),
    metadata jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, id),
    CONSTRAINT instances_slug UNIQUE (organization_id, slug),
    FOREIGN KEY (organization_id, customer_id) REFERENCES customers (organization_id, id),
    FOREIGN KEY (organization_id, license_id) REFERENCES licenses (organization_id, id),
    FOREIGN KEY (organization_id, deployment_zone_id) REFERENCES deployment_zones (organization_id, id)
  )`,
  `CREATE INDEX instances_customer ON instances (organization_id, customer_id, id)`,
  `CREATE INDEX instances_license ON instances (organization_id, license_id, id)`,
  `CREATE INDEX instances_zone ON instances (organization_id, deployment_zone_id, id)`,
  // One row per instance, entitlement and period, so that no decision scans usage events.
  `CREATE TABLE usage_totals (
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    period_start timestamptz NOT NULL,
    value numeric NOT NULL,
    event_count bigint NOT NULL,
    PRIMARY KEY (organization_id, instance_id, entitlement_id, period_start),
    FOREIGN KEY (organization_id, instance_id) REFERENCES instances (organization_id, id) ON DELETE CASCADE,
    FOREIGN KEY (organization_id, entitlement_id) REFERENCES entitlements (organization_id, id)
  )`,
  `CREATE INDEX usage_totals_entitlement ON usage_totals (organization_id, entitlement_id)`,
)
