/**
 * Adds the scope that each operation requires to the OpenAPI documents. OpenAPI 3.1 allows required roles on every
 * security scheme, not only OAuth scopes.
 */
import { HttpApi } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { annotationOf, AnyOfScopes, RequiredScope } from "../kernel/contract/Endpoint.ts"
import { mapValues } from "./Parts.ts"
import type { OperationChange } from "./Parts.ts"

const keyOf = (method: string, path: string): string => `${method.toLowerCase()} ${path.replaceAll(/:(\w+)/g, "{$1}")}`

const requiredScopes = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
) => {
  const scopes = new Map<string, ReadonlyArray<string>>()
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      const scope = annotationOf(endpoint, RequiredScope)
      const alternatives = annotationOf(endpoint, AnyOfScopes) ?? (scope === "any-credential" ? [] : [scope ?? ""])
      if (alternatives.length > 0) scopes.set(keyOf(endpoint.method, endpoint.path), alternatives)
    },
  })
  return scopes
}

/**
 * Adds the required scope to the `security` of each operation. If one of several scopes is enough, each is an
 * alternative.
 */
export const withScopes = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
): OperationChange => {
  const scopesOf = requiredScopes(api)
  return (operation, { method, path }) => {
    const alternatives = scopesOf.get(keyOf(method, path))
    if (alternatives === undefined || !("security" in operation)) return operation
    const schemes = Array.isArray(operation["security"]) ? operation["security"] : []
    return {
      ...operation,
      security: schemes.flatMap((scheme: object) => alternatives.map((scope) => mapValues(scheme, () => [scope]))),
    }
  }
}
