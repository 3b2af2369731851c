import { statements } from "./statements.ts"

export default statements(
  // `position` is the order in which readers see the stream. It is assigned after the commit. Ids are generated before
  // it, so a reader that resumed by id could miss an event whose transaction committed late.
  `CREATE TABLE events (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    position bigint,
    type text NOT NULL,
    occurred_at timestamptz NOT NULL,
    actor jsonb NOT NULL,
    data json NOT NULL,
    PRIMARY KEY (organization_id, id)
  )`,
  `CREATE UNIQUE INDEX events_position ON events (organization_id, position) WHERE position IS NOT NULL`,
  `CREATE INDEX events_unplaced ON events (organization_id, id) WHERE position IS NULL`,
)
