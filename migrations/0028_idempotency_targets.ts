import { statements } from "./statements.ts"

// `fingerprint` covers scheme and host, and nodes of earlier releases compare it. `target_fingerprint` replaces them by
// method, path, query and body alone. It is NULL in rows of earlier releases.
export default statements(`ALTER TABLE idempotency_keys ADD COLUMN target_fingerprint bytea`)
