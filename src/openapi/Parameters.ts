/**
 * Describes the parameters of operations. The description is that of the parameter's schema. Without one it follows
 * from the name: `customerSlug` is the slug of the customer.
 */
import { Predicate, String as Str } from "effect"
import { HttpApi } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { DEFAULT_LIMIT, MAX_LIMIT } from "../kernel/contract/Page.ts"
import { descriptionsOf } from "./Descriptions.ts"
import type { Descriptions } from "./Descriptions.ts"
import { isPart, listOf, partOf } from "./Parts.ts"
import type { OperationChange, Part } from "./Parts.ts"

// The generator describes it as undecoded text, and generated clients would then require a string.
const pageLimit = { type: "integer", minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT }

const words = Str.noCase()

/** The description of a path parameter whose name is a noun and what it is identified by. */
const descriptionOf = (name: string): string | undefined => {
  const [, noun, identifier] = /^(\w+)(Slug|Id)$/.exec(name) ?? []
  return noun === undefined ? undefined : `${identifier ?? ""} of the ${words(noun)}`
}

const describe = (parameter: Part, descriptions: Descriptions, operation: unknown): Part => {
  const name = String(parameter["name"])
  const { description: encoded, ...schema } = partOf(parameter, "schema")
  const description = descriptions.get(name) ?? (Predicate.isString(encoded) ? encoded : descriptionOf(name))
  if (description === undefined) throw new Error(`The parameter ${name} of ${String(operation)} has no description`)
  const { schema: _, ...rest } = parameter
  return { ...rest, description, schema: name === "limit" && parameter["in"] === "query" ? pageLimit : schema }
}

const keyOf = (method: string, path: string): string => `${method.toLowerCase()} ${path.replaceAll(/:(\w+)/g, "{$1}")}`

const parametersOf = <Id extends string, Groups extends HttpApiGroup.Constraint>(api: HttpApi.HttpApi<Id, Groups>) => {
  const found = new Map<string, Descriptions>()
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint: { headers, method, params, path, query } }) => {
      const described = [params, query, headers].flatMap((schema) =>
        schema === undefined ? [] : [...descriptionsOf(schema.ast)],
      )
      found.set(keyOf(method, path), new Map(described))
    },
  })
  return found
}

/** Describes the parameters of an operation. */
export const withParameters = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
): OperationChange => {
  const found = parametersOf(api)
  return (operation, { method, path }) => ({
    ...operation,
    parameters: listOf(operation, "parameters").map((parameter) =>
      isPart(parameter)
        ? describe(parameter, found.get(keyOf(method, path)) ?? new Map(), operation["operationId"])
        : parameter,
    ),
  })
}
