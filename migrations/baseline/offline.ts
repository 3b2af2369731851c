import { table } from "../statements.ts"

/** Offline bundles, their revocations, and the ledgers that sites upload. */
export const offline: ReadonlyArray<string> = [
  // The rows outlive their instances: a site still has the bundle, and may report its usage until `usage_until`.
  ...table(
    "offline_bundles",
    "A signed snapshot of an instance for a site without a connection. Grows with each bundle; deleted some time after usage_until.",
    `
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    instance_id uuid NOT NULL,
    sequence integer NOT NULL,
    kid text NOT NULL,
    token text NOT NULL,
    binding jsonb,
    issued_at timestamptz NOT NULL,
    renew_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    usage_until timestamptz NOT NULL,
    revoked_at timestamptz,
    revoked_by jsonb,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, id),
    CONSTRAINT offline_bundles_sequence UNIQUE (organization_id, instance_id, sequence)
  `,
  ),
  `CREATE INDEX offline_bundles_key ON offline_bundles (organization_id, kid, expires_at)`,
  `CREATE INDEX offline_bundles_sweep ON offline_bundles (usage_until)`,
  // `sequence` is the highest voided one, and `until` the full hour from which on all that it voids has expired.
  ...table(
    "offline_revocations",
    "Up to which sequence the bundles of an instance are void. Grows with each instance whose bundle is revoked; deleted after until.",
    `
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    sequence integer NOT NULL,
    revoked_at timestamptz NOT NULL,
    until timestamptz NOT NULL,
    PRIMARY KEY (organization_id, instance_id)
  `,
  ),
  `CREATE INDEX offline_revocations_sweep ON offline_revocations (until)`,
  ...table(
    "offline_lists",
    "The number of an organization's revocation list. Grows with each organization that issues a bundle.",
    `
    organization_id uuid PRIMARY KEY,
    number bigint NOT NULL
  `,
  ),
  // `lines` and `head` are the number and the hash of the last line, `bundle_sequence` is the newest bundle that a line has named, and
  // `until` when the last bundle ends its uploads. `forked_line` and `forked_hash` are the line that did not follow, so that its event is
  // emitted once.
  ...table(
    "offline_ledgers",
    "How far a ledger of a site was uploaded. Grows with each ledger that a site begins; deleted some time after until.",
    `
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    source text NOT NULL,
    lines bigint NOT NULL,
    head text NOT NULL,
    bundle_sequence integer,
    until timestamptz NOT NULL,
    closed_at timestamptz,
    forked_at timestamptz,
    forked_line bigint,
    forked_hash text,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, instance_id, source),
    FOREIGN KEY (organization_id, instance_id) REFERENCES instances (organization_id, id) ON DELETE CASCADE
  `,
  ),
  `CREATE INDEX offline_ledgers_sweep ON offline_ledgers (until)`,
]
