/** Searches a database for secrets, in every column that can hold text. */
import { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { SECRET_TEXT } from "../../src/infra/telemetry/SecretMasking.ts"
import { leakedIn } from "./issuedSecrets.ts"
import { originOf } from "./recorded.ts"
import type { Recorded } from "./recorded.ts"

interface Column {
  readonly table: string
  readonly column: string
  readonly type: string
  readonly namesOrganization: boolean
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`

// Bytes are searched as text.
const textOf = ({ column, type }: Column) =>
  type === "bytea" ? `encode(${quoted(column)}, 'escape')` : `${quoted(column)}::text`

/** Returns `table.column` of every column that contains a secret which is not exempt. Takes two round trips. */
export const findSecretColumns = Effect.fnUntraced(function* (recorded: Recorded) {
  const sql = yield* PgClient.PgClient
  const columns = yield* sql<Column>`
    SELECT c.relname AS "table", a.attname AS "column", t.typname AS type,
      EXISTS (SELECT FROM pg_attribute o WHERE o.attrelid = c.oid AND o.attname = 'organization_id') AS "namesOrganization"
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_type t ON t.oid = a.atttypid
    WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
      AND t.typname IN ('text', 'varchar', 'json', 'jsonb', 'bytea', '_text')
    ORDER BY c.relname, a.attnum`
  if (columns.length === 0) return []
  const searches = columns.map(
    (column, index) =>
      `SELECT ${index} AS index, ${column.namesOrganization ? "organization_id::text" : "NULL"} AS "organizationId", found[1] AS secret FROM ${quoted(column.table)},
         regexp_matches(${textOf(column)}, '(${SECRET_TEXT.replaceAll("'", "''")})', 'g') AS found`,
  )
  const hits = yield* sql.unsafe<{ index: number; organizationId: string | null; secret: string }>(
    searches.join(" UNION ALL "),
  )
  const places = hits.flatMap(({ index, organizationId, secret }) => {
    const column = columns[index]
    return column === undefined || leakedIn(secret, recorded).length === 0
      ? []
      : [`${column.table}.${column.column}${originOf(recorded, organizationId)}`]
  })
  return [...new Set(places)]
})
