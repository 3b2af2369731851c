/**
 * Adds the scope that each operation requires (contract, section 4) to the OpenAPI documents. OpenAPI 3.1 allows
 * required roles on every security scheme, not only OAuth scopes.
 */
import { HttpApi } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { annotationOf, RequiredScope } from "../kernel/contract/Endpoint.ts"
import { mapValues } from "./Parts.ts"
import type { OperationChange } from "./Parts.ts"

const keyOf = (method: string, path: string): string => `${method.toLowerCase()} ${path.replaceAll(/:(\w+)/g, "{$1}")}`

const requiredScopes = <Id extends string, Groups extends HttpApiGroup.Constraint>(api: HttpApi.HttpApi<Id, Groups>) => {
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

/** Adds the required scope to the `security` of each operation. */
export const withScopes = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
): OperationChange => {
  const scopeOf = requiredScopes(api)
  return (operation, { method, path }) => {
    const scope = scopeOf.get(keyOf(method, path))
    if (scope === undefined || !("security" in operation)) return operation
    const schemes = Array.isArray(operation["security"]) ? operation["security"] : []
    return { ...operation, security: schemes.map((scheme: object) => mapValues(scheme, () => [scope])) }
  }
}
