/**
 * Health checks. `/health/live` reports that the process runs and depends on nothing else. `/health/ready` reports
 * whether it should receive requests, with the state of each part. An unreachable database makes a process unready but
 * keeps it live, because a restart would not help.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { databaseParts, TIMEOUT } from "../../infra/database/DatabaseHealth.ts"
import type { Parts } from "../../infra/database/DatabaseHealth.ts"
import { HealthChecks } from "../../kernel/ports/HealthChecks.ts"
import type { PartState } from "../../kernel/ports/HealthChecks.ts"
import { CurrentLifecycle } from "../../kernel/ports/Lifecycle.ts"
import type { Lifecycle } from "../../kernel/ports/Lifecycle.ts"
import { Signals } from "../../kernel/ports/Signals.ts"

/** Initial state of a starting process, with no registered parts. */
export const layer = Layer.mergeAll(
  Layer.sync(CurrentLifecycle, () => ({ phase: "starting" as const })),
  Layer.sync(HealthChecks, () => new Map()),
)

/** Sets the phase to `serving`, and to `draining` when the scope closes. */
export const serving = Effect.flatMap(CurrentLifecycle, (lifecycle) =>
  Effect.acquireRelease(
    Effect.sync(() => void (lifecycle.phase = "serving")),
    () => Effect.sync(() => void (lifecycle.phase = "draining")),
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
    const registered = yield* HealthChecks
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
