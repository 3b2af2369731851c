import { statements } from "./statements.ts"

// Past terms of instances and licenses, so that a check as of a past time uses the terms of that time. A row applies
// before `until`, back to the `until` of the previous row.
export default statements(
  `CREATE TABLE past_instance_terms (
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    until timestamptz NOT NULL,
    license_id uuid NOT NULL,
    start_license_date timestamptz NOT NULL,
    end_license_date timestamptz,
    PRIMARY KEY (organization_id, instance_id, until),
    FOREIGN KEY (organization_id, instance_id) REFERENCES instances (organization_id, id) ON DELETE CASCADE,
    FOREIGN KEY (organization_id, license_id) REFERENCES licenses (organization_id, id) ON DELETE CASCADE
  )`,
  `CREATE INDEX past_instance_terms_license ON past_instance_terms (organization_id, license_id)`,
  // A null value means that the license did not grant the entitlement.
  `CREATE TABLE past_license_grants (
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
  )`,
  `CREATE INDEX past_license_grants_entitlement ON past_license_grants (organization_id, entitlement_id)`,
)
