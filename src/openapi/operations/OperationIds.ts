/**
 * Names operations after their group and endpoint, so that generated clients have functions that people recognise:
 * `customers` and `list` give `listCustomers`, `create` gives `createCustomer`, and `serviceAccounts` and `listTokens`
 * give `listServiceAccountTokens`. An endpoint for which this rule gives no English name annotates one:
 * `OpenApi.annotations({ identifier: "checkInstance" })`.
 */
import { Predicate } from "effect"
import type { OperationChange } from "../Parts.ts"

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

const singular = (noun: string): string => noun.replace(/ies$/, "y").replace(/s$/, "")

/** The operation id of an endpoint. */
const operationIdOf = (group: string, endpoint: string): string => {
  const [verb = "", ...object] = endpoint.split(/(?=[A-Z])/)
  if (endpoint === "list") return `list${capitalized(group)}`
  return `${verb}${capitalized(singular(group))}${object.join("")}`
}

/** Replaces the id that the generator gives an operation without a name of its own: `customers.list`. */
export const withOperationId: OperationChange = (operation) => {
  const id = operation["operationId"]
  const [, group, endpoint] = (Predicate.isString(id) ? /^(\w+)\.(\w+)$/.exec(id) : null) ?? []
  return group === undefined || endpoint === undefined
    ? operation
    : { ...operation, operationId: operationIdOf(group, endpoint) }
}
