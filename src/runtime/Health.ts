/**
 * Health checks. `/health/live` reports that the process runs and depends on nothing else. `/health/ready` reports
 * whether it should receive requests, with the state of each part. An unreachable database makes a process unready but
 * keeps it live, because a restart would not help.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { migrations } from "../../migrations/index.ts"
import { HealthParts } from "../kernel/HealthParts.ts"
import type { PartState } from "../kernel/HealthParts.ts"
import { Signals } from "../kernel/Signals.ts"
import { now } from "../kernel/Timestamp.ts"
import { migrationsTable } from "./Database.ts"

/** Phase of the process. It should receive requests only while `serving`. */
export interface Lifecycle {
  phase: "starting" | "serving" | "draining"
}

/** The {@link Lifecycle} of this process. */
export const CurrentLifecycle = Context.Reference<Lifecycle>("keyshelf.reference/runtime/Lifecycle", {
  defaultValue: () => ({ phase: "serving" }),
})

/** Initial state of a starting process, with no registered parts. */
export const layer = Layer.mergeAll(
  Layer.sync(CurrentLifecycle, () => ({ phase: "starting" as const })),
  Layer.sync(HealthParts, () => new Map()),
)

/** Sets the phase to `serving`, and to `draining` when the scope closes. */
export const serving = Effect.flatMap(CurrentLifecycle, (lifecycle) =>
  Effect.acquireRelease(
    Effect.sync(() => void (lifecycle.phase = "serving")),
    () => Effect.sync(() => void (lifecycle.phase = "draining")),
  ),
)

const TIMEOUT = "2 seconds"

/** Nodes whose clocks differ by more would disagree on what has expired. */
const CLOCK_TOLERANCE_MS = 5_000

const newestMigration = Math.max(...Object.keys(migrations).map((name) => Number.parseInt(name, 10)))

interface Parts {
  readonly [part: string]: PartState
}

// Reads all database facts in one statement.
const databaseParts = (sql: PgClient.PgClient) =>
  Effect.gen(function* () {
    const started = performance.now()
    const before = (yield* now).getTime()
    const [row] = yield* sql<{ millis: string; applied: number | null }>`
      SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text AS millis,
        (SELECT max(migration_id)::int FROM ${sql(migrationsTable)}) AS applied`
    const tookMs = Math.round(performance.now() - started)
    const offsetMs = Number(row?.millis) - before
    const applied = row?.applied ?? 0
    const parts: Parts = {
      database: { status: "up", tookMs },
      // During an upgrade an older node sees a newer schema, and works with it.
      schema: { status: applied >= newestMigration ? "up" : "down", applied, needed: newestMigration },
      clock: {
        status: offsetMs >= -CLOCK_TOLERANCE_MS && offsetMs - tookMs <= CLOCK_TOLERANCE_MS ? "up" : "down",
        offsetMs: Math.abs(offsetMs) <= tookMs ? 0 : offsetMs,
      },
    }
    return parts
  }).pipe(
    Effect.timeout(TIMEOUT),
    Effect.catchCause(() =>
      Effect.succeed<Parts>({ database: { status: "down", reason: "no response within 2 seconds" } }),
    ),
  )

const processPart = ({ phase }: Lifecycle): PartState => ({ status: phase === "serving" ? "up" : "down", phase })

// Without signals from other nodes, waiters poll.
const signalsPart = (listening: boolean): PartState => ({ status: "up", mode: listening ? "listening" : "polling" })

const registeredParts = (registered: ReadonlyMap<string, Effect.Effect<PartState>>) =>
  Effect.map(
    Effect.forEach(
      registered,
      ([name, state]) =>
        state.pipe(
          Effect.timeout(TIMEOUT),
          Effect.catchCause(() => Effect.succeed<PartState>({ status: "down", reason: "no response" })),
          Effect.map((state) => [name, state] as const),
        ),
      { concurrency: "unbounded" },
    ),
    (states): Parts => Object.fromEntries(states),
  )

const toResponse = (required: Parts, others: Parts) => {
  const failing = Object.entries(required).flatMap(([name, { status }]) => (status === "up" ? [] : [name]))
  const parts = { ...required, ...others }
  return failing.length === 0
    ? HttpServerResponse.jsonUnsafe({ status: "ready", parts })
    : HttpServerResponse.text(JSON.stringify({ detail: `Not ready: ${failing.join(", ")}.`, parts }), {
        status: 503,
        contentType: "application/problem+json",
      })
}

/** `GET /health/live` and `GET /health/ready`. Probes are not traced. */
export const routes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const lifecycle = yield* CurrentLifecycle
    const registered = yield* HealthParts
    const sql = yield* PgClient.PgClient
    const { listening } = yield* Signals
    const ready = Effect.gen(function* () {
      // Optional parts are reported but do not affect readiness.
      const [required, others] = yield* Effect.all([databaseParts(sql), registeredParts(registered)], {
        concurrency: "unbounded",
      })
      const signals = signalsPart(yield* listening)
      return toResponse({ process: processPart(lifecycle), ...required }, { signals, ...others })
    }).pipe(Effect.withTracerEnabled(false))
    yield* router.add("GET", "/health/live", HttpServerResponse.jsonUnsafe({ status: "alive" }))
    yield* router.add("GET", "/health/ready", ready)
  }),
)
