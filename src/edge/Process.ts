/** Runs an edge: its listener, and the signal that reads the file of tokens again. */
import { Console, Effect, Layer, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { StreamTickets } from "../domains/flags/ofrep/streams/Tickets.ts"
import * as Listeners from "../http/Listeners.ts"
import * as RequestDeadlines from "../http/middleware/RequestDeadlines.ts"
import { hostInUrl } from "../infra/HostUrl.ts"
import * as KeyRing from "../infra/KeyRing.ts"
import * as SecretBox from "../infra/SecretBox.ts"
import * as Logging from "../infra/telemetry/Logging.ts"
import * as ProcessMetrics from "../infra/telemetry/ProcessMetrics.ts"
import { CurrentLifecycle } from "../kernel/ports/Lifecycle.ts"
import { Shutdown } from "../kernel/ports/Shutdown.ts"
import { readTokens } from "./credentials/TokensFile.ts"
import { Edge } from "./Edge.ts"
import * as EdgeMetrics from "./Metrics.ts"
import { routes } from "./routes/Routes.ts"
import * as EdgeStreams from "./routes/EdgeStreams.ts"
import * as Runtime from "./Runtime.ts"
import type { EdgeOptions } from "./Runtime.ts"

/** An edge, and where it listens. */
interface EdgeProcessOptions extends EdgeOptions {
  readonly host: string
  readonly port: number
}

const KEY_BYTES = 32

/** Tickets of streams work until this process ends. Clients evaluate again, and get new ones. */
const tickets = Effect.sync(() =>
  StreamTickets.layer.pipe(
    Layer.provide(SecretBox.layer),
    Layer.provide(KeyRing.layerFrom([{ id: "edge", bytes: Redacted.make(randomBytes(KEY_BYTES)) }])),
  ),
).pipe(Layer.unwrap)

/** What the routes of an edge need. */
export const services = (options: EdgeOptions) =>
  Layer.merge(EdgeStreams.layer, Layer.effectDiscard(EdgeMetrics.register)).pipe(
    Layer.provideMerge(Runtime.layer(options)),
    Layer.provideMerge(tickets),
    Layer.provideMerge(Shutdown.layer),
  )

/** Reads the file of tokens again. If it cannot be used, the credentials stay as they are. */
const reloadTokens = Effect.fnUntraced(function* (path: string) {
  const { credentials } = yield* Edge
  yield* readTokens(path).pipe(
    Effect.flatMap((tokens) => Effect.promise(() => credentials.replace(tokens))),
    Effect.andThen(Effect.logInfo("Tokens read again")),
    Effect.catch((error) => Effect.logError(`Tokens not read again: ${error.message}`)),
  )
})

/** Runs work at each SIGHUP, one after the other. */
const onHangUp = <E, R>(work: Effect.Effect<void, E, R>) =>
  Effect.callback<void>((resume) => {
    const done = () => resume(Effect.void)
    process.once("SIGHUP", done)
    return Effect.sync(() => process.removeListener("SIGHUP", done))
  }).pipe(Effect.andThen(work), Effect.forever)

const serving = Effect.flatMap(CurrentLifecycle, (lifecycle) =>
  Effect.acquireRelease(
    Effect.sync(() => void (lifecycle.phase = "serving")),
    () => Effect.sync(() => void (lifecycle.phase = "draining")),
  ),
)

/** Runs an edge until it is interrupted. Its listener then finishes its requests. */
export const runEdge = (options: EdgeProcessOptions) => {
  const { host, origin, port, tokens } = options
  return Effect.gen(function* () {
    yield* Layer.build(Listeners.serve(routes, { host, port, setting: "--port or KEYSHELF_EDGE_PORT" }))
    yield* serving
    yield* Effect.forkScoped(onHangUp(reloadTokens(tokens)))
    yield* Console.log(
      `Keyshelf edge is ready.\n  API     http://${hostInUrl(host)}:${port}/api\n  Origin  ${origin}\n`,
    )
    return yield* Effect.never
  }).pipe(
    Effect.scoped,
    Effect.provide(services(options)),
    Effect.provide(
      Layer.mergeAll(
        Layer.sync(CurrentLifecycle, () => ({ phase: "starting" as const })),
        RequestDeadlines.layer,
        ProcessMetrics.layer,
      ),
    ),
    Effect.provide(Logging.layer),
  )
}
