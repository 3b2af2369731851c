/** Known path, wrong method: 405 with `Allow`, derived from the API's own endpoints (contract, section 2). */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApi } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"

const all = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const

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

/** Routes that answer every method that a path does not take. GET paths answer HEAD too. */
export const layer = <Id extends string, Groups extends HttpApiGroup.Constraint>(api: HttpApi.HttpApi<Id, Groups>) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const router = yield* HttpRouter.HttpRouter
      for (const [path, taken] of methodsByPath(api)) {
        const allow = [...taken, ...(taken.has("GET") ? ["HEAD"] : [])].sort().join(", ")
        const answer = HttpServerResponse.empty({ status: 405, headers: { allow } })
        for (const method of all) {
          if (!taken.has(method)) yield* router.add(method, path as HttpRouter.PathInput, answer)
        }
      }
    }),
  )
