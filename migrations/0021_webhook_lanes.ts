import { statements } from "./statements.ts"

// A lane changes with every claim. Without an index over what changes, its new version stands beside the old one (HOT) and
// the old one is gone at the next look; with one, a hundred thousand dead entries gathered between two vacuums of a table
// that has one row for each endpoint.
export default statements(
  `DROP INDEX webhook_lanes_served`,
  `ALTER TABLE webhook_lanes SET (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)`,
)
