/**
 * Health: `/health/live` says that the process runs, and needs no part at all; `/health/ready` says whether it should get
 * requests, and names each part. A database that is away makes a process unready, never dead: a restart would not help.
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

/** Where the process is in its life. It should get requests only in between. */
export interface Lifecycle {
  phase: "starting" | "serving" | "draining"
}

/** The {@link Lifecycle} of this process. */
export const CurrentLifecycle = Context.Reference<Lifecycle>("keyshelf.reference/runtime/Lifecycle", {
  defaultValue: () => ({ phase: "serving" }),
})

/** A process that is about to start, with nothing registered yet. */
export const layer = Layer.mergeAll(
  Layer.sync(CurrentLifecycle, () => ({ phase: "starting" as const })),
  Layer.sync(HealthParts, () => new Map()),
)

/** The process serves from here on, and drains once the scope closes. */
export const serving = Effect.flatMap(CurrentLifecycle, (lifecycle) =>
  Effect.acquireRelease(
    Effect.sync(() => void (lifecycle.phase = "serving")),
    () => Effect.sync(() => void (lifecycle.phase = "draining")),
  ),
)

const LIMIT = "2 seconds"

/** Clocks further apart decide differently about what has expired. */
const CLOCK_TOLERANCE_MS = 5_000

const newest = Math.max(...Object.keys(migrations).map((name) => Number.parseInt(name, 10)))

interface Parts {
  readonly [part: string]: PartState
}

// One statement for all that the database can tell.
const databaseParts = (sql: PgClient.PgClient) =>
  Effect.gen(function* () {
    const started = performance.now()
    const asked = (yield* now).getTime()
    const [row] = yield* sql<{ millis: string; applied: number | null }>`
      SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text AS millis,
        (SELECT max(migration_id)::int FROM ${sql(migrationsTable)}) AS applied`
    const tookMs = Math.round(performance.now() - started)
    const offsetMs = Number(row?.millis) - asked
    const applied = row?.applied ?? 0
    const parts: Parts = {
      database: { status: "up", tookMs },
      // A newer schema is what an older node sees during an upgrade, and can work with.
      schema: { status: applied >= newest ? "up" : "down", applied, needed: newest },
      clock: {
        status: offsetMs >= -CLOCK_TOLERANCE_MS && offsetMs - tookMs <= CLOCK_TOLERANCE_MS ? "up" : "down",
        offsetMs: Math.abs(offsetMs) <= tookMs ? 0 : offsetMs,
      },
    }
    return parts
  }).pipe(
    Effect.timeout(LIMIT),
    Effect.catchCause(() =>
      Effect.succeed<Parts>({ database: { status: "down", reason: "does not answer within 2 seconds" } }),
    ),
  )

const processPart = ({ phase }: Lifecycle): PartState => ({ status: phase === "serving" ? "up" : "down", phase })

// Without signals of other nodes, waiters poll.
const signalsPart = (listening: boolean): PartState => ({ status: "up", mode: listening ? "listening" : "polling" })

const registeredParts = (registered: ReadonlyMap<string, Effect.Effect<PartState>>) =>
  Effect.map(
    Effect.forEach(
      registered,
      ([name, state]) =>
        state.pipe(
          Effect.timeout(LIMIT),
          Effect.catchCause(() => Effect.succeed<PartState>({ status: "down", reason: "does not answer" })),
          Effect.map((state) => [name, state] as const),
        ),
      { concurrency: "unbounded" },
    ),
    (states): Parts => Object.fromEntries(states),
  )

const answer = (required: Parts, others: Parts) => {
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
      // What the process can do without is told, but not decisive.
      const [required, others] = yield* Effect.all([databaseParts(sql), registeredParts(registered)], {
        concurrency: "unbounded",
      })
      const signals = signalsPart(yield* listening)
      return answer({ process: processPart(lifecycle), ...required }, { signals, ...others })
    }).pipe(Effect.withTracerEnabled(false))
    yield* router.add("GET", "/health/live", HttpServerResponse.jsonUnsafe({ status: "alive" }))
    yield* router.add("GET", "/health/ready", ready)
  }),
)
