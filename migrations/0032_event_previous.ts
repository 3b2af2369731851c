import { statements } from "./statements.ts"

// Absent in events that are no changes, and in those of nodes before this migration.
export default statements(`ALTER TABLE events ADD COLUMN previous json`)
