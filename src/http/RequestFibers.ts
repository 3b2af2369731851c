/**
 * Releases the requests that have ended. The listener's scope has a finalizer for each request in flight, so that closing it ends them.
 * It keeps them in one map for as long as there are any, which replaces its table again and again. V8 keeps the tables that it
 * replaced: once one is old, it holds on to the next, and so to every later request with all that it used. They are then copied
 * by two minor collections and promoted to the old generation (`test/guard/Survivors.process.test.ts`).
 */
import { Effect, Scope } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"

/** How many requests use a map. A map that is replaced this often does not become old. */
const REQUESTS_PER_MAP = 64

// The finalizer of a scope that was opened in another has that scope as its key.
const isScope = (key: object): key is Scope.Scope => "strategy" in key && "state" in key

/** The scope in which a listener runs its requests: the only one that serving has opened in `scope`. */
const scopeOfRequests = ({ state }: Scope.Scope): Scope.Scope | undefined => {
  if (state._tag !== "Open") return undefined
  const keys = state.finalizers === undefined ? [state.finalizerKey ?? {}] : [...state.finalizers.keys()]
  return keys.find(isScope)
}

const renewMap = ({ state }: Scope.Scope): void => {
  if (state._tag === "Open" && state.finalizers !== undefined) state.finalizers = new Map(state.finalizers)
}

type Handler = Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  unknown,
  HttpServerRequest.HttpServerRequest | Scope.Scope
>

/** Serves requests by a handler, and keeps none of them once it has ended. */
export const forgettingRequests = (
  handler: Handler,
  serve: (handler: Handler) => Effect.Effect<void, never, Scope.Scope>,
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.flatMap(Effect.scope, (parent) => {
    const own = Scope.forkUnsafe(parent)
    let requests: Scope.Scope | undefined
    let count = 0
    const counted = Effect.suspend(() => {
      if (++count % REQUESTS_PER_MAP === 0 && requests !== undefined) renewMap(requests)
      return handler
    })
    return serve(counted).pipe(
      Effect.andThen(Effect.sync(() => void (requests = scopeOfRequests(own)))),
      Scope.provide(own),
    )
  })
