import type { Impact } from "./impact.ts"
import { statements } from "./statements.ts"

/**
 * What products do that cannot reach the service, by license version: for how many seconds a snapshot answers, and what answers
 * afterwards. Nodes of the release before neither read nor write the columns.
 */
export default statements(
  `ALTER TABLE licenses ADD COLUMN away_stale_seconds integer NOT NULL DEFAULT 604800`,
  `ALTER TABLE licenses ADD COLUMN away_then text NOT NULL DEFAULT 'DENY'`,
  // A statement of its own: Citus adds no column together with its constraint.
  `ALTER TABLE licenses ADD CONSTRAINT licenses_away_then CHECK (away_then IN ('DENY', 'ALLOW'))`,
)

export const impact: Impact = {
  locks: [{ table: "licenses", mode: "ACCESS EXCLUSIVE" }],
  reads: ["licenses"],
  millisecondsPerMillionRows: 650,
}
