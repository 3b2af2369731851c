import { statements } from "./statements.ts"

// The event log as a Merkle tree. Rows are only inserted.
export default statements(
  // Which log of the organization it is: `keyshelf audit restart` begins another one.
  `ALTER TABLE event_streams ADD COLUMN log integer NOT NULL DEFAULT 1`,
  // The position before the first event of the tree. Where positions are missing, the tree begins after the last one that is: the
  // retention of earlier versions deleted events wherever they stood.
  `ALTER TABLE event_streams ADD COLUMN base bigint NOT NULL DEFAULT 0`,
  `UPDATE event_streams SET base = coalesce((
      SELECT max(placed.position) - 1 FROM (
        SELECT position, lag(position) OVER (ORDER BY position) AS before FROM events
        WHERE events.organization_id = event_streams.organization_id AND position IS NOT NULL
      ) AS placed
      WHERE placed.before IS DISTINCT FROM placed.position - 1
    ), head)`,
  // Level 0 are the leaves. A node of a level covers 2^level leaves.
  `CREATE TABLE event_hashes (
    organization_id uuid NOT NULL,
    index bigint NOT NULL,
    level smallint NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (organization_id, level, index)
  )`,
  `CREATE TABLE event_checkpoints (
    organization_id uuid NOT NULL,
    size bigint NOT NULL,
    note text NOT NULL,
    signed_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, size)
  )`,
)
