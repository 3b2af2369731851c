/**
 * The events of an archive that a version before 0.2.0 wrote. There an event had its position in its own row, and its leaf was among the
 * nodes of the tree, at level 0. The import reads these rows from temporary tables.
 */

/** The former tables with another form, by their names of today, with their columns. */
export const FORMER_EVENT_TABLES: Readonly<Record<string, string>> = {
  events: `organization_id uuid, id uuid, "position" bigint, type text, resource text, occurred_at timestamp with time zone,
    actor jsonb, data json, previous json`,
  event_streams: `organization_id uuid, head bigint, log integer, base bigint`,
}

/** A node of the former tree of hashes. */
export const FORMER_HASHES = `organization_id uuid, level smallint, index bigint, hash bytea`

/** The statements that store the rows of `former_events`, `former_event_streams` and the leaves of `former_event_hashes`. */
export const convertEvents: ReadonlyArray<string> = [
  `INSERT INTO events (organization_id, id, type, resource, occurred_at, actor, data, previous)
   SELECT organization_id, id, type, resource, occurred_at, actor, data, previous FROM former_events`,
  `INSERT INTO event_arrivals (organization_id, event_id)
   SELECT organization_id, id FROM former_events WHERE position IS NULL`,
  // An event without a leaf is older than the log or not sealed yet. A leaf without an event is that of a deleted one.
  `INSERT INTO event_positions (organization_id, position, event_id, leaf, type, resource, actor_id)
   SELECT coalesce(event.organization_id, leaf.organization_id), coalesce(event.position, leaf.position), event.id, leaf.hash,
     event.type, event.resource, event.actor->>'id'
   FROM (SELECT * FROM former_events WHERE position IS NOT NULL) AS event
   FULL JOIN (
     SELECT former_event_hashes.organization_id, base + index + 1 AS position, hash
     FROM former_event_hashes JOIN former_event_streams USING (organization_id) WHERE level = 0
   ) AS leaf ON leaf.organization_id = event.organization_id AND leaf.position = event.position`,
  `INSERT INTO event_streams (organization_id, head, sealed_to, pruned_to, log, base)
   SELECT stream.organization_id, head, base + (SELECT count(*) FROM former_event_hashes WHERE level = 0),
     coalesce((SELECT min(position) - 1 FROM former_events), head), log, base
   FROM former_event_streams stream`,
]
