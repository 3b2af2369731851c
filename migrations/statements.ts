import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Creates a migration that runs the SQL statements in order. */
export const statements = (...texts: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (const text of texts) yield* sql.unsafe(text)
  })

/**
 * The statements that create a table. `holds` says what a row is and what adds rows: it becomes the comment of the table, so that an
 * operator reads it in `psql`, too. `storage` follows the columns, such as `WITH (fillfactor = 50)`.
 */
export const table = (name: string, holds: string, columns: string, storage = ""): ReadonlyArray<string> => [
  `CREATE TABLE ${name} (${columns}) ${storage}`,
  `COMMENT ON TABLE ${name} IS '${holds.replaceAll("'", "''")}'`,
]

// Names as the filter `q` compares them: in NFKC, in lower case, with one sigma, and `ß` as `ss`. A name of ASCII needs none of
// this but lower case. The other form may be longer than the name, so it is cut off: an entry of an index has a limit.
const FOLDED = `(CASE WHEN octet_length(name) = length(name) THEN lower(name)
  ELSE left(replace(replace(lower(normalize(name, NFKC)), 'ς', 'σ'), 'ß', 'ss'), 255) END)`

/**
 * The indexes of the filter `q`: a prefix of the name or of the slug. `order` are the columns of the list's order. The name and the slug
 * are in them, so that PostgreSQL reads nothing but the index.
 */
export const searchIndexes = (name: string, order = "id"): ReadonlyArray<string> => [
  `CREATE INDEX ${name}_name_folded ON ${name} (organization_id, (${FOLDED} COLLATE "C"), ${order}) INCLUDE (name)`,
  `CREATE INDEX ${name}_slug_prefix ON ${name} (organization_id, (slug COLLATE "C"), ${order}) INCLUDE (slug)`,
]

/**
 * The statements that create an index, unless an operator has built it before ({@link concurrently}). A build that failed leaves an index
 * that PostgreSQL does not use: it is replaced.
 */
export const indexUnlessBuilt = (name: string, definition: string): ReadonlyArray<string> => [
  `DO $do$
  BEGIN
    IF EXISTS (SELECT 1 FROM pg_index WHERE indexrelid = to_regclass('${name}') AND NOT indisvalid) THEN
      DROP INDEX ${name};
    END IF;
  END $do$`,
  `CREATE INDEX IF NOT EXISTS ${name} ON ${definition}`,
]

/** The statement by which an operator builds that index before, while processes write to the table. */
export const concurrently = (name: string, definition: string): string =>
  `CREATE INDEX CONCURRENTLY IF NOT EXISTS ${name} ON ${definition.replaceAll(/\s+/g, " ")}`
