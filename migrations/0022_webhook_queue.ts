import { statements } from "./statements.ts"

export default statements(
  // The process that made the claim, while its end can be seen by others. It says nothing on a row without a lease.
  `ALTER TABLE webhook_queue ADD COLUMN owner uuid`,
  // Events of one transaction fall due together. Entries of one key share a tuple, which is passed over only when all of them
  // are dead, so that each claim read again what earlier ones had taken.
  `ALTER INDEX webhook_queue_due SET (deduplicate_items = off)`,
)
