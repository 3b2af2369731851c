/**
 * Describes problem documents. Each is the component `Problem` with a fixed code, type, status and title. Adds the ones
 * that every operation can return and that no endpoint declares: a body that is too large or of an unsupported type, an
 * internal error, an unavailable database. The documents describe those responses once.
 */
import { Predicate } from "effect"
import { undeclaredProblems } from "../kernel/contract/Problem.ts"
import { mapSchemas, referenceTo } from "./Components.ts"
import { listOf, mapOperations, partOf } from "./Parts.ts"
import type { OperationChange, Part } from "./Parts.ts"

const OF_BODIES = [413, 415]
const OF_ALL = [500, 503]

const URN = "urn:keyshelf:problem:"

interface Fixed {
  readonly code: string
  readonly status: number
  readonly title: string
}

const fixedOf = (schema: Part, property: string): unknown =>
  listOf(partOf(partOf(schema, "properties"), property), "enum")[0]

/** What is fixed in a generated schema, if it is that of a problem. */
const problemOf = (schema: Part): Fixed | undefined => {
  const type = fixedOf(schema, "type")
  if (!Predicate.isString(type) || !type.startsWith(URN)) return undefined
  return {
    code: String(fixedOf(schema, "code")),
    status: Number(fixedOf(schema, "status")),
    title: String(fixedOf(schema, "title")),
  }
}

const undeclared = (status: number): Fixed => {
  const problem = undeclaredProblems[status]
  if (problem === undefined) throw new Error(`No problem is defined for the status ${status}`)
  return { code: problem[0], status, title: problem[1] }
}

const nameOf = ({ code }: Fixed): string => code.replaceAll(".", "")

const schemaOf = ({ code, status, title }: Fixed): Part => ({
  description: title,
  allOf: [
    referenceTo("Problem"),
    {
      type: "object",
      properties: {
        code: { type: "string", enum: [code] },
        type: { type: "string", enum: [`${URN}${code}`] },
        status: { type: "integer", enum: [status] },
        title: { type: "string", enum: [title] },
      },
      required: ["code", "type", "status", "title"],
    },
  ],
})

/** The properties of every problem, of the generated schema of one. */
const baseOf = (schema: Part): Part => ({
  type: "object",
  description: "A problem document (RFC 9457). Branch on `code`, show `detail`, and quote `errorId` to support",
  properties: {
    ...partOf(schema, "properties"),
    // These are fixed in each kind of problem, and so in the one that the others are taken from.
    type: { type: "string", description: `\`${URN}<code>\`` },
    title: { type: "string", description: "The kind of problem in words" },
    status: { type: "integer", description: "The status of the response" },
    code: { type: "string", description: "The kind of problem, e.g. `Customer.NotFound`" },
  },
  required: ["type", "title", "status", "code", "detail", "instance", "errorId", "errors"],
})

const responseOf = (status: number): Part => ({
  description: undeclared(status).title,
  ...headersOf(status),
  content: { "application/problem+json": { schema: referenceTo(nameOf(undeclared(status))) } },
})

const headersOf = (status: number): Part =>
  status === 503
    ? { headers: { "retry-after": { description: "Seconds to wait before retrying", schema: { type: "integer" } } } }
    : {}

// An operation that declares a problem with the same status can return either.
const withAlternative = (status: number, declared: Part): Part => {
  const schema = partOf(partOf(partOf(declared, "content"), "application/problem+json"), "schema")
  const known = Array.isArray(schema["anyOf"]) ? schema["anyOf"] : [schema]
  const { content, description, ...headers } = responseOf(status)
  return {
    description: `${String(declared["description"])} | ${String(description)}`,
    ...headers,
    content: mapMedia(content, (shared) => ({ anyOf: [...known, shared] })),
  }
}

const mapMedia = (content: unknown, change: (schema: unknown) => Part): Part => ({
  "application/problem+json": {
    schema: change(partOf(partOf({ content }, "content"), "application/problem+json")["schema"]),
  },
})

const addResponses: OperationChange = (operation, { method }) => {
  const declared = partOf(operation, "responses")
  const added = (["post", "put", "patch"].includes(method) ? [...OF_BODIES, ...OF_ALL] : OF_ALL).map((status) => [
    status,
    String(status) in declared
      ? withAlternative(status, partOf(declared, String(status)))
      : { $ref: `#/components/responses/${nameOf(undeclared(status))}` },
  ])
  return { ...operation, responses: { ...declared, ...Object.fromEntries(added) } }
}

/** The document with the shared error responses in every operation, and problems described by what they share. */
export const withProblems = (document: Part): Part => {
  const shared = [...OF_BODIES, ...OF_ALL].map(undeclared)
  const generated = Object.values(partOf(partOf(document, "components"), "schemas"))
  const one = generated.find((schema) => problemOf(schema as Part) !== undefined)
  if (one === undefined) throw new Error("The document describes no problem")
  const changed = mapSchemas(mapOperations(document, addResponses), (schema) => {
    const problem = problemOf(schema)
    return problem === undefined ? schema : schemaOf(problem)
  })
  const components = partOf(changed, "components")
  return {
    ...changed,
    components: {
      ...components,
      schemas: {
        ...partOf(components, "schemas"),
        Problem: baseOf(one as Part),
        ...Object.fromEntries(shared.map((problem) => [nameOf(problem), schemaOf(problem)])),
      },
      responses: Object.fromEntries(shared.map((problem) => [nameOf(problem), responseOf(problem.status)])),
    },
  }
}
