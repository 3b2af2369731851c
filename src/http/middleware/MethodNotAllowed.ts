/**
 * Known path, wrong method: 405 with `Allow` (contract, section 2), derived from the API's own endpoints and told for the
 * pages and probes that belong to no API.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApi } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"

const all = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY", "TRACE"] as const

/** The methods of each path of an API. */
export const methodsByPath = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
): ReadonlyMap<string, ReadonlySet<string>> => {
  const paths = new Map<string, Set<string>>()
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      const methods = paths.get(endpoint.path) ?? new Set()
      paths.set(endpoint.path, methods.add(endpoint.method))
    },
  })
  return paths
}

// Routes that answer every method that a path does not take. GET paths answer HEAD too.
const refuseOthers = Effect.fnUntraced(function* (path: string, taken: ReadonlySet<string>) {
  const router = yield* HttpRouter.HttpRouter
  const allow = [...taken, ...(taken.has("GET") ? ["HEAD"] : [])].sort().join(", ")
  const answer = HttpServerResponse.empty({ status: 405, headers: { allow } })
  for (const method of all) {
    // The router takes TRACE, though its type does not name it.
    if (!taken.has(method)) yield* router.add(method as "OPTIONS", path as HttpRouter.PathInput, answer)
  }
})

/** The refusals of an API. */
export const layer = <Id extends string, Groups extends HttpApiGroup.Constraint>(api: HttpApi.HttpApi<Id, Groups>) =>
  Layer.effectDiscard(
    Effect.forEach(methodsByPath(api), ([path, taken]) => refuseOthers(path, taken), { discard: true }),
  )

/** The refusals of paths outside of an API that are only read. */
export const readOnly = (...paths: ReadonlyArray<`/${string}`>) =>
  Layer.effectDiscard(Effect.forEach(paths, (path) => refuseOthers(path, new Set(["GET"])), { discard: true }))
