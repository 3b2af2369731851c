import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Creates a migration that runs the SQL statements in order. */
export const statements = (...texts: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (const text of texts) yield* sql.unsafe(text)
  })
