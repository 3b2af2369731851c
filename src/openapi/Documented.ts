/** Completes the generated OpenAPI documents with what the API definitions cannot express. */
import { OpenApi } from "effect/http-api"
import type { HttpApi, HttpApiGroup } from "effect/http-api"
import { version } from "../infra/Version.ts"
import { simplify, mapSchemas, mergeCopies, nameComponents } from "./Components.ts"
import { describeProperties } from "./Descriptions.ts"
import { exampleValues, withExamples } from "./Examples.ts"
import { withParameters } from "./Parameters.ts"
import { withOperationId } from "./operations/OperationIds.ts"
import { isPart, mapOperations, mapValues, partOf } from "./Parts.ts"
import type { OperationChange, Part } from "./Parts.ts"
import { withProblems } from "./Problems.ts"
import { openResponses } from "./ResponseSchemas.ts"
import { withScopes } from "./Scopes.ts"
import { moveEvents } from "./Webhooks.ts"

/**
 * The document with the version of this build and the license. The API definitions do not know the version: the published
 * client has no `package.json`.
 */
const withInfo = (document: Part): Part => ({
  ...document,
  info: { ...partOf(document, "info"), version, license: { name: "Apache License 2.0", identifier: "Apache-2.0" } },
})

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
  const { components, options } = nameComponents()
  const generated: unknown = OpenApi.fromApi(api, options)
  const named = mapSchemas(simplify(mergeCopies(generated as Part)), (schema, name) =>
    describeProperties(schema, components.get(name)?.descriptions ?? new Map()),
  )
  const example = exampleValues(named, components)
  const changes: ReadonlyArray<OperationChange> = [
    withScopes(api),
    withOperationId,
    withParameters(api),
    withOptionalBody,
    withExamples(example),
  ]
  const changed = mapOperations(named, (operation, at) =>
    changes.reduce((changing, change) => change(changing, at), operation),
  )
  return sorted(withBearer(withInfo(openResponses(withProblems(moveEvents(changed, example))))))
}
