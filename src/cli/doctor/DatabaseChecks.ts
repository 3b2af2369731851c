/** The database: reachable, new enough, with room for connections, its schema, clock and partitions. */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { mostConnections } from "../../infra/database/DedicatedConnections.ts"
import { Settings } from "../../infra/Settings.ts"
import * as Schema from "../Schema.ts"
import { failed, ok, warning } from "./Report.ts"
import type { Check, Finding } from "./Report.ts"

const DAY = 86_400_000
const HEADROOM_DAYS = 2
const CLOCK_TOLERANCE_MS = 1_000

// A look into the outbox passes over every event that was ever in it.
const UNCLEANED = warning(
  "database",
  "autovacuum is off: what was changed and deleted stays in the tables, and queues and counters get slower and slower. Turn it on.",
)

type OnDatabase = Check<SqlClient.SqlClient>

/** The server's version, whether this process finds room among its connections, and whether it cleans up behind changes. */
export const server: Check<SqlClient.SqlClient | Settings> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { databasePoolSize } = yield* Settings
  const [row] = yield* sql<{ version: string; autovacuum: string; most: number; reserved: number; used: number }>`
    SELECT current_setting('server_version') AS version, current_setting('autovacuum') AS autovacuum,
      current_setting('max_connections')::int AS most,
      current_setting('superuser_reserved_connections')::int AS reserved,
      (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::int AS used`
  if (row === undefined) return []
  const left = row.most - row.reserved - row.used
  const wanted = mostConnections(databasePoolSize)
  const figures = `${row.used} of ${row.most} connections in use, this process opens up to ${wanted}`
  return [
    ok("database", `PostgreSQL ${row.version} answers`),
    left < wanted
      ? warning(
          "database",
          `${figures}: lower SERVICE_DATABASE_POOL_SIZE, raise max_connections, or put PgBouncer between.`,
        )
      : ok("database", figures),
    ...(row.autovacuum === "off" ? [UNCLEANED] : []),
  ]
}).pipe(Effect.orDie)

/** Applied, missing and unknown migrations. */
export const schema: OnDatabase = Effect.gen(function* () {
  const { newer, pending, skipped } = yield* Schema.state
  const findings: Array<Finding> = []
  if (skipped.length > 0) {
    findings.push(
      failed(
        "migrations",
        `${skipped.join(", ")} was never applied although newer ones were: the database was made by another edition. Restore a backup, or apply it by hand.`,
      ),
    )
  }
  if (newer.length > 0) {
    findings.push(
      warning(
        "migrations",
        `The database is ahead of this version (${newer.join(", ")}). Run the version that made it.`,
      ),
    )
  }
  if (pending.length > 0) {
    findings.push(
      warning(
        "migrations",
        `${pending.length} to apply: ${pending.join(", ")}. \`keyshelf migrate\` or the next start does it.`,
      ),
    )
  }
  return findings.length > 0 ? findings : [ok("migrations", `all ${Schema.known.length} are applied`)]
}).pipe(Effect.orDie)

/** How far this machine's clock is off the database's. */
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
      ? warning("clock", `${text}. The service goes by the database's clock; set this machine's by NTP.`)
      : ok("clock", text),
  ]
}).pipe(Effect.orDie)

/** How many days of partitions the webhook history has ahead. */
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
  const remedy = "A process with the webhooks and dispatcher roles makes them; see its log."
  if (ends.length === 0) return [warning("partitions", `The webhook history has no partition yet. ${remedy}`)]
  const days = (Math.max(...ends) - (yield* Clock.currentTimeMillis)) / DAY
  const text = `The webhook history has partitions for ${Math.max(0, Math.floor(days))} more days`
  if (days <= 0) return [failed("partitions", `${text}: attempts cannot be recorded. ${remedy}`)]
  return [days < HEADROOM_DAYS ? warning("partitions", `${text}. ${remedy}`) : ok("partitions", text)]
}).pipe(Effect.orDie)
