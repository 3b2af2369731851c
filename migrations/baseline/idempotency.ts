import { table } from "../statements.ts"

/** Responses of requests with an `Idempotency-Key`. */
export const idempotency: ReadonlyArray<string> = [
  // `fingerprint` covers method, path, query and body, so that another request with the same key is rejected.
  ...table(
    "idempotency_keys",
    "The response of a request with an Idempotency-Key, by its caller. Grows with each such request; a row is deleted a day later.",
    `
    caller_id uuid NOT NULL,
    key text NOT NULL,
    organization_id uuid,
    fingerprint bytea NOT NULL,
    status smallint NOT NULL,
    location text,
    body text,
    secret_slug text,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (caller_id, key)
  `,
  ),
  `CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at)`,
]
