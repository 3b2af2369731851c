import { statements } from "./statements.ts"

// A check value of each secret key that a process has started with, by the key's id. It is derived from the key and
// reveals nothing about it. A process whose key has the same id but other bytes does not start.
export default statements(
  `CREATE TABLE secret_key_checks (
    key_id text PRIMARY KEY,
    check_value bytea NOT NULL,
    first_used_at timestamptz NOT NULL
  )`,
)
