import { statements } from "./statements.ts"

export default statements(
  // What the event is about: the filter of readers. Written with the event, so that no reader looks into `data`.
  `ALTER TABLE events ADD COLUMN resource text`,
  `UPDATE events SET resource = coalesce(data->>'id', data->>'slug', data->>'instanceId', data->>'licenseSlug',
    data->>'connectorName')`,
  // Of placed events only: the writer of an event pays for none of them.
  `CREATE INDEX events_type ON events (organization_id, type, position) WHERE position IS NOT NULL`,
  `CREATE INDEX events_resource ON events (organization_id, resource, position) WHERE position IS NOT NULL`,
  // The position that each stream has reached. It outlives its events, so that no position is given twice.
  `CREATE TABLE event_streams (
    organization_id uuid PRIMARY KEY,
    head bigint NOT NULL
  ) WITH (fillfactor = 50)`,
  `INSERT INTO event_streams (organization_id, head)
    SELECT organization_id, max(position) FROM events WHERE position IS NOT NULL GROUP BY organization_id`,
)
