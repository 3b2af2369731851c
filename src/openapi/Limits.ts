/**
 * The parameter `limit` of lists as what it means, an integer. The generator shows what a query can hold before it is
 * decoded, a text; generated clients would ask their users for that.
 */
import { Predicate } from "effect"
import { DEFAULT_LIMIT, LARGEST_LIMIT } from "../kernel/contract/Page.ts"
import type { OperationChange } from "./Operations.ts"

const schema = { type: "integer", minimum: 1, maximum: LARGEST_LIMIT, default: DEFAULT_LIMIT }

/** Writes the schema of `limit`. */
export const limits: OperationChange = (operation) => {
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
