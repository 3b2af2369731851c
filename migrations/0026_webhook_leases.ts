import { statements } from "./statements.ts"

// Each delivery leaves a dead entry, which stays while somebody has an old transaction open. What is in flight was claimed within
// the last half minute: by that time a claim finds it, however many entries there are before it.
export default statements(
  `CREATE INDEX webhook_queue_claimed ON webhook_queue (claimed_at) WITH (deduplicate_items = off) WHERE lease IS NOT NULL`,
  `DROP INDEX webhook_queue_leased`,
)
