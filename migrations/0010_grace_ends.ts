import type { Impact } from "./impact.ts"
import { statements } from "./statements.ts"

/**
 * The instances whose license has ended but whose grace period may not have: by the days of their license version, or by their own. Without
 * these indexes, finding them reads all that ended within a year. Nodes of the release before do not use them.
 */
export default statements(
  `CREATE INDEX instances_license_end ON instances (organization_id, license_id, end_license_date, id) WHERE grace_days IS NULL`,
  `CREATE INDEX instances_own_grace ON instances (organization_id, end_license_date, id) INCLUDE (grace_days)
    WHERE grace_days IS NOT NULL`,
)

export const impact: Impact = {
  locks: [{ table: "instances", mode: "SHARE" }],
  reads: ["instances"],
  millisecondsPerMillionRows: 2_000,
}
