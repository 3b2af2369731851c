/**
 * Describes the query parameter `limit` of lists as an integer. The generator describes it as undecoded text, and
 * generated clients would then require a string.
 */
import { Predicate } from "effect"
import { DEFAULT_LIMIT, MAX_LIMIT } from "../kernel/contract/Page.ts"
import type { OperationChange } from "./Parts.ts"

const schema = { type: "integer", minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT }

/** Replaces the schema of `limit` in an operation. */
export const withPageLimit: OperationChange = (operation) => {
  const parameters = operation["parameters"]
  if (!Array.isArray(parameters)) return operation
  return {
    ...operation,
    parameters: parameters.map((parameter: unknown) =>
      Predicate.isObject(parameter) && parameter["name"] === "limit" && parameter["in"] === "query"
        ? { ...parameter, schema: { ...schema, description: "Items per page" } }
        : parameter,
    ),
  }
}
