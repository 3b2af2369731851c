/**
 * Health checks. `/health/live` reports that the process runs and depends on nothing else. `/health/ready` reports
 * whether it should receive requests, with the state of each part. An unreachable database makes a process unready but
 * keeps it live, because a restart would not help.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Option } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { PlatformHealthApi } from "../../api/PlatformHealthApi.ts"
import { clusterPart, databaseParts, preparedCheck, TIMEOUT } from "../../infra/database/DatabaseHealth.ts"
import type { Parts } from "../../infra/database/DatabaseHealth.ts"
import { ReadOnlyConnections } from "../../infra/database/ReadOnlyConnections.ts"
import { version } from "../../infra/Version.ts"
import * as Apis from "../../kernel/contract/Apis.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
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

const failingIn = (required: Parts): ReadonlyArray<string> =>
  Object.entries(required).flatMap(([name, { status }]) => (status === "up" ? [] : [name]))

interface State {
  /** Readiness needs them. */
  readonly required: Parts
  readonly others: Parts
}

const toResponse = ({ others, required }: State) => {
  const failing = failingIn(required)
  const parts = { ...required, ...others }
  return failing.length === 0
    ? HttpServerResponse.jsonUnsafe({ status: "ready", parts })
    : HttpServerResponse.text(JSON.stringify({ detail: `Not ready: ${failing.join(", ")}.`, parts }), {
        status: 503,
        contentType: "application/problem+json",
      })
}

/** Reads the state of this process's parts. Those that it needs come first; the others do not affect readiness. */
const stateOf = Effect.gen(function* () {
  const lifecycle = yield* CurrentLifecycle
  const registered = yield* HealthChecks
  const sql = yield* PgClient.PgClient
  const { listening } = yield* Signals
  // Handlers of the APIs inherit no service, so that it is provided here.
  const connections = yield* ReadOnlyConnections
  const readDatabase = Effect.provideService(
    databaseParts(sql, yield* preparedCheck(sql)),
    ReadOnlyConnections,
    connections,
  )
  const readCluster = yield* clusterPart(sql)
  return Effect.gen(function* () {
    const [database, cluster, registeredOthers] = yield* Effect.all(
      [readDatabase, readCluster, registeredParts(registered)],
      { concurrency: "unbounded" },
    )
    const signals = signalsPart(yield* listening)
    const others = { signals, ...Option.match(cluster, { onNone: () => ({}), onSome: (citus) => ({ citus }) }) }
    const state: State = {
      required: { process: processPart(lifecycle), ...database },
      others: { ...others, ...registeredOthers },
    }
    return state
  })
})

/** `GET /health/live` and `GET /health/ready`. Probes are not traced. */
export const routes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const state = yield* stateOf
    yield* router.add("GET", "/health/live", HttpServerResponse.jsonUnsafe({ status: "alive" }))
    yield* router.add("GET", "/health/ready", Effect.map(state, toResponse).pipe(Effect.withTracerEnabled(false)))
  }),
)

/** `GET /platform/health`: the same for the operator's console. There, a process that is not ready is not an error. */
export const platformHealth = handlersOf(
  Apis.platform(PlatformHealthApi),
  "platformHealth",
  Effect.fn(function* (handlers) {
    const state = yield* stateOf
    return handlers.handleAll({
      get: () =>
        Effect.map(state, ({ others, required }) => ({
          status: failingIn(required).length === 0 ? ("ready" as const) : ("not_ready" as const),
          version,
          parts: { ...required, ...others },
        })),
    })
  }),
)
