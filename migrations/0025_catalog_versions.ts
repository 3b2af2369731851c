import { statements } from "./statements.ts"

// Versions of the catalogs: the entitlements of an organization and the grants of its licenses. A catalog is read often
// and changes rarely, so processes cache it and compare the version on each read. Triggers set a new version in the
// transaction of each change. An organization without a row has not changed since this migration.
//
// A version is random, not a counter, so that a restored database never reuses a version for a different catalog. The
// rows are few and narrow; the low fillfactor leaves room on each page for updates.
export default statements(
  `CREATE TABLE catalog_versions (
    organization_id uuid PRIMARY KEY,
    version uuid NOT NULL
  ) WITH (fillfactor = 10)`,
  `CREATE FUNCTION catalog_changed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO catalog_versions (organization_id, version)
    VALUES (coalesce(NEW.organization_id, OLD.organization_id), gen_random_uuid())
    ON CONFLICT (organization_id) DO UPDATE SET version = excluded.version;
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER license_entitlements_catalog AFTER INSERT OR UPDATE OR DELETE ON license_entitlements
    FOR EACH ROW EXECUTE FUNCTION catalog_changed()`,
  // Not on insert, because no cache stores missing entitlements.
  `CREATE TRIGGER entitlements_catalog
    AFTER DELETE OR UPDATE OF id, slug, type, reset_period, reset_anchor ON entitlements
    FOR EACH ROW EXECUTE FUNCTION catalog_changed()`,
  `CREATE TRIGGER licenses_catalog AFTER DELETE OR UPDATE OF id, slug ON licenses
    FOR EACH ROW EXECUTE FUNCTION catalog_changed()`,
)
