import { statements } from "./statements.ts"

export default statements(
  // The record that the event is about. Readers filter by this column instead of searching `data`.
  `ALTER TABLE events ADD COLUMN resource text`,
  `UPDATE events SET resource = coalesce(data->>'id', data->>'slug', data->>'instanceId', data->>'licenseSlug',
    data->>'connectorName')`,
  // Partial indexes of events with a position, so that writing an event updates neither index.
  `CREATE INDEX events_type ON events (organization_id, type, position) WHERE position IS NOT NULL`,
  `CREATE INDEX events_resource ON events (organization_id, resource, position) WHERE position IS NOT NULL`,
  // The last position of each stream. It outlives the events, so that no position is assigned twice.
  `CREATE TABLE event_streams (
    organization_id uuid PRIMARY KEY,
    head bigint NOT NULL
  ) WITH (fillfactor = 50)`,
  `INSERT INTO event_streams (organization_id, head)
    SELECT organization_id, max(position) FROM events WHERE position IS NOT NULL GROUP BY organization_id`,
)
