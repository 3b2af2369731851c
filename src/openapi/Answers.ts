/**
 * The answers that no endpoint declares because any can give them (contract, section 3): a body that is too large or of
 * another kind, a failure of ours, a database that is away. The documents describe each once and name it in every operation.
 */
import { undeclared } from "../kernel/contract/UndeclaredProblems.ts"
import { mapOperations, partOf } from "./Operations.ts"
import type { OperationChange, Part } from "./Operations.ts"

/** Every problem has the members of this one, which every API declares. */
const EXAMPLE = "Request.ValidationFailedEncoded"

const OF_BODIES = [413, 415]
const OF_ALL = [500, 503]

const problemOf = (status: number): readonly [code: string, title: string] => {
  const problem = undeclared[status]
  if (problem === undefined) throw new Error(`No problem is known for the status ${status}`)
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
    ? { headers: { "retry-after": { description: "Seconds to wait before the next try", schema: { type: "integer" } } } }
    : {}

const responseOf = (status: number): Part => ({
  description: problemOf(status)[1],
  ...headersOf(status),
  content: { "application/problem+json": { schema: schemaReference(status) } },
})

// An operation that has a problem of its own with this status can answer either.
const together = (status: number, declared: Part): Part => {
  const schema = partOf(partOf(partOf(declared, "content"), "application/problem+json"), "schema")
  const known = Array.isArray(schema["anyOf"]) ? schema["anyOf"] : [schema]
  return {
    description: `${String(declared["description"])} | ${problemOf(status)[1]}`,
    ...headersOf(status),
    content: { "application/problem+json": { schema: { anyOf: [...known, schemaReference(status)] } } },
  }
}

const answers: OperationChange = (operation, { method }) => {
  const declared = partOf(operation, "responses")
  const added = (["post", "put", "patch"].includes(method) ? [...OF_BODIES, ...OF_ALL] : OF_ALL).map((status) => [
    status,
    String(status) in declared
      ? together(status, partOf(declared, String(status)))
      : { $ref: `#/components/responses/${problemOf(status)[0]}` },
  ])
  return { ...operation, responses: { ...declared, ...Object.fromEntries(added) } }
}

/** The document with the answers of every operation. */
export const withAnswers = (document: Part): Part => {
  const components = partOf(document, "components")
  const schemas = partOf(components, "schemas")
  const statuses = [...OF_BODIES, ...OF_ALL]
  return {
    ...mapOperations(document, answers),
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
