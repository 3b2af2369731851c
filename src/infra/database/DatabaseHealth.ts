/** The database's parts of readiness. */
import type { PgClient } from "@effect/sql-pg"
import { Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import { migrations } from "../../../migrations/index.ts"
import type { PartState } from "../../kernel/ports/HealthChecks.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { citusVersion, readNodes, readPlacement } from "./ClusterState.ts"
import type { Placement } from "./ClusterState.ts"
import { migrationsTable } from "./Migrations.ts"
import { losesPreparedStatements, PREPARED_STATEMENTS_LOST } from "./PreparedStatements.ts"
import { IS_READ_ONLY, ReadOnlyConnections } from "./ReadOnlyConnections.ts"

export const TIMEOUT = "2 seconds"

/** Nodes whose clocks differ by more would disagree on what has expired. */
const CLOCK_TOLERANCE_MS = 5_000

const newestMigration = Math.max(...Object.keys(migrations).map((name) => Number.parseInt(name, 10)))

export interface Parts {
  readonly [part: string]: PartState
}

type Access = "writable" | "read-only" | "standby"

/** Whether prepared statements get lost, checked at most once a minute. An uncertain result counts as no, and is checked again. */
export const preparedCheck = (sql: PgClient.PgClient) =>
  Effect.map(Effect.cachedInvalidateWithTTL(losesPreparedStatements(sql, TIMEOUT), "1 minute"), ([check, checkAgain]) =>
    Effect.flatMap(
      check,
      Option.match({ onNone: () => Effect.as(checkAgain, false), onSome: (isLost) => Effect.succeed(isLost) }),
    ),
  )

// A connection may differ from new ones: it keeps the setting with which it began.
const stateOf = (access: Access, tookMs: number, canNewOnesWrite: boolean): PartState => {
  if (access === "standby") return { status: "down", tookMs, reason: "standby: it accepts no changes" }
  if (access === "read-only" || !canNewOnesWrite) {
    return { status: "down", tookMs, reason: "read-only: it accepts no changes" }
  }
  return { status: "up", tookMs }
}

const placementProblem = ({ apart, misplaced, partitions, unguarded, withLocalTrigger }: Placement) => {
  const tables = [...misplaced, ...apart, ...partitions, ...unguarded, ...withLocalTrigger]
  return tables.length === 0 ? undefined : `undistributed: ${tables.length} tables, such as ${tables[0]}`
}

/**
 * Queries the nodes of a Citus cluster, at most once a minute. Returns none on plain PostgreSQL. It does not affect
 * readiness: while a worker is away, the organizations on the others are served.
 */
export const clusterPart = (sql: PgClient.PgClient) =>
  Effect.cachedWithTTL(
    Effect.gen(function* () {
      if (Option.isNone(yield* citusVersion)) return Option.none<PartState>()
      const away = (yield* readNodes).filter(({ answers }) => !answers).map(({ name }) => name)
      const reason = away.length > 0 ? `no response from ${away.join(", ")}` : placementProblem(yield* readPlacement)
      return Option.some<PartState>(reason === undefined ? { status: "up" } : { status: "down", reason })
    }).pipe(
      Effect.timeout("10 seconds"),
      Effect.catchCause(() => Effect.succeed(Option.some<PartState>({ status: "down", reason: "cannot be read" }))),
      Effect.provideService(SqlClient.SqlClient, sql),
    ),
    "1 minute",
  )

// Reads all database facts in one statement.
export const databaseParts = (sql: PgClient.PgClient, losesStatements: Effect.Effect<boolean>) =>
  Effect.gen(function* () {
    const connections = yield* ReadOnlyConnections
    const started = performance.now()
    const before = (yield* now).getTime()
    const [row] = yield* sql<{ millis: string; applied: number | null; access: Access }>`
      SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text AS millis,
        (SELECT max(migration_id)::int FROM ${sql(migrationsTable)}) AS applied,
        CASE WHEN pg_is_in_recovery() THEN 'standby'
          WHEN ${sql.literal(IS_READ_ONLY)} THEN 'read-only' ELSE 'writable' END AS access`
    const tookMs = Math.round(performance.now() - started)
    const offsetMs = Number(row?.millis) - before
    const applied = row?.applied ?? 0
    const access = row?.access ?? "writable"
    if (access !== "writable") connections.noticed()
    const parts: Parts = {
      database: (yield* losesStatements)
        ? { status: "down", tookMs, reason: PREPARED_STATEMENTS_LOST }
        : stateOf(access, tookMs, connections.canWrite()),
      // During an upgrade an older node works with a newer schema.
      schema: { status: applied >= newestMigration ? "up" : "down", applied, needed: newestMigration },
      clock: {
        status: offsetMs >= -CLOCK_TOLERANCE_MS && offsetMs - tookMs <= CLOCK_TOLERANCE_MS ? "up" : "down",
        offsetMs: Math.abs(offsetMs) <= tookMs ? 0 : offsetMs,
      },
    }
    return parts
  }).pipe(
    Effect.timeout(TIMEOUT),
    // The statement itself is prepared, so it can be one that was lost.
    Effect.catchCause(() =>
      Effect.map(losesStatements, (areLost): Parts => {
        const reason = areLost ? PREPARED_STATEMENTS_LOST : "no response within 2 seconds"
        return { database: { status: "down", reason } }
      }),
    ),
  )
