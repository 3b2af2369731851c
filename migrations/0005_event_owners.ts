import type { Impact } from "./impact.ts"
import { statements } from "./statements.ts"

/**
 * The owner of an event's record, such as the instance of an override: the activity of a record includes what belongs to it. Nodes of the
 * release before neither read nor write it, so what they store or place is found under its own record alone.
 */
export default statements(
  `ALTER TABLE events ADD COLUMN owner text`,
  `ALTER TABLE event_positions ADD COLUMN owner text COLLATE "C"`,
  `CREATE INDEX event_positions_owner ON event_positions (organization_id, owner, position) WHERE owner IS NOT NULL`,
)

export const impact: Impact = {
  locks: ["events", "event_positions"].map((table) => ({ table, mode: "ACCESS EXCLUSIVE" })),
  reads: ["event_positions"],
  millisecondsPerMillionRows: 200,
}
