import { statements } from "./statements.ts"

export default statements(
  `CREATE TABLE entitlements (
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    slug text NOT NULL,
    name text NOT NULL,
    description text,
    type text NOT NULL CHECK (type IN ('BOOLEAN', 'NUMBER', 'CONFIG')),
    aggregation_method text,
    reset_period text,
    reset_anchor text,
    unit_singular text,
    unit_plural text,
    sale_unit_factor double precision,
    sale_unit_singular text,
    sale_unit_plural text,
    display_order integer NOT NULL,
    icon text,
    user_facing boolean NOT NULL,
    warning_threshold_percent integer,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, id),
    CONSTRAINT entitlements_slug UNIQUE (organization_id, slug),
    CHECK ((type = 'NUMBER') = (aggregation_method IS NOT NULL)),
    CHECK (reset_period IS NULL OR type = 'NUMBER')
  )`,
  `CREATE INDEX entitlements_order ON entitlements (organization_id, display_order, id)`,
)
