import { table } from "../statements.ts"

/** The event log as a Merkle tree. Its rows are only inserted. The leaves are in `event_positions`. */
export const audit: ReadonlyArray<string> = [
  ...table(
    "event_hashes",
    "A node of the tree of an event log, above the leaves: a node of level 8, 16 or 24 covers 2^level of them. Grows by a row for each 256 events; never deleted.",
    `
    organization_id uuid NOT NULL,
    level smallint NOT NULL,
    index bigint NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (organization_id, level, index)
  `,
  ),
  ...table(
    "event_checkpoints",
    "A signed note of the size and the root of an event log. Grows every 5 minutes while an organization has new events; never deleted.",
    `
    organization_id uuid NOT NULL,
    size bigint NOT NULL,
    note text NOT NULL,
    signed_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, size)
  `,
  ),
]
