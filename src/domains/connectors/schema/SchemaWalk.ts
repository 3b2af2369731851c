/**
 * Finds the subschemas of a settings schema that apply to a part of a value. It takes the union of all branches,
 * valid or not, so that a secret left over from another branch is still recognized. Pure.
 */
import { Predicate } from "effect"
import type { JsonObject } from "../Model.ts"

/** A subschema, and the root schema that its `$ref`s resolve in. */
export interface SchemaNode {
  readonly schema: unknown
  readonly root: JsonObject
}

/** All subschemas that apply to one value, and whether the walker understands all of them. */
export interface Applicable {
  readonly schemas: ReadonlyArray<{ readonly schema: JsonObject; readonly root: JsonObject }>
  readonly understood: boolean
}

/** Keywords without subschemas, which cannot hide a secret. */
const PLAIN = new Set(
  `$schema $id $comment $defs definitions title description default deprecated readOnly writeOnly examples type enum const
  multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern format contentEncoding
  contentMediaType maxItems minItems uniqueItems maxContains minContains maxProperties minProperties required
  dependentRequired`.split(/\s+/),
)

const ONE = ["if", "then", "else", "not"]
const MANY = ["allOf", "anyOf", "oneOf"]
const BY_NAME = ["properties", "patternProperties", "dependentSchemas"]
const CHILDREN = ["additionalProperties", "unevaluatedProperties", "items", "unevaluatedItems", "contains"]

const UNDERSTOOD = new Set([...PLAIN, ...ONE, ...MANY, ...BY_NAME, ...CHILDREN, "$ref", "prefixItems"])

const isSchema = (value: unknown): boolean => Predicate.isObject(value) || Predicate.isBoolean(value)

const isPattern = (text: string): boolean => {
  try {
    return new RegExp(text, "u") instanceof RegExp
  } catch {
    return false
  }
}

/** The reason why the walker does not understand a keyword, or `undefined` if it does. */
export const unsupportedReason = (keyword: string, value: unknown): string | undefined => {
  if (keyword.startsWith("x-")) return undefined
  if (keyword === "propertyNames" || keyword === "contentSchema") {
    return JSON.stringify(value).includes('"writeOnly"') || JSON.stringify(value).includes('"$ref"')
      ? "must not contain `writeOnly` or `$ref`"
      : undefined
  }
  if (!UNDERSTOOD.has(keyword)) return "is not a supported keyword: it cannot be checked for secrets"
  if (keyword === "writeOnly" && !Predicate.isBoolean(value)) return "must be true or false"
  if ((ONE.includes(keyword) || CHILDREN.includes(keyword)) && !isSchema(value)) return "must be a schema"
  if (MANY.includes(keyword) || keyword === "prefixItems") {
    return Array.isArray(value) && value.every(isSchema) ? undefined : "must be a list of schemas"
  }
  if (BY_NAME.includes(keyword)) {
    if (!Predicate.isObject(value) || !Object.values(value).every(isSchema)) return "must be an object of schemas"
    if (keyword === "patternProperties" && !Object.keys(value).every(isPattern)) return "contains an invalid pattern"
  }
  return undefined
}

/** The schema that a local `$ref` points to, or `undefined` if it is not local or does not resolve. */
export const resolveRef = (root: JsonObject, ref: unknown): unknown => {
  if (!Predicate.isString(ref) || !/^#($|\/)/.test(ref)) return undefined
  let found: unknown = root
  for (const part of ref.split("/").slice(1)) {
    let key: string
    try {
      key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~")
    } catch {
      return undefined
    }
    if (!Predicate.isObjectOrArray(found) || !Object.hasOwn(found, key)) return undefined
    found = Reflect.get(found, key)
  }
  return isSchema(found) ? found : undefined
}

/** All subschemas that apply to the same value as these. Follows references and branches, and stops at cycles. */
export const applicable = (nodes: ReadonlyArray<SchemaNode>): Applicable => {
  const found = new Map<unknown, { readonly schema: JsonObject; readonly root: JsonObject }>()
  const todo = [...nodes]
  let understood = true
  for (let node = todo.pop(); node !== undefined; node = todo.pop()) {
    const { root, schema } = node
    if (Predicate.isBoolean(schema) || found.has(schema)) continue
    if (!Predicate.isObject(schema)) {
      understood = false
      continue
    }
    found.set(schema, { schema, root })
    // A nested `$id` changes the base of the references below it.
    if (schema !== root && Object.hasOwn(schema, "$id")) understood = false
    for (const [keyword, value] of Object.entries(schema)) {
      if (unsupportedReason(keyword, value) !== undefined) understood = false
      else if (ONE.includes(keyword)) todo.push({ schema: value, root })
      else if (MANY.includes(keyword))
        for (const branch of value as ReadonlyArray<unknown>) todo.push({ schema: branch, root })
      else if (keyword === "dependentSchemas") {
        for (const branch of Object.values(value as JsonObject)) todo.push({ schema: branch, root })
      } else if (keyword === "$ref") {
        const target = resolveRef(root, value)
        if (target === undefined) understood = false
        else todo.push({ schema: target, root })
      }
    }
  }
  return { schemas: [...found.values()], understood }
}

/** Whether the whole value is secret: any branch marks it, or a subschema is not understood. */
export const isSecret = (at: Applicable): boolean =>
  !at.understood || at.schemas.some(({ schema }) => schema["writeOnly"] === true)

/** Whether a change of the value could send stored secrets to a third party. */
export const exposesSecrets = (at: Applicable): boolean =>
  at.schemas.some(({ schema }) => schema["x-exposes-secrets"] === true)

const propertyOf = (schema: JsonObject, keyword: string, key: string): unknown => {
  const properties = schema[keyword]
  return Predicate.isObject(properties) && Object.hasOwn(properties, key) ? Reflect.get(properties, key) : undefined
}

const nodesOf = (schemas: ReadonlyArray<unknown>, root: JsonObject): ReadonlyArray<SchemaNode> =>
  schemas.filter((schema) => schema !== undefined).map((schema) => ({ schema, root }))

/** The subschemas of a property as they are written: what they refer to and branch to is not among them. */
export const propertyNodes = (at: Applicable, key: string): ReadonlyArray<SchemaNode> =>
  at.schemas.flatMap(({ root, schema }) => {
    const named = propertyOf(schema, "properties", key)
    const matching = Predicate.isObject(schema["patternProperties"])
      ? Object.entries(schema["patternProperties"]).filter(([pattern]) => new RegExp(pattern, "u").test(key))
      : []
    return nodesOf(
      [
        named,
        ...matching.map(([, child]) => child),
        ...(named === undefined && matching.length === 0 ? [schema["additionalProperties"]] : []),
        ...(named === undefined ? [schema["unevaluatedProperties"]] : []),
      ],
      root,
    )
  })

/** The subschemas of an item as they are written. */
export const itemNodes = (at: Applicable, index: number): ReadonlyArray<SchemaNode> =>
  at.schemas.flatMap(({ root, schema }) => {
    const prefix = Array.isArray(schema["prefixItems"]) ? (schema["prefixItems"] as ReadonlyArray<unknown>) : []
    const own = index < prefix.length ? [prefix[index]] : [schema["items"], schema["unevaluatedItems"]]
    return nodesOf([...own, schema["contains"]], root)
  })

/** The subschemas that apply to a property of an object. Every part of a secret is secret. */
export const propertyAt = (at: Applicable, key: string): Applicable =>
  isSecret(at) ? at : applicable(propertyNodes(at, key))

/** The subschemas that apply to an item of an array. Every part of a secret is secret. */
export const itemAt = (at: Applicable, index: number): Applicable =>
  isSecret(at) ? at : applicable(itemNodes(at, index))

/** The names of the properties that any branch declares. */
export const declaredProperties = (at: Applicable): ReadonlyArray<string> => [
  ...new Set(
    at.schemas.flatMap(({ schema }) =>
      Predicate.isObject(schema["properties"]) ? Object.keys(schema["properties"]) : [],
    ),
  ),
]

/** The first default that a branch declares for an absent value. */
export const defaultOf = (at: Applicable): unknown =>
  at.schemas.find(({ schema }) => schema["default"] !== undefined)?.schema["default"]
