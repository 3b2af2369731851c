import { statements } from "./statements.ts"

// Checked for every single event, these references cost more than storing the events: a total is updated twice in its
// transaction, and each time both of its references are looked up and locked. They hold without the checks: usage is stored
// by a transaction that keeps its instance and entitlement and holds the lock of its total, an entitlement that was used is
// not deleted, and an instance takes its usage along when it is. Organizations are not deleted.
export default statements(
  `ALTER TABLE usage_totals
    DROP CONSTRAINT usage_totals_organization_id_instance_id_fkey,
    DROP CONSTRAINT usage_totals_organization_id_entitlement_id_fkey`,
  `ALTER TABLE usage_events DROP CONSTRAINT usage_events_organization_id_instance_id_entitlement_id_pe_fkey`,
  `ALTER TABLE usage_unique_keys DROP CONSTRAINT usage_unique_keys_organization_id_instance_id_entitlement__fkey`,
  `ALTER TABLE usage_event_ids DROP CONSTRAINT usage_event_ids_organization_id_fkey`,
  // Compared byte by byte: nobody reads these in the order of a language.
  `ALTER TABLE usage_event_ids
    ALTER COLUMN source TYPE text COLLATE "C",
    ALTER COLUMN event_id TYPE text COLLATE "C"`,
)
