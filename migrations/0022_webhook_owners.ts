import { statements } from "./statements.ts"

// The process that made the claim, while its end can be seen by others. It says nothing on a row without a lease.
export default statements(`ALTER TABLE webhook_queue ADD COLUMN owner uuid`)
