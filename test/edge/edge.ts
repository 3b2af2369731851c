/** Edges in this process, before a service that can be cut off. */
import { Context, Effect, Exit, Layer, Scope } from "effect"
import type { HttpServer } from "effect/http"
import { HttpServer as Server } from "effect/http"
import { chmod, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { EdgeClock } from "../../src/edge/Clock.ts"
import { Edge } from "../../src/edge/Edge.ts"
import { services } from "../../src/edge/Process.ts"
import { routes } from "../../src/edge/routes/Routes.ts"
import type { EdgeOptions } from "../../src/edge/Runtime.ts"
import * as Listeners from "../../src/http/Listeners.ts"
import { request } from "../support/http.ts"
import type { CallOptions } from "../support/http.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"

/** Writes a file of tokens that only its owner can read. */
export const tokensFile = (directory: string, tokens: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const path = join(directory, "tokens")
    await writeFile(path, `# tokens of this test\n${tokens.join("\n")}\n`)
    await chmod(path, 0o600)
    return path
  })

interface StartOptions extends Partial<Omit<EdgeOptions, "tokens">> {
  readonly origin: string
  readonly tokens: ReadonlyArray<string>
}

/** Starts an edge. It ends with the scope, or by `stop`. */
export const startEdge = Effect.fnUntraced(function* ({ directory, origin, tokens, ...more }: StartOptions) {
  const folder = directory ?? (yield* temporaryDirectory)
  const options: EdgeOptions = {
    origin,
    tokens: yield* tokensFile(folder, tokens),
    directory: join(folder, "state"),
    keys: undefined,
    maxInstances: 10_000,
    ...more,
  }
  const scope = yield* Scope.fork(yield* Effect.scope)
  const layer = Layer.fresh(
    Listeners.serve(routes, { host: "127.0.0.1", port: 0, setting: "none" }).pipe(
      Layer.provideMerge(services(options)),
    ),
  )
  const built = yield* Layer.buildWithScope(layer, scope)
  const { address } = Context.get(built as Context.Context<HttpServer.HttpServer>, Server.HttpServer)
  const url = `http://127.0.0.1:${"port" in address ? address.port : 0}`
  return {
    url,
    options,
    folder,
    edge: Context.get(built, Edge),
    call: (method: string, path: string, callOptions?: CallOptions) =>
      Effect.promise(() => request(method, url + path, callOptions)),
    stop: Scope.close(scope, Exit.void),
  }
})

/** What an edge can spend of an entitlement without its origin. */
export const unspentAt = ({ edge: { instances } }: { readonly edge: Edge["Service"] }, entitlement: string): number =>
  Array.from(instances.spenders())
    .flatMap(({ local }) => local.ledger.status().tranches)
    .filter((tranche) => tranche.entitlement === entitlement)
    .reduce((sum, { unspent }) => sum + Number(unspent), 0)

/** The clock of the machine, which a test can advance. */
export const movableClock = Effect.map(EdgeClock, (system) => {
  const passed = { millis: 0 }
  return {
    pass: (millis: number) => void (passed.millis += millis),
    clock: {
      ...system,
      wall: () => system.wall() + passed.millis,
      monotonic: () => system.monotonic() + passed.millis,
    },
  }
})

/** A response to a check without its instant. */
export const withoutInstant = (text: string): string => text.replace(/"at":"[^"]+"/, '"at":""')

/** The parts of a response that are the same for the same request. */
export const comparable = ({ status, text }: { readonly status: number; readonly text: string }) => [
  status,
  withoutInstant(text).replace(/"errorId":"[^"]+"/, ""),
]
