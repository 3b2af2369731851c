import { statements } from "./statements.ts"

// Drops foreign keys whose checks cost more than storing the events. A transaction updates a total twice, and each time
// PostgreSQL looks up and locks both referenced rows. The references stay valid without the checks. The transaction
// locks the total and prevents deletion of the instance and the entitlement. An entitlement with usage cannot be
// deleted. Deleting an instance also deletes its usage. Organizations are never deleted.
export default statements(
  `ALTER TABLE usage_totals
    DROP CONSTRAINT usage_totals_organization_id_instance_id_fkey,
    DROP CONSTRAINT usage_totals_organization_id_entitlement_id_fkey`,
  `ALTER TABLE usage_events DROP CONSTRAINT usage_events_organization_id_instance_id_entitlement_id_pe_fkey`,
  `ALTER TABLE usage_unique_keys DROP CONSTRAINT usage_unique_keys_organization_id_instance_id_entitlement__fkey`,
  `ALTER TABLE usage_event_ids DROP CONSTRAINT usage_event_ids_organization_id_fkey`,
  // Compared byte by byte, because no query sorts these by the rules of a language.
  `ALTER TABLE usage_event_ids
    ALTER COLUMN source TYPE text COLLATE "C",
    ALTER COLUMN event_id TYPE text COLLATE "C"`,
)
