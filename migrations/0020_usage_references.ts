import { statements } from "./statements.ts"

// Checked for every single event, these references cost as much as storing the events. They hold without the check: an
// event is stored by the transaction that holds the lock of its total, and an instance takes its events and keys along
// when it is deleted. Organizations are not deleted.
export default statements(
  `ALTER TABLE usage_events DROP CONSTRAINT usage_events_organization_id_instance_id_entitlement_id_pe_fkey`,
  `ALTER TABLE usage_unique_keys DROP CONSTRAINT usage_unique_keys_organization_id_instance_id_entitlement__fkey`,
  `ALTER TABLE usage_event_ids DROP CONSTRAINT usage_event_ids_organization_id_fkey`,
)
