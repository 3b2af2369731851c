/** Counts the records that a change concerns, and reads the first of them. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { MAX_COUNTED, MAX_SHOWN } from "../contract/dryruns/Impact.ts"
import type { Affected } from "../contract/dryruns/Impact.ts"
import { records } from "./Statements.ts"

interface Counted<Item> {
  readonly count: number
  readonly items: ReadonlyArray<Item>
}

/**
 * The rows of a statement: how many there are, at most 10,000, and the first 100. Their columns are the properties of the items.
 */
export const affectedRows =
  <Item>() =>
  (sql: SqlClient, rows: Fragment): Effect.Effect<Affected<Item>> =>
    Effect.map(
      records<Counted<Item>>()(sql`
        WITH found AS MATERIALIZED (${rows} LIMIT ${MAX_COUNTED + 1})
        SELECT (SELECT count(*) FROM found)::int AS count,
          (SELECT coalesce(json_agg(shown), '[]') FROM (SELECT * FROM found LIMIT ${MAX_SHOWN}) shown) AS items`),
      ([counted = { count: 0, items: [] }]) => ({
        count: Math.min(counted.count, MAX_COUNTED),
        truncated: counted.count > MAX_COUNTED,
        items: counted.items,
      }),
    )
