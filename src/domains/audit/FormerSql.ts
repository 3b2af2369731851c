/** The event log of an archive that a version before 0.2.0 wrote. The import reads its rows from a temporary table. */

/** The statement that stores the nodes above the leaves of `former_event_hashes`. The leaves belong to the events. */
export const CONVERT_HASHES = `INSERT INTO event_hashes (organization_id, level, index, hash)
  SELECT organization_id, level, index, hash FROM former_event_hashes WHERE level > 0`
