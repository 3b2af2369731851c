/** Assembles an edge: its origin, credentials and instances. It ends with its scope. */
import { Effect, Layer } from "effect"
import type { LocalOptions } from "../local/index.ts"
import { EdgeClock } from "./Clock.ts"
import { makeCredentialBook } from "./credentials/CredentialBook.ts"
import type { Credential } from "./credentials/Credential.ts"
import { readTokens } from "./credentials/TokensFile.ts"
import { Edge } from "./Edge.ts"
import { EdgeFailed } from "./Failure.ts"
import { openFolder } from "./instances/Folder.ts"
import { makeInstances } from "./instances/Instances.ts"
import { originRequestCounter } from "./Metrics.ts"
import { makeKeySets } from "./origin/KeySets.ts"
import { makeRequestQueue } from "./origin/RequestQueue.ts"
import { makeOrigin } from "./origin/Requests.ts"
import { reason } from "../infra/embedded/Errors.ts"

/** What an edge is started with. */
export interface EdgeOptions {
  /** The URL of the origin, without a path of its API. */
  readonly origin: string
  /** The path of the file of tokens. */
  readonly tokens: string
  readonly directory: string
  /** The keys by which snapshots are verified; without them, those that the origin publishes. */
  readonly keys: LocalOptions["keys"]
  readonly maxInstances: number
}

/** Takes a slot of the directory. It is free again when the edge has ended. */
const acquireFolder = ({ directory }: EdgeOptions) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: () => openFolder(directory),
      catch: (cause) =>
        new EdgeFailed({
          message: `The directory ${directory} cannot be used: ${reason(cause)}. Name one in which this user can make files.`,
        }),
    }),
    ({ unlock }) => Effect.sync(unlock),
  )

/** Logs from callbacks. */
const makeLog = Effect.map(Effect.context(), (context) => {
  const run = Effect.runForkWith(context)
  return {
    failure: (error: unknown): void => void run(Effect.logWarning("An edge cannot store or read a file", error)),
    feed: ({ id }: Credential, isOpen: boolean): void =>
      void run(
        (isOpen ? Effect.logInfo("Stream to the origin opened") : Effect.logWarning("Stream to the origin ended")).pipe(
          Effect.annotateLogs({ credential: id }),
        ),
      ),
    denied: ({ id, state }: Credential): void =>
      void run(
        (state.isDenied
          ? Effect.logWarning("Credential denied by the origin")
          : Effect.logInfo("Credential accepted")
        ).pipe(Effect.annotateLogs({ credential: id })),
      ),
  }
})

const make = Effect.fnUntraced(function* (options: EdgeOptions) {
  const { keys, maxInstances } = options
  const tokens = yield* readTokens(options.tokens)
  const folder = yield* acquireFolder(options)
  const log = yield* makeLog
  const countRequest = yield* originRequestCounter
  const clock = yield* EdgeClock
  const origin = makeOrigin(options.origin)
  const keySets = makeKeySets(folder, clock.monotonic)
  const connection = { origin, keySets, queue: makeRequestQueue(clock.monotonic), count: countRequest }
  const instances = makeInstances({ clock, keys, folder, maxInstances, onError: log.failure })
  const credentials = makeCredentialBook(
    {
      folder,
      clock,
      connection,
      onFeed: log.feed,
      onDenied: log.denied,
      // A license key is ready before its first request.
      onIdentity: (credential) => {
        const { instance } = credential.state.identity ?? {}
        if (instance !== undefined) void instances.use(credential, instance.slug)
        instances.settleStored(credential).catch(log.failure)
      },
      onError: log.failure,
    },
    instances.forget,
  )
  yield* Effect.addFinalizer(() =>
    Effect.promise(async () => {
      credentials.close()
      await instances.close()
      origin.close()
    }),
  )
  yield* Effect.promise(() => credentials.replace(tokens))
  return Edge.of({ origin, credentials, instances, keySets, countRequest })
})

/** An edge with these options. */
export const layer = (options: EdgeOptions) => Layer.effect(Edge, make(options))
