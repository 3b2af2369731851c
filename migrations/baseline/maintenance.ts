import { table } from "../statements.ts"

/** What the installation knows about itself. */
export const maintenance: ReadonlyArray<string> = [
  ...table(
    "secret_key_checks",
    "A check value of each secret key that a process has started with: a process whose key has the same id but other bytes does not start. Derived from the key, and reveals nothing about it. Grows with each rotation of the secret key.",
    `
    key_id text PRIMARY KEY,
    check_value bytea NOT NULL,
    first_used_at timestamptz NOT NULL
  `,
  ),
]
