import { statements } from "./statements.ts"

// What an organization's entitlements are and what its licenses grant changes seldom and is asked for all the time. Whoever
// remembers it reads with each question whether this is still the same: a new version for each change, whoever makes it, in the
// transaction of the change. No row: nothing was changed since this table is there.
//
// A version is drawn, not counted, so that a database that was restored never tells an old one for something else. The rows are few
// and narrow; spread over pages they have room to be updated in, and are found by their index.
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
  // Not of what is inserted: nobody remembers what there is not.
  `CREATE TRIGGER entitlements_catalog
    AFTER DELETE OR UPDATE OF id, slug, type, reset_period, reset_anchor ON entitlements
    FOR EACH ROW EXECUTE FUNCTION catalog_changed()`,
  `CREATE TRIGGER licenses_catalog AFTER DELETE OR UPDATE OF id, slug ON licenses
    FOR EACH ROW EXECUTE FUNCTION catalog_changed()`,
)
