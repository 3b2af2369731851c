/** What the tools of assistants are made from: the operations of the Core API, with the JSON Schema of their input. */
import { definitionsFor } from "../../../openapi/operations/OperationList.ts"
import type { Operation, OperationList } from "../../../openapi/operations/OperationList.ts"
import { readOperationList } from "../Operations.ts"

type JsonSchema = OperationList["$defs"]

/** The arguments of a tool as JSON Schema. Parameters of the path and the query are properties next to `body`. */
export interface InputSchema {
  readonly type: "object"
  readonly properties: JsonSchema
  readonly required: ReadonlyArray<string>
  readonly additionalProperties: false
  readonly $defs?: JsonSchema
  readonly [key: string]: unknown
}

/** An operation as the source of a tool. */
export interface Definition extends Operation {
  readonly input: InputSchema
}

const isArgument = ({ name }: Operation["queryParameters"][number]) => name !== "dryRun"

const inputOf = ({ body, pathParameters, queryParameters }: Operation, all: JsonSchema): InputSchema => {
  const parameters = [...pathParameters, ...queryParameters.filter(isArgument)]
  const { isRequired = false, schema = null } = body ?? {}
  const properties = {
    ...Object.fromEntries(parameters.map(({ name, schema: own }) => [name, own])),
    ...(schema === null ? {} : { body: schema }),
  }
  const required = parameters.flatMap((parameter) => (parameter.isRequired ? [parameter.name] : []))
  const $defs = definitionsFor(properties, all)
  return {
    type: "object",
    properties,
    required: schema !== null && isRequired ? [...required, "body"] : required,
    additionalProperties: false,
    ...(Object.keys($defs).length === 0 ? {} : { $defs }),
  }
}

/** Reads the definitions of the Core API, in the order of the reference. */
export const readDefinitions = (): ReadonlyArray<Definition> => {
  const { $defs, operations } = readOperationList()
  return operations
    .filter(({ api }) => api === "core")
    .map((operation) => ({
      ...operation,
      queryParameters: operation.queryParameters.filter(isArgument),
      input: inputOf(operation, $defs),
    }))
}
