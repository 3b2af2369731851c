/**
 * SQL fragments that read the sums of dropped events. They apply before `usage_retention.dropped_until`, and events
 * from then on: so an event is in exactly one of them.
 */
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"

/** Until when events were dropped; without any, an instant before all events. */
export const droppedUntil = `(SELECT coalesce(dropped_until, '-infinity') FROM usage_retention)`

/** What the sums of the total `t` say about the time up to an instant, in one row. */
export const sumsUntil = (sql: SqlClient, organization: Fragment, until: string): Fragment => {
  const at = sql.literal(until)
  return sql`LEFT JOIN LATERAL (
    SELECT sum(stored_count) AS stored, bool_or(first_at <= ${at} AND last_at > ${at}) AS is_between,
      max(set_at) FILTER (WHERE counts) AS set_at,
      (array_agg(set_value ORDER BY set_at DESC) FILTER (WHERE counts AND set_at IS NOT NULL))[1] AS replaced_by,
      coalesce(sum(counted) FILTER (WHERE counts), 0) AS count, sum(sum) FILTER (WHERE counts) AS sum,
      min(minimum) FILTER (WHERE counts) AS minimum, max(maximum) FILTER (WHERE counts) AS maximum,
      (array_agg(latest ORDER BY latest_at DESC, latest_ordinal DESC) FILTER (WHERE counts AND latest_at IS NOT NULL))[1]
        AS latest,
      max(latest_at) FILTER (WHERE counts) AS latest_at, max(last_at) FILTER (WHERE last_at <= ${at}) AS last_at,
      sum(brought_count) FILTER (WHERE counts) AS brought_count, sum(brought_sum) FILTER (WHERE counts) AS brought_sum
    FROM (
      SELECT *, last_at <= ${at} AND coalesce(last_at >= max(set_at) FILTER (WHERE last_at <= ${at}) OVER (), true) AS counts
      FROM usage_days
      WHERE organization_id = ${organization} AND instance_id = t.instance_id AND entitlement_id = t.entitlement_id
        AND period_start = t.period_start AND day < ${sql.literal(droppedUntil)}
    ) own
  ) past ON true`
}

/** Whether dropped events of the total that `k` belongs to have its unique key, up to an instant. */
export const wasDropped = (at: string): string =>
  `coalesce(k.first_at <= ${at} AND k.first_at < ${droppedUntil}, false)`

/** Selects until when events were dropped, at the latest at an instant, and whether a month is being dropped. Locks it. */
export const lockedDrops = (sql: SqlClient, atLeast: string | null): Fragment => sql`
      SELECT greatest(dropped_until, ${atLeast}::timestamptz)::text AS until, EXISTS (SELECT 1 FROM usage_drops) AS drops
      FROM usage_retention FOR UPDATE`

/** Selects until when events were dropped, `NULL` if none were. */
export const droppedUntilText = "SELECT dropped_until::text AS at FROM usage_retention"

/** Selects a row if there is an event before an instant. */
export const eventsBefore = (sql: SqlClient, until: string): Fragment =>
  sql`SELECT 1 FROM usage_events WHERE timestamp < ${until}::timestamptz LIMIT 1`

/** Makes sums apply up to an instant before which no event is stored: an organization that was moved here brought them. */
export const applySumsUntil = (until: string): string => `UPDATE usage_retention SET dropped_until = ${until}`
