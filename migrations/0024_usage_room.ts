import { statements } from "./statements.ts"

// A total changes with every report. With room on its page the new version stays there, and no index has to learn of it.
export default statements(`ALTER TABLE usage_totals SET (fillfactor = 70)`)
