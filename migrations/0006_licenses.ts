import { statements } from "./statements.ts"

export default statements(
  // last_version only grows, so that no number is assigned twice, even after a draft is deleted.
  `CREATE TABLE license_families (
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    slug text NOT NULL,
    last_version integer NOT NULL,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, id),
    CONSTRAINT license_families_slug UNIQUE (organization_id, slug)
  )`,
  `CREATE TABLE licenses (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    family_id uuid NOT NULL,
    slug text NOT NULL,
    name text NOT NULL,
    version integer NOT NULL,
    version_name text,
    description text,
    type text NOT NULL CHECK (type IN ('COMMUNITY', 'TRIAL', 'DEVELOPMENT', 'PAID')),
    is_default boolean NOT NULL,
    lifecycle_state text NOT NULL CHECK (lifecycle_state IN ('DRAFT', 'PUBLISHED', 'ARCHIVED')),
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, id),
    CONSTRAINT licenses_slug UNIQUE (organization_id, slug),
    CONSTRAINT licenses_version UNIQUE (organization_id, family_id, version),
    FOREIGN KEY (organization_id, family_id) REFERENCES license_families (organization_id, id),
    CONSTRAINT licenses_default_is_published CHECK (NOT is_default OR lifecycle_state = 'PUBLISHED')
  )`,
  `CREATE UNIQUE INDEX licenses_one_default ON licenses (organization_id, family_id) WHERE is_default`,
  `CREATE TABLE license_entitlements (
    organization_id uuid NOT NULL,
    license_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    value jsonb NOT NULL,
    overage_percent double precision NOT NULL CHECK (overage_percent >= 0),
    PRIMARY KEY (organization_id, license_id, entitlement_id),
    FOREIGN KEY (organization_id, license_id) REFERENCES licenses (organization_id, id) ON DELETE CASCADE,
    FOREIGN KEY (organization_id, entitlement_id) REFERENCES entitlements (organization_id, id)
  )`,
  `CREATE INDEX license_entitlements_entitlement ON license_entitlements (organization_id, entitlement_id)`,
)
