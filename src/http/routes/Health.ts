/**
 * Health: `/health/live` says that the process runs, and needs no part at all; `/health/ready` says whether it should get
 * requests, and names each part. A database that is away makes a process unready, never dead: a restart would not help.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { databaseParts, LIMIT } from "../../infra/database/DatabaseHealth.ts"
import type { Parts } from "../../infra/database/DatabaseHealth.ts"
import { HealthParts } from "../../kernel/ports/HealthChecks.ts"
import type { PartState } from "../../kernel/ports/HealthChecks.ts"
import { CurrentLifecycle } from "../../kernel/ports/Lifecycle.ts"
import type { Lifecycle } from "../../kernel/ports/Lifecycle.ts"
import { Signals } from "../../kernel/ports/Signals.ts"

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
