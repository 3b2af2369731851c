/** Completes the generated OpenAPI documents with what the API definitions cannot express. */
import { OpenApi } from "effect/http-api"
import type { HttpApi, HttpApiGroup } from "effect/http-api"
import { version } from "../infra/Version.ts"
import { flatten, mergeCopies, nameComponents } from "./Components.ts"
import { withPageLimit } from "./Limits.ts"
import { withOperationId } from "./OperationIds.ts"
import { isPart, mapOperations, mapValues, partOf } from "./Parts.ts"
import type { OperationChange, Part } from "./Parts.ts"
import { withProblems } from "./Problems.ts"
import { withScopes } from "./Scopes.ts"

/** The document with the version of this build. The API definitions do not know it: the published client has no `package.json`. */
const withVersion = (document: Part): Part => ({ ...document, info: { ...partOf(document, "info"), version } })

// The registry of HTTP authentication schemes spells it `Bearer`, OpenAPI's tools compare it with `bearer`.
const withBearer = (document: Part): Part => ({
  ...document,
  components: {
    ...partOf(document, "components"),
    securitySchemes: mapValues(partOf(partOf(document, "components"), "securitySchemes"), (scheme) => ({
      ...(isPart(scheme) ? scheme : {}),
      scheme: "bearer",
    })),
  },
})

// The generator describes an optional body as a value that can be `null`.
const withOptionalBody: OperationChange = (operation) => {
  const body = partOf(operation, "requestBody")
  const media = partOf(partOf(body, "content"), "application/json")
  const [schema, none, ...more] = Array.isArray(partOf(media, "schema")["anyOf"])
    ? (partOf(media, "schema")["anyOf"] as ReadonlyArray<Part>)
    : []
  if (schema === undefined || none?.["type"] !== "null" || more.length > 0) return operation
  return {
    ...operation,
    requestBody: { ...body, required: false, content: { "application/json": { ...media, schema } } },
  }
}

const sorted = (document: Part): Part => {
  const components = partOf(document, "components")
  const schemas = Object.entries(partOf(components, "schemas")).sort(([left], [right]) => (left < right ? -1 : 1))
  return { ...document, components: { ...components, schemas: Object.fromEntries(schemas) } }
}

/** The OpenAPI document of an API. */
export const documentOf = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
): Part => {
  const { options } = nameComponents()
  const generated: unknown = OpenApi.fromApi(api, options)
  const secured = withScopes(api)
  const changes: ReadonlyArray<OperationChange> = [secured, withPageLimit, withOperationId, withOptionalBody]
  const document = mapOperations(flatten(mergeCopies(generated as Part)), (operation, at) =>
    changes.reduce((changed, change) => change(changed, at), operation),
  )
  return sorted(withBearer(withVersion(withProblems(document))))
}
