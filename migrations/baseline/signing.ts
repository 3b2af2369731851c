import { table } from "../statements.ts"

/** Keys that sign offline bundles and the event log. */
export const signing: ReadonlyArray<string> = [
  // `public_key` is the `x` of the JWK. A key that no longer signs has its public half only: `sealed` is cleared.
  ...table(
    "signing_keys",
    "A key of an organization for one purpose, its private half encrypted. Grows with the first use of a purpose and with each rotation.",
    `
    organization_id uuid NOT NULL,
    kid text NOT NULL,
    id uuid NOT NULL,
    purpose text NOT NULL CHECK (purpose IN ('offline', 'audit')),
    state text NOT NULL CHECK (state IN ('NEXT', 'CURRENT', 'RETIRED', 'REVOKED')),
    public_key text NOT NULL,
    sealed text,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    activated_at timestamptz,
    revoked_at timestamptz,
    PRIMARY KEY (organization_id, kid),
    CHECK ((state IN ('NEXT', 'CURRENT')) = (sealed IS NOT NULL)),
    CHECK ((state = 'REVOKED') = (revoked_at IS NOT NULL))
  `,
  ),
  `CREATE UNIQUE INDEX signing_keys_current ON signing_keys (organization_id, purpose) WHERE state = 'CURRENT'`,
  `CREATE UNIQUE INDEX signing_keys_next ON signing_keys (organization_id, purpose) WHERE state = 'NEXT'`,
  `CREATE INDEX signing_keys_page ON signing_keys (organization_id, id)`,
]
