/**
 * Adds the error responses that every operation can return and that no endpoint declares (contract, section 3): a body
 * that is too large or of an unsupported type, an internal error, an unavailable database. The documents describe each
 * once and reference it in every operation.
 */
import { undeclaredProblems } from "../kernel/contract/UndeclaredProblems.ts"
import { mapOperations, partOf } from "./Operations.ts"
import type { OperationChange, Part } from "./Operations.ts"

/** A problem that every API declares. Its properties are those of every problem. */
const EXAMPLE = "Request.ValidationFailedEncoded"

const OF_BODIES = [413, 415]
const OF_ALL = [500, 503]

const problemOf = (status: number): readonly [code: string, title: string] => {
  const problem = undeclaredProblems[status]
  if (problem === undefined) throw new Error(`No problem is defined for the status ${status}`)
  return [problem[0], problem[1]]
}

const schemaOf = (status: number, example: Part): Part => {
  const [code, title] = problemOf(status)
  return {
    ...example,
    properties: {
      ...partOf(example, "properties"),
      code: { type: "string", enum: [code] },
      type: { type: "string", enum: [`urn:keyshelf:problem:${code}`] },
      status: { type: "number", enum: [status] },
      title: { type: "string", enum: [title] },
    },
  }
}

const schemaReference = (status: number): Part => ({ $ref: `#/components/schemas/${problemOf(status)[0]}Encoded` })

const headersOf = (status: number): Part =>
  status === 503
    ? { headers: { "retry-after": { description: "Seconds to wait before retrying", schema: { type: "integer" } } } }
    : {}

const responseOf = (status: number): Part => ({
  description: problemOf(status)[1],
  ...headersOf(status),
  content: { "application/problem+json": { schema: schemaReference(status) } },
})

// An operation that declares a problem with the same status can return either.
const withAlternative = (status: number, declared: Part): Part => {
  const schema = partOf(partOf(partOf(declared, "content"), "application/problem+json"), "schema")
  const known = Array.isArray(schema["anyOf"]) ? schema["anyOf"] : [schema]
  return {
    description: `${String(declared["description"])} | ${problemOf(status)[1]}`,
    ...headersOf(status),
    content: { "application/problem+json": { schema: { anyOf: [...known, schemaReference(status)] } } },
  }
}

const addResponses: OperationChange = (operation, { method }) => {
  const declared = partOf(operation, "responses")
  const added = (["post", "put", "patch"].includes(method) ? [...OF_BODIES, ...OF_ALL] : OF_ALL).map((status) => [
    status,
    String(status) in declared
      ? withAlternative(status, partOf(declared, String(status)))
      : { $ref: `#/components/responses/${problemOf(status)[0]}` },
  ])
  return { ...operation, responses: { ...declared, ...Object.fromEntries(added) } }
}

/** The document with the shared error responses in every operation. */
export const withSharedResponses = (document: Part): Part => {
  const components = partOf(document, "components")
  const schemas = partOf(components, "schemas")
  const statuses = [...OF_BODIES, ...OF_ALL]
  return {
    ...mapOperations(document, addResponses),
    components: {
      ...components,
      schemas: {
        ...schemas,
        ...Object.fromEntries(
          statuses.map((status) => [`${problemOf(status)[0]}Encoded`, schemaOf(status, partOf(schemas, EXAMPLE))]),
        ),
      },
      responses: Object.fromEntries(statuses.map((status) => [problemOf(status)[0], responseOf(status)])),
    },
  }
}
