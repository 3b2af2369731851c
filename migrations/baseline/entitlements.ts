import { searchIndexes, table } from "../statements.ts"

/** What can be granted, and the versions by which processes notice that their cached catalog is old. */
export const entitlements: ReadonlyArray<string> = [
  ...table(
    "entitlements",
    "Something that licenses grant: a switch, a number or a configuration. Grows with each entitlement of an organization.",
    `
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
  `,
  ),
  `CREATE INDEX entitlements_order ON entitlements (organization_id, display_order, id)`,
  `CREATE INDEX entitlements_type ON entitlements (organization_id, type, display_order, id)`,
  ...searchIndexes("entitlements", "display_order, id"),
  // A catalog is read often and changes rarely, so processes cache it and compare the version on each read. Triggers set a new version in
  // the transaction of each change. A version is random, not a counter, so that a restored database never has a version twice for
  // different catalogs. The rows are few and narrow; the low fillfactor leaves room on each page for updates.
  ...table(
    "catalog_versions",
    "The version of an organization's catalog: its entitlements and the grants of its licenses. An organization without a row has not changed its catalog yet. Grows with each organization.",
    `
    organization_id uuid PRIMARY KEY,
    version uuid NOT NULL
  `,
    "WITH (fillfactor = 10)",
  ),
  `CREATE FUNCTION catalog_changed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO catalog_versions (organization_id, version)
    VALUES (coalesce(NEW.organization_id, OLD.organization_id), gen_random_uuid())
    ON CONFLICT (organization_id) DO UPDATE SET version = excluded.version;
    RETURN NULL;
  END $$`,
  // Not on insert, because no cache stores missing entitlements.
  `CREATE TRIGGER entitlements_catalog
    AFTER DELETE OR UPDATE OF id, slug, type, reset_period, reset_anchor ON entitlements
    FOR EACH ROW EXECUTE FUNCTION catalog_changed()`,
]
