/** `keyshelf upgrade plan`: what an upgrade of a database will do to the processes that serve meanwhile. It only reads. */
import { Console, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { impacts } from "../../../migrations/impacts.ts"
import * as Database from "../../infra/database/Database.ts"
import { formerSchema, hasFormerSchema, isMigrated } from "../../infra/database/Migrations.ts"
import { commandLine } from "../../infra/PackageFiles.ts"
import { version } from "../../infra/Version.ts"
import { databaseExists } from "../database/EmbeddedState.ts"
import * as Schema from "../database/Schema.ts"
import { CommandFailed } from "../Failure.ts"
import { planned, planText } from "./PlanText.ts"
import type { Plan } from "./PlanText.ts"
import { wayTo } from "./Way.ts"

/** How many rows each table has, as PostgreSQL estimates it. A table without statistics has as many as fit into its size. */
const readRows = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ name: string; rows: number }>`
    SELECT coalesce(pg_partition_root(oid), oid)::regclass::text AS name,
      sum(CASE WHEN reltuples < 0 THEN pg_relation_size(oid) / 100 ELSE reltuples END)::float8 AS rows
    FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' GROUP BY 1`
  return new Map(rows.map((row) => [row.name, row.rows] as const))
})

const readInvalidIndexes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ name: string }>`
    SELECT indexrelid::regclass::text AS name FROM pg_index WHERE NOT indisvalid ORDER BY 1`
  return rows.map(({ name }) => name)
})

const read = Effect.gen(function* () {
  if (yield* hasFormerSchema) return yield* new CommandFailed({ message: formerSchema() })
  if (!(yield* isMigrated)) {
    return yield* new CommandFailed({
      message: `The database has no tables: there is nothing to upgrade. \`${commandLine("migrate")}\` creates them.`,
    })
  }
  const { newer, pending, skipped } = yield* Schema.readState
  const newest = Schema.knownMigrations.findLast((name) => !pending.includes(name) && !skipped.includes(name)) ?? ""
  const rows = yield* readRows
  return {
    ...wayTo(version, { newer, newest, skipped }),
    migrations: pending.flatMap((name) => {
      const impact = impacts[name]
      return impact === undefined ? [] : [planned(name, impact, (table) => rows.get(table) ?? 0)]
    }),
    invalidIndexes: yield* readInvalidIndexes,
  } satisfies Plan
}).pipe(Effect.provide(Database.connection("attach")))

/** Prints the plan. Fails if the upgrade is not supported. */
export const plan = Effect.fn(function* ({ json }: { readonly json: boolean }) {
  if (!(yield* databaseExists)) {
    return yield* new CommandFailed({ message: "There is no embedded database yet, so there is nothing to upgrade." })
  }
  const found: Plan = yield* read
  yield* Console.log(
    json ? JSON.stringify({ ...found, isSupported: found.obstacle === null }, null, 2) : planText(found),
  )
  if (found.obstacle !== null) return yield* new CommandFailed({ message: "This upgrade is not supported." })
  return undefined
})
