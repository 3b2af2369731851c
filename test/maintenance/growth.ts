/** Multiplies the rows of an organization, without an analysis of the tables: statistics are those of before. */
import { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"

interface Column {
  readonly table: string
  readonly name: string
  readonly type: string
  /** The unique indexes that contain it. */
  readonly indexes: ReadonlyArray<string>
  /** Whether only some values are allowed. */
  readonly isChecked: boolean
}

/** What ids of other names refer to. */
const aliases: Readonly<Record<string, string>> = {
  caller: "credential",
  resource: "instance",
  deployment_zone: "zone",
}

/**
 * Tables with one row for each organization, those that placing and sealing fill, and endpoints with their lanes, of which an
 * organization has few.
 */
const single = new Set([
  "catalog_versions",
  "connector_inclusions",
  "event_arrivals",
  "event_checkpoints",
  "event_hashes",
  "event_positions",
  "event_streams",
  "memberships",
  "offline_lists",
  "signing_keys",
  "webhook_endpoints",
  "webhook_lanes",
])

/** Columns whose rows all have the same value: instances of one license, deliveries to one endpoint. */
const shared = new Set(["instances.license_id", "webhook_attempts.endpoint_id", "webhook_queue.endpoint_id"])

const nounOf = (table: string): string => {
  const noun = table
    .replace(/^(usage|webhook|offline)_/, "")
    .replace(/ies$/, "y")
    .replace(/s$/, "")
  return aliases[noun] ?? noun
}

const entityOf = ({ name, table }: Column): string => {
  if (name === "id") return table === "webhook_queue" ? "delivery" : nounOf(table)
  const noun = name.replace(/_id$/, "")
  return aliases[noun] ?? noun
}

/** The value of a column in copy `number`, in SQL; undefined if it is that of the original. */
const valueOf = (column: Column, isDistinct: (index: string) => boolean): string | undefined => {
  const { indexes, isChecked, name, table, type } = column
  if (name === "organization_id" || shared.has(`${table}.${name}`)) return undefined
  if (type === "uuid" && (name === "id" || name.endsWith("_id"))) {
    return `CASE WHEN original.${name} IS NULL THEN NULL ELSE md5('${entityOf(column)}' || number)::uuid END`
  }
  if (indexes.every(isDistinct)) return undefined
  if (type === "text" && !isChecked) return `original.${name} || '-' || number`
  if (type === "bytea") return `sha256(convert_to(number::text, 'UTF8'))`
  return /int/.test(type) ? `1000 + number` : undefined
}

const columnsOfAll = Effect.flatMap(
  PgClient.PgClient,
  (sql) => sql<Column>`
    SELECT class.relname AS "table", attname AS name, format_type(atttypid, NULL) AS type, ARRAY(
      SELECT indexrelid::text FROM pg_index WHERE indisunique AND indrelid = class.oid AND attnum = ANY (indkey)) AS indexes,
      EXISTS (SELECT 1 FROM pg_constraint WHERE contype = 'c' AND conrelid = class.oid AND attnum = ANY (conkey)) AS "isChecked"
    FROM pg_class class JOIN pg_attribute ON attrelid = class.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition AND EXISTS (
      SELECT 1 FROM pg_attribute owner WHERE owner.attrelid = class.oid AND owner.attname = 'organization_id')
    ORDER BY 1, attnum`,
)

/** What the copies have instead of the values of their original, in SQL. */
export type Overrides = Readonly<Record<string, Readonly<Record<string, string>>>>

/** Stores copies of one row of the organization in each table, with these numbers. */
export const multiplyRows = Effect.fnUntraced(function* (
  organizationId: string,
  { from, overrides, to }: { readonly from: number; readonly to: number; readonly overrides: Overrides },
) {
  const sql = yield* PgClient.PgClient
  const byTable = Map.groupBy(yield* columnsOfAll, ({ table }) => table)
  yield* sql.withTransaction(
    Effect.gen(function* () {
      // Neither foreign keys nor triggers: a copy refers to the copies with the same number.
      yield* sql`SET LOCAL session_replication_role = replica`
      for (const [table, columns] of byTable) {
        if (single.has(table)) continue
        const distinct = new Set(
          columns
            .filter(
              (column) =>
                column.type === "uuid" && column.name !== "organization_id" && !shared.has(`${table}.${column.name}`),
            )
            .flatMap(({ indexes }) => indexes),
        )
        const values = columns.map((column) => {
          const given = overrides[table]?.[column.name] ?? valueOf(column, (index) => distinct.has(index))
          return given ?? `original.${column.name}`
        })
        yield* sql.unsafe(
          `INSERT INTO ${table} (${columns.map(({ name }) => `"${name}"`).join(", ")})
          SELECT ${values.join(", ")} FROM (SELECT * FROM ${table} WHERE organization_id = '${organizationId}' LIMIT 1) AS original,
            generate_series(${from}::int, ${to}::int) AS number`,
        )
      }
      // The copies of events have no position yet.
      yield* sql.unsafe(
        `INSERT INTO event_arrivals (organization_id, event_id)
        SELECT ${overrides["events"]?.["organization_id"] ?? `'${organizationId}'`}, md5('event' || number)::uuid
        FROM generate_series(${from}::int, ${to}::int) AS number`,
      )
    }),
  )
})

/** Keeps the database from analyzing and vacuuming tables by itself. */
export const withoutAutovacuum = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const tables = yield* sql<{ name: string }>`
    SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'`
  for (const { name } of tables) yield* sql`ALTER TABLE ${sql(name)} SET (autovacuum_enabled = false)`
})

const SMALL_ORGANIZATIONS = 60

/** Analyzes the tables while each of 60 organizations has one row in them, and then leaves the given one alone. */
export const analyzeWithSmallOrganizations = Effect.fnUntraced(function* (
  organizationId: string,
  overrides: Overrides,
) {
  const sql = yield* PgClient.PgClient
  const columns = yield* columnsOfAll
  const tables = [...new Set(columns.map(({ table }) => table))]
  const others = Object.fromEntries(
    tables.map((table) => [table, { ...overrides[table], organization_id: "md5('organization' || number)::uuid" }]),
  )
  const from = 1_000_001
  yield* multiplyRows(organizationId, { from, to: from + SMALL_ORGANIZATIONS - 1, overrides: others })
  yield* sql`ANALYZE`
  yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`SET LOCAL session_replication_role = replica`
      for (const table of tables) yield* sql`DELETE FROM ${sql(table)} WHERE organization_id <> ${organizationId}`
    }),
  )
})
