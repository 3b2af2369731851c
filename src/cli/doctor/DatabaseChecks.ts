/** The database: reachable, new enough, with room for connections, its schema, clock, partitions and keys. */
import { Clock, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { Settings } from "../../runtime/Settings.ts"
import * as Schema from "../Schema.ts"
import { failed, ok, warning } from "./Report.ts"
import type { Check, Finding } from "./Report.ts"

const DAY = 86_400_000
const HEADROOM_DAYS = 2
const CLOCK_TOLERANCE_MS = 1_000

type OnDatabase = Check<SqlClient.SqlClient>

/** The server's version, and whether this process finds room among its connections. */
export const server: Check<SqlClient.SqlClient | Settings> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { databasePoolSize } = yield* Settings
  const [row] = yield* sql<{ version: string; most: number; reserved: number; used: number }>`
    SELECT current_setting('server_version') AS version, current_setting('max_connections')::int AS most,
      current_setting('superuser_reserved_connections')::int AS reserved,
      (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::int AS used`
  if (row === undefined) return []
  const left = row.most - row.reserved - row.used
  const figures = `${row.used} of ${row.most} connections in use, this process opens up to ${databasePoolSize}`
  return [
    ok("database", `PostgreSQL ${row.version} answers`),
    left < databasePoolSize
      ? warning(
          "database",
          `${figures}: lower SERVICE_DATABASE_POOL_SIZE, raise max_connections, or put PgBouncer between.`,
        )
      : ok("database", figures),
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

/** The ids of the keys that this installation holds, first the one that encrypts. Does not make the key file. */
const heldKeys = Effect.gen(function* () {
  const settings = yield* Settings
  if (Option.isSome(settings.secretKeys)) return settings.secretKeys.value.map(({ id }) => id)
  const text = yield* Effect.promise(() =>
    readFile(join(settings.dataDir, "secret-key"), "utf8").catch(() => undefined),
  )
  return text !== undefined && Buffer.from(text.trim(), "base64").length === 32 ? ["default"] : []
})

interface KeyUse {
  readonly what: string
  readonly key: string
  readonly count: number
}

const usedKeys = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [present] = yield* sql<{ found: boolean }>`SELECT to_regclass('credentials') IS NOT NULL AS found`
  if (present?.found !== true) return []
  const at = new Date(yield* Clock.currentTimeMillis)
  const tokens = yield* sql<KeyUse>`
    SELECT 'tokens' AS what, pepper_id AS key, count(*)::int AS count FROM credentials
    WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${at}) GROUP BY pepper_id`
  // Whatever a table keeps in a column "sealed" was sealed as v1.<key id>.<nonce>.<text>.
  const tables = yield* sql<{ name: string }>`
    SELECT table_name AS name FROM information_schema.columns
    WHERE table_schema = current_schema() AND column_name = 'sealed' ORDER BY table_name`
  const sealed: Array<KeyUse> = []
  for (const { name } of tables) {
    sealed.push(
      ...(yield* sql<KeyUse>`
        SELECT ${name}::text AS what, split_part(sealed, '.', 2) AS key, count(*)::int AS count FROM ${sql(name)}
        GROUP BY 2`),
    )
  }
  return [...tokens, ...sealed]
})

const listed = (uses: ReadonlyArray<KeyUse>) => uses.map(({ count, what }) => `${count} ${what}`).join(", ")

/** Whether every key that stored tokens and secrets need is held, and which old ones are still needed. */
export const keys: Check<SqlClient.SqlClient | Settings> = Effect.gen(function* () {
  const held = yield* heldKeys
  const uses = yield* usedKeys
  if (held.length === 0) {
    return uses.length === 0
      ? [ok("keys", "No key yet, and nothing that needs one: the first start makes it")]
      : [
          failed(
            "keys",
            "There is no secret key, but tokens and secrets were stored with one. Restore it from a backup.",
          ),
        ]
  }
  const [current, ...old] = held
  const findings: Array<Finding> = [ok("keys", `The key "${current}" hashes and encrypts`)]
  for (const key of new Set(uses.map((use) => use.key))) {
    const those = uses.filter((use) => use.key === key)
    if (!held.includes(key)) {
      findings.push(
        failed(
          "keys",
          `The key "${key}" is missing, and ${listed(those)} need it. Put it back into SERVICE_SECRET_KEY.`,
        ),
      )
    } else if (key !== current) {
      findings.push(ok("keys", `The old key "${key}" is still needed by ${listed(those)}`))
    }
  }
  for (const key of old.filter((id) => !uses.some((use) => use.key === id))) {
    findings.push(ok("keys", `The old key "${key}" is needed by nothing any more and can be taken out`))
  }
  return findings
}).pipe(Effect.orDie)
