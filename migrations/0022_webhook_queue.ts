import { statements } from "./statements.ts"

export default statements(
  // The process that made the claim, set if other processes can detect its exit. Ignored on rows without a lease.
  `ALTER TABLE webhook_queue ADD COLUMN owner uuid`,
  // Events of one transaction are due at the same time. Deduplication stores entries of equal keys in one tuple, which
  // scans skip only when all of them are dead. Each claim therefore reread the entries of earlier claims.
  `ALTER INDEX webhook_queue_due SET (deduplicate_items = off)`,
)
