/**
 * Returns 405 with `Allow` for a known path with a wrong method. Methods come from the API's endpoints; pages and
 * probes outside the APIs are listed explicitly.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApi } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY", "TRACE"] as const

/** Collects the methods of each path of an API. */
const methodsByPath = <Id extends string, Groups extends HttpApiGroup.Constraint>(
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

// Adds 405 routes for all methods that a path does not support. GET paths also support HEAD.
const rejectOtherMethods = Effect.fnUntraced(function* (path: string, supported: ReadonlySet<string>) {
  const router = yield* HttpRouter.HttpRouter
  const allow = [...supported, ...(supported.has("GET") ? ["HEAD"] : [])].sort().join(", ")
  const response = HttpServerResponse.empty({ status: 405, headers: { allow } })
  for (const method of METHODS) {
    // The router accepts TRACE, although its type does not include it.
    if (!supported.has(method)) yield* router.add(method as "OPTIONS", path as HttpRouter.PathInput, response)
  }
})

/** 405 routes for an API. */
export const layer = <Id extends string, Groups extends HttpApiGroup.Constraint>(api: HttpApi.HttpApi<Id, Groups>) =>
  Layer.effectDiscard(
    Effect.forEach(methodsByPath(api), ([path, supported]) => rejectOtherMethods(path, supported), { discard: true }),
  )

/** 405 routes for read-only paths outside the APIs. */
export const readOnly = (...paths: ReadonlyArray<`/${string}`>) =>
  Layer.effectDiscard(Effect.forEach(paths, (path) => rejectOtherMethods(path, new Set(["GET"])), { discard: true }))
