/**
 * The scope that each operation needs (contract, section 4), in the OpenAPI documents: OpenAPI 3.1 lets every security scheme
 * name what it requires, as it does the scopes of OAuth.
 */
import { Predicate } from "effect"
import { HttpApi, OpenApi } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { annotationOf, RequiredScope } from "../kernel/Endpoint.ts"

const keyOf = (method: string, path: string): string => `${method.toLowerCase()} ${path.replaceAll(/:(\w+)/g, "{$1}")}`

const scopesOf = <Id extends string, Groups extends HttpApiGroup.Constraint>(api: HttpApi.HttpApi<Id, Groups>) => {
  const scopes = new Map<string, string>()
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      const scope = annotationOf(endpoint, RequiredScope)
      if (scope !== undefined && scope !== "any-credential") scopes.set(keyOf(endpoint.method, endpoint.path), scope)
    },
  })
  return scopes
}

const mapValues = (record: object, map: (value: unknown, key: string) => unknown): Record<string, unknown> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]))

/** The API as its document shows it: with the scope of each operation under `security`. */
export const withScopes = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
): HttpApi.HttpApi<Id, Groups> => {
  const scopes = scopesOf(api)

  const secured = (operation: unknown, method: string, path: string): unknown => {
    const scope = scopes.get(keyOf(method, path))
    if (scope === undefined || !Predicate.hasProperty(operation, "security")) return operation
    const schemes = Array.isArray(operation.security) ? operation.security : []
    return { ...operation, security: schemes.map((scheme: object) => mapValues(scheme, () => [scope])) }
  }

  return api.annotate(OpenApi.Transform, (document) => ({
    ...document,
    paths: mapValues(document["paths"], (methods, path) =>
      Predicate.isObject(methods) ? mapValues(methods, (operation, method) => secured(operation, method, path)) : methods,
    ),
  }))
}
