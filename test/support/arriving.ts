/** Events that tests store by SQL. */
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"

/** An `INSERT INTO events`, and that these events have no position yet, in one statement. */
export const arriving = (sql: SqlClient, insertion: Fragment) => sql`
  WITH event AS (${insertion} RETURNING organization_id, id)
  INSERT INTO event_arrivals (organization_id, event_id) SELECT organization_id, id FROM event`
