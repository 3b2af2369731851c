import { statements } from "./statements.ts"

// Every claim updates a lane. Without an index on the updated columns, PostgreSQL keeps the new tuple on the same page
// (HOT) and prunes the old one at the next read. With the index, a table with one row per endpoint collected a hundred
// thousand dead index entries between two vacuums.
export default statements(
  `DROP INDEX webhook_lanes_served`,
  `ALTER TABLE webhook_lanes SET (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)`,
)
