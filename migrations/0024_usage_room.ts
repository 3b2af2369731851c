import { statements } from "./statements.ts"

// Every report updates a total. Free space on the page keeps the new tuple there (HOT), so that no index is updated.
export default statements(`ALTER TABLE usage_totals SET (fillfactor = 70)`)
