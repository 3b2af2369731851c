import type { Impact } from "./impact.ts"
import { statements } from "./statements.ts"

/**
 * Paused webhook endpoints: what is due for them waits. Claims read lanes alone, so a lane says itself that its endpoint is paused. Nodes of
 * the release before ignore both columns and deliver.
 */
export default statements(
  `ALTER TABLE webhook_endpoints ADD COLUMN paused_at timestamptz`,
  `ALTER TABLE webhook_lanes ADD COLUMN paused boolean NOT NULL DEFAULT false`,
)

export const impact: Impact = {
  locks: [
    { table: "webhook_endpoints", mode: "ACCESS EXCLUSIVE" },
    { table: "webhook_lanes", mode: "ACCESS EXCLUSIVE" },
  ],
  reads: [],
  millisecondsPerMillionRows: 0,
}
