import { statements } from "./statements.ts"

// Days for which a license grants access after its end. An instance without a number of its own has that of its license version.
export default statements(
  `ALTER TABLE licenses ADD COLUMN grace_days smallint NOT NULL DEFAULT 0`,
  `ALTER TABLE instances ADD COLUMN grace_days smallint`,
  `ALTER TABLE past_instance_terms ADD COLUMN grace_days smallint`,
  // A row applies before its "until", back to that of the previous row.
  `CREATE TABLE past_license_graces (
    organization_id uuid NOT NULL,
    license_id uuid NOT NULL,
    until timestamptz NOT NULL,
    grace_days smallint NOT NULL,
    PRIMARY KEY (organization_id, license_id, until),
    FOREIGN KEY (organization_id, license_id) REFERENCES licenses (organization_id, id) ON DELETE CASCADE
  )`,
  // Cached catalogs contain the number of the license version.
  `CREATE TRIGGER licenses_grace_catalog AFTER UPDATE OF grace_days ON licenses
    FOR EACH ROW WHEN (OLD.grace_days IS DISTINCT FROM NEW.grace_days) EXECUTE FUNCTION catalog_changed()`,
)
