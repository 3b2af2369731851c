/**
 * The scope that each operation needs (contract, section 4), in the OpenAPI documents: OpenAPI 3.1 lets every security scheme
 * name what it requires, as it does the scopes of OAuth.
 */
import { HttpApi } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { annotationOf, RequiredScope } from "../kernel/contract/Endpoint.ts"
import { mapValues } from "./Operations.ts"
import type { OperationChange } from "./Operations.ts"

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

/** Writes the scope of each operation under its `security`. */
export const scopes = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
): OperationChange => {
  const found = scopesOf(api)
  return (operation, { method, path }) => {
    const scope = found.get(keyOf(method, path))
    if (scope === undefined || !("security" in operation)) return operation
    const schemes = Array.isArray(operation["security"]) ? operation["security"] : []
    return { ...operation, security: schemes.map((scheme: object) => mapValues(scheme, () => [scope])) }
  }
}
