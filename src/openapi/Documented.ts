/** Completes the generated OpenAPI documents with what the API definitions cannot express. */
import { OpenApi } from "effect/http-api"
import type { HttpApi, HttpApiGroup } from "effect/http-api"
import { version } from "../infra/Version.ts"
import { withSharedResponses } from "./SharedResponses.ts"
import { withPageLimit } from "./Limits.ts"
import { mapOperations, partOf } from "./Operations.ts"
import type { Part } from "./Operations.ts"
import { withScopes } from "./Scopes.ts"

/** The document with the version of this build. The API definitions do not know it: the published client has no `package.json`. */
const withVersion = (document: Part): Part => ({ ...document, info: { ...partOf(document, "info"), version } })

/** The API whose document also has scopes, integer page limits and the error responses of every operation. */
export const withDocumentation = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
): HttpApi.HttpApi<Id, Groups> => {
  const secured = withScopes(api)
  return api.annotate(OpenApi.Transform, (document) =>
    withVersion(withSharedResponses(mapOperations(document, (operation, at) => withPageLimit(secured(operation, at), at)))),
  )
}
