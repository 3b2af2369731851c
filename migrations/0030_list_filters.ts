import { statements } from "./statements.ts"

/** Serves the filter `q`: a prefix of the name or of the slug. `position` are the columns of the list's order. */
const prefixes = (table: string, position = "id") => [
  // The name is in the index so that PostgreSQL reads nothing but the index.
  `CREATE INDEX ${table}_name_prefix ON ${table} (organization_id, (lower(name) COLLATE "C"), ${position})
    INCLUDE (name)`,
  `CREATE INDEX ${table}_slug_prefix ON ${table} (organization_id, (slug COLLATE "C"), ${position}) INCLUDE (slug)`,
]

// Each index has the filter's column and then the list's order, so that a page is one range of it.
export default statements(
  ...prefixes("customers"),
  `CREATE INDEX customers_domain ON customers (organization_id, lower(domain), id)`,
  ...prefixes("instances"),
  `CREATE INDEX instances_start ON instances (organization_id, start_license_date, id) INCLUDE (end_license_date)`,
  `CREATE INDEX instances_end ON instances (organization_id, end_license_date, id) INCLUDE (start_license_date)`,
  ...prefixes("entitlements", "display_order, id"),
  `CREATE INDEX entitlements_type ON entitlements (organization_id, type, display_order, id)`,
  ...prefixes("licenses"),
  `CREATE INDEX licenses_family ON licenses (organization_id, family_id, id)`,
  `CREATE INDEX licenses_state ON licenses (organization_id, lifecycle_state, id)`,
  `CREATE INDEX licenses_type ON licenses (organization_id, type, id)`,
  `CREATE INDEX license_entitlements_license ON license_entitlements (organization_id, entitlement_id, license_id)`,
  ...prefixes("deployment_zones"),
  `CREATE INDEX deployment_zones_type ON deployment_zones (organization_id, type, id)`,
  `CREATE INDEX deployment_zones_newest ON deployment_zones (organization_id, release_id, id)`,
)
