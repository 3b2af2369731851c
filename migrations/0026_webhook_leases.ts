import { statements } from "./statements.ts"

// Each delivery leaves a dead index entry, which remains while another transaction holds an old snapshot. Deliveries in
// flight were claimed within the last 30 seconds. By claimed_at a claim finds them without scanning the entries before.
export default statements(
  `CREATE INDEX webhook_queue_claimed ON webhook_queue (claimed_at) WITH (deduplicate_items = off) WHERE lease IS NOT NULL`,
  `DROP INDEX webhook_queue_leased`,
)
