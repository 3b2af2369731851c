import { searchIndexes, table } from "../statements.ts"

/** Licenses in versions, what each version grants, and what it granted before. */
export const licenses: ReadonlyArray<string> = [
  // last_version only grows, so that no number is assigned twice, even after a draft is deleted.
  ...table(
    "license_families",
    "A license with all its versions. Grows with each license of an organization.",
    `
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    slug text NOT NULL,
    last_version integer NOT NULL,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, id),
    CONSTRAINT license_families_slug UNIQUE (organization_id, slug)
  `,
  ),
  // `grace_days`: for how many days after its end the license grants access.
  ...table(
    "licenses",
    "One version of a license. Grows with each version.",
    `
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
    grace_days smallint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, id),
    CONSTRAINT licenses_slug UNIQUE (organization_id, slug),
    CONSTRAINT licenses_version UNIQUE (organization_id, family_id, version),
    FOREIGN KEY (organization_id, family_id) REFERENCES license_families (organization_id, id),
    CONSTRAINT licenses_default_is_published CHECK (NOT is_default OR lifecycle_state = 'PUBLISHED')
  `,
  ),
  `CREATE UNIQUE INDEX licenses_one_default ON licenses (organization_id, family_id) WHERE is_default`,
  ...searchIndexes("licenses"),
  `CREATE INDEX licenses_family ON licenses (organization_id, family_id, id)`,
  `CREATE INDEX licenses_state ON licenses (organization_id, lifecycle_state, id)`,
  `CREATE INDEX licenses_type ON licenses (organization_id, type, id)`,
  ...table(
    "license_entitlements",
    "What a license version grants of an entitlement. Grows with each grant.",
    `
    organization_id uuid NOT NULL,
    license_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    value jsonb NOT NULL,
    overage_percent double precision NOT NULL CHECK (overage_percent >= 0),
    PRIMARY KEY (organization_id, license_id, entitlement_id),
    FOREIGN KEY (organization_id, license_id) REFERENCES licenses (organization_id, id) ON DELETE CASCADE,
    FOREIGN KEY (organization_id, entitlement_id) REFERENCES entitlements (organization_id, id)
  `,
  ),
  `CREATE INDEX license_entitlements_license ON license_entitlements (organization_id, entitlement_id, license_id)`,
  // A row applies before `until`, back to the `until` of the row before it. A null value means that nothing was granted.
  ...table(
    "past_license_grants",
    "What a license version granted of an entitlement until a time, for checks as of a past time. Grows with each change of a grant.",
    `
    organization_id uuid NOT NULL,
    license_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    until timestamptz NOT NULL,
    value jsonb,
    overage_percent double precision,
    PRIMARY KEY (organization_id, license_id, entitlement_id, until),
    FOREIGN KEY (organization_id, license_id) REFERENCES licenses (organization_id, id) ON DELETE CASCADE,
    FOREIGN KEY (organization_id, entitlement_id) REFERENCES entitlements (organization_id, id) ON DELETE CASCADE,
    CHECK ((value IS NULL) = (overage_percent IS NULL))
  `,
  ),
  `CREATE INDEX past_license_grants_entitlement ON past_license_grants (organization_id, entitlement_id)`,
  ...table(
    "past_license_graces",
    "How many days of grace a license version had until a time. Grows with each change of them.",
    `
    organization_id uuid NOT NULL,
    license_id uuid NOT NULL,
    until timestamptz NOT NULL,
    grace_days smallint NOT NULL,
    PRIMARY KEY (organization_id, license_id, until),
    FOREIGN KEY (organization_id, license_id) REFERENCES licenses (organization_id, id) ON DELETE CASCADE
  `,
  ),
  `CREATE TRIGGER license_entitlements_catalog AFTER INSERT OR UPDATE OR DELETE ON license_entitlements
    FOR EACH ROW EXECUTE FUNCTION catalog_changed()`,
  `CREATE TRIGGER licenses_catalog AFTER DELETE OR UPDATE OF id, slug ON licenses
    FOR EACH ROW EXECUTE FUNCTION catalog_changed()`,
  // Cached catalogs contain the days of grace of the license version.
  `CREATE TRIGGER licenses_grace_catalog AFTER UPDATE OF grace_days ON licenses
    FOR EACH ROW WHEN (OLD.grace_days IS DISTINCT FROM NEW.grace_days) EXECUTE FUNCTION catalog_changed()`,
]
