/** Checks the database: the server and its connections, the schema, the clock and the partitions. */
import { PgClient } from "@effect/sql-pg"
import { Clock, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import { maxConnections } from "../../infra/database/DedicatedConnections.ts"
import { formerSchema, hasFormerSchema, isMigrated } from "../../infra/database/Migrations.ts"
import { losesPreparedStatements, PREPARED_STATEMENTS_LOST } from "../../infra/database/PreparedStatements.ts"
import { Settings } from "../../infra/Settings.ts"
import { DAY_MS } from "../../kernel/values/Timestamp.ts"
import { hasCitus } from "../../kernel/database/Statements.ts"
import * as Schema from "../database/Schema.ts"
import { failed, ok, warning } from "./Report.ts"
import type { Check, Finding } from "./Report.ts"
import { commandLine } from "../../infra/PackageFiles.ts"

const HEADROOM_DAYS = 2
const CLOCK_TOLERANCE_MS = 1_000

// Without vacuum, reading the outbox passes over the dead tuples of every event that it ever contained.
const AUTOVACUUM_OFF = warning(
  "database",
  "autovacuum is off: dead tuples stay in the tables, and queues and counters become slower over time. Turn it on.",
)

type OnDatabase = Check<SqlClient.SqlClient>

/**
 * Checks the server's version, whether it has enough free connections for this process, and whether autovacuum is on.
 */
export const server: Check<SqlClient.SqlClient | Settings> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { databasePoolSize } = yield* Settings
  const [row] = yield* sql<{ version: string; autovacuum: string; max: number; reserved: number; used: number }>`
    SELECT current_setting('server_version') AS version, current_setting('autovacuum') AS autovacuum,
      current_setting('max_connections')::int AS max,
      current_setting('superuser_reserved_connections')::int AS reserved,
      (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::int AS used`
  if (row === undefined) return []
  const free = row.max - row.reserved - row.used
  const wanted = maxConnections(databasePoolSize, yield* hasCitus(sql))
  const figures = `${row.used} of ${row.max} connections in use, this process opens up to ${wanted}`
  return [
    ok("database", `PostgreSQL ${row.version} responds`),
    free < wanted
      ? warning("database", `${figures}: lower SERVICE_DATABASE_POOL_SIZE, raise max_connections, or use PgBouncer.`)
      : ok("database", figures),
    ...(row.autovacuum === "off" ? [AUTOVACUUM_OFF] : []),
  ]
}).pipe(Effect.orDie)

/** Checks that prepared statements last, which they do not behind a pooler in transaction mode. Waits longer than a probe of readiness. */
export const preparedStatements: Check<PgClient.PgClient> = Effect.gen(function* () {
  return Option.match(yield* losesPreparedStatements(yield* PgClient.PgClient, "30 seconds"), {
    onNone: () => [
      warning(
        "database",
        `Whether prepared statements last could not be found out: the database did not respond within 30 seconds, or a pooler has only one session. Run \`${commandLine("doctor")}\` again.`,
      ),
    ],
    onSome: (areLost) => (areLost ? [failed("database", `Requests will fail: ${PREPARED_STATEMENTS_LOST}.`)] : []),
  })
})

const notMigrated = () =>
  warning(
    "migrations",
    `The database is not migrated yet: it has no tables. \`${commandLine("migrate")}\` or the next start creates them.`,
  )

/** Checks for pending, skipped and unknown migrations. */
export const schema: OnDatabase = Effect.gen(function* () {
  if (yield* hasFormerSchema) return [failed("migrations", formerSchema())]
  if (!(yield* isMigrated)) return [notMigrated()]
  const { newer, pending, skipped } = yield* Schema.readState
  const findings: Array<Finding> = []
  if (skipped.length > 0) {
    findings.push(
      failed(
        "migrations",
        `${skipped.join(", ")} was skipped although newer migrations are applied: a different build created the database. Restore a backup, or apply it by hand.`,
      ),
    )
  }
  if (newer.length > 0) {
    findings.push(
      warning(
        "migrations",
        `The database is ahead of this version (${newer.join(", ")}). Run the version that migrated it.`,
      ),
    )
  }
  if (pending.length > 0) {
    findings.push(
      warning(
        "migrations",
        `${pending.length} pending: ${pending.join(", ")}. \`${commandLine("migrate")}\` or the next start applies them.`,
      ),
    )
  }
  return findings.length > 0 ? findings : [ok("migrations", `all ${Schema.knownMigrations.length} are applied`)]
}).pipe(Effect.orDie)

/** Checks how far this machine's clock is from the database's. */
export const clock: OnDatabase = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const before = yield* Clock.currentTimeMillis
  const [row] = yield* sql<{ millis: string }>`
    SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text AS millis`
  const after = yield* Clock.currentTimeMillis
  const offset = Math.round((before + after) / 2 - Number(row?.millis))
  const text = `This machine is ${Math.abs(offset)} ms ${offset < 0 ? "behind" : "ahead of"} the database`
  return [
    Math.abs(offset) > CLOCK_TOLERANCE_MS
      ? warning("clock", `${text}. The service uses the database's clock; synchronize this machine's with NTP.`)
      : ok("clock", text),
  ]
}).pipe(Effect.orDie)

/** Checks for how many days ahead the webhook history has partitions. */
export const partitions: OnDatabase = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ bound: string }>`
    SELECT pg_get_expr(child.relpartbound, child.oid) AS bound
    FROM pg_inherits JOIN pg_class child ON child.oid = inhrelid
    WHERE inhparent = to_regclass('webhook_attempts')`
  const ends = rows.flatMap(({ bound }) => {
    const end = /TO \('([^']+)'\)/.exec(bound)?.[1]
    return end === undefined ? [] : [Date.parse(end.replace(" ", "T").replace(/([+-]\d\d)$/, "$1:00"))]
  })
  const remedy = "A process with the webhooks and dispatcher roles creates them; see its log."
  if (ends.length === 0) return [warning("partitions", `The webhook history has no partitions yet. ${remedy}`)]
  const days = (Math.max(...ends) - (yield* Clock.currentTimeMillis)) / DAY_MS
  const text = `The webhook history has partitions for ${Math.max(0, Math.floor(days))} more days`
  if (days <= 0) return [failed("partitions", `${text}: attempts cannot be recorded. ${remedy}`)]
  return [days < HEADROOM_DAYS ? warning("partitions", `${text}. ${remedy}`) : ok("partitions", text)]
}).pipe(Effect.orDie)
