/**
 * Accepts JSON Schemas that are valid 2020-12, self-contained, and of bounded cost (docs/metadata-fields.md lists the
 * rules). Checks run in order of their cost, and each relies on those before it. Pure.
 */
import { Ajv2020 } from "ajv/dist/2020.js"
import { compilePattern } from "./Pattern.ts"
import { hasNestedRepetition } from "./Backtracking.ts"
import { childPointer } from "./JsonPointer.ts"
import { indexOf, isKeywords, subschemasOf, targetOf } from "./Subschemas.ts"
import type { Index, Keywords } from "./Subschemas.ts"
import type { ValueError } from "./Validator.ts"

/** The limits of a schema. */
export const LIMITS = {
  bytes: 64 * 1024,
  depth: 32,
  /** The total number of objects, arrays and scalars. */
  nodes: 2000,
  /** The number of paths from a schema through others that apply to the same value. */
  paths: 10_000,
  /** The length of the longest of these paths. */
  chain: 200,
  /** The total size of all patterns. */
  patterns: 2500,
}

const DIALECT = /^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/
const MAX_ERRORS = 20

type Errors = ReadonlyArray<ValueError>

const at = (pointer: string, message: string): ValueError => ({ pointer, message })

const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes("\u0000")

/** Checks size, depth and texts. Later checks can therefore use recursion. */
const shapeErrors = (schema: unknown): Errors => {
  const errors: Array<ValueError> = []
  let nodes = 0
  const visit = (value: unknown, pointer: string, depth: number): void => {
    if (++nodes > LIMITS.nodes || errors.length >= MAX_ERRORS) return
    if (typeof value === "string" && !isStorable(value)) {
      errors.push(at(pointer, "must not contain NUL or a lone surrogate"))
    }
    if (typeof value === "number" && !Number.isFinite(value)) errors.push(at(pointer, "is a number out of range"))
    if (typeof value !== "object" || value === null) return
    if (depth > LIMITS.depth) {
      errors.push(at(pointer, `is nested deeper than ${LIMITS.depth} levels`))
      return
    }
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) visit(item, childPointer(pointer, index), depth + 1)
      return
    }
    for (const [key, item] of Object.entries(value)) {
      if (key === "__proto__") errors.push(at(childPointer(pointer, key), "is not an allowed property name"))
      else if (!isStorable(key)) errors.push(at(pointer, "must not have property names with NUL or a lone surrogate"))
      else visit(item, childPointer(pointer, key), depth + 1)
    }
  }
  visit(schema, "", 1)
  if (errors.length > 0) return errors
  if (nodes > LIMITS.nodes) return [at("", `must have at most ${LIMITS.nodes} objects, arrays and scalars`)]
  return Buffer.byteLength(JSON.stringify(schema)) > LIMITS.bytes
    ? [at("", `must be at most ${LIMITS.bytes / 1024} KiB`)]
    : []
}

const dialectErrors = (schema: Keywords): Errors => {
  const dialect = Object.hasOwn(schema, "$schema") ? schema["$schema"] : undefined
  return dialect === undefined || (typeof dialect === "string" && DIALECT.test(dialect))
    ? []
    : [at("/$schema", "must be https://json-schema.org/draft/2020-12/schema or omitted")]
}

const compileMetaSchema = () =>
  new Ajv2020({ strict: false, validateFormats: false, logger: false }).getSchema(
    "https://json-schema.org/draft/2020-12/schema",
  )

// Only the published meta-schema is compiled, never a caller's schema. It is compiled at first use, to keep startup
// fast.
let compiled: ReturnType<typeof compileMetaSchema>

const metaSchemaErrors = (schema: unknown): Errors => {
  compiled ??= compileMetaSchema()
  const metaSchema = compiled
  if (metaSchema === undefined) throw new Error("The meta-schema of 2020-12 is missing")
  if (metaSchema(schema) === true) return []
  return (metaSchema.errors ?? []).slice(0, 1).map((error) => at(error.instancePath, error.message ?? "is not valid"))
}

const rejectedKeywords: Readonly<Record<string, string>> = {
  $async: "is not supported: validation is synchronous",
  $vocabulary: "is not supported: only meta-schemas can have it",
  $data: "is not supported: arguments of keywords must be constants",
}

const rootKeywords = ["$id", "$schema"]

const own = (schema: Keywords, keyword: string): unknown =>
  Object.hasOwn(schema, keyword) ? schema[keyword] : undefined

/** Checks the keywords of one schema, except its patterns. */
const keywordErrors = (schema: Keywords, pointer: string, index: Index): Errors => {
  const errors: Array<ValueError> = []
  for (const [keyword, message] of Object.entries(rejectedKeywords)) {
    if (Object.hasOwn(schema, keyword)) errors.push(at(childPointer(pointer, keyword), message))
  }
  for (const keyword of rootKeywords) {
    if (pointer !== "" && Object.hasOwn(schema, keyword)) {
      errors.push(at(childPointer(pointer, keyword), "is allowed only at the top of the schema"))
    }
  }
  for (const keyword of ["$ref", "$dynamicRef"]) {
    const reference = own(schema, keyword)
    if (typeof reference === "string" && targetOf(index, reference) === undefined) {
      const isLocal = reference.startsWith("#")
      errors.push(
        at(
          childPointer(pointer, keyword),
          isLocal ? "must point to a schema in this document" : "must be a local reference (`#...`)",
        ),
      )
    }
  }
  for (const keyword of ["$anchor", "$dynamicAnchor"]) {
    const name = own(schema, keyword)
    if (typeof name === "string" && (index.anchors.get(name)?.length ?? 0) > 1) {
      errors.push(at(childPointer(pointer, keyword), "must be unique in this document"))
    }
  }
  const values = own(schema, "enum")
  if (Array.isArray(values) && values.length === 0) errors.push(at(childPointer(pointer, "enum"), "must not be empty"))
  return errors
}

const patternErrors = (index: Index): Errors => {
  const errors: Array<ValueError> = []
  let total = 0
  for (const [pointer, schema] of index.byPointer) {
    if (!isKeywords(schema)) continue
    const pattern = own(schema, "pattern")
    const patternProperties = childPointer(pointer, "patternProperties")
    const sources = [
      ...(typeof pattern === "string" ? [[childPointer(pointer, "pattern"), pattern] as const] : []),
      ...Object.keys(own(schema, "patternProperties") ?? {}).map(
        (source) => [childPointer(patternProperties, source), source] as const,
      ),
    ]
    for (const [place, source] of sources) {
      const compiled = compilePattern(source)
      if (typeof compiled === "string") errors.push(at(place, compiled))
      else if (hasNestedRepetition(source)) {
        errors.push(
          at(place, "is a regular expression with nested unbounded repetitions, which many engines match too slowly"),
        )
      } else total += compiled.size
      if (total > LIMITS.patterns) errors.push(at(place, "exceeds the total size of the schema's regular expressions"))
      if (total > LIMITS.patterns || errors.length >= MAX_ERRORS) return errors
    }
  }
  return errors
}

/**
 * Bounds the cost of evaluation. The schemas that apply to the same value form a graph: a cycle would never end, and a
 * schema bomb doubles the paths at each level. Counting paths finds both without evaluating a value.
 */
const costErrors = (index: Index): Errors => {
  const measured = new Map<string, { readonly paths: number; readonly chain: number }>()
  const open = new Set<string>()
  let error: ValueError | undefined
  const next = (schema: Keywords, pointer: string): ReadonlyArray<readonly [target: string, by: string]> => [
    ...subschemasOf(schema, pointer)
      .filter(({ appliesTo }) => appliesTo === "same")
      .map((inner) => [inner.pointer, inner.pointer] as const),
    ...["$ref", "$dynamicRef"].flatMap((keyword) => {
      const reference = own(schema, keyword)
      const target = typeof reference === "string" ? targetOf(index, reference) : undefined
      return target === undefined ? [] : [[target, childPointer(pointer, keyword)] as const]
    }),
  ]
  const measure = (pointer: string): { readonly paths: number; readonly chain: number } => {
    const cached = measured.get(pointer)
    if (cached !== undefined) return cached
    open.add(pointer)
    let paths = 1
    let chain = 1
    const schema = index.byPointer.get(pointer)
    for (const [target, by] of isKeywords(schema) ? next(schema, pointer) : []) {
      if (error !== undefined) break
      if (open.has(target)) {
        error = at(by, "refers back to itself for the same value")
        break
      }
      const inner = measure(target)
      paths += inner.paths
      chain = Math.max(chain, inner.chain + 1)
    }
    if (paths > LIMITS.paths) error ??= at(pointer, `has more than ${LIMITS.paths} paths through its subschemas`)
    if (chain > LIMITS.chain) error ??= at(pointer, `has a path through more than ${LIMITS.chain} subschemas`)
    open.delete(pointer)
    measured.set(pointer, { paths, chain })
    return { paths, chain }
  }
  for (const pointer of index.byPointer.keys()) {
    measure(pointer)
    if (error !== undefined) return [error]
  }
  return []
}

/** Returns the errors of a schema, or an empty list if it is accepted. */
export const schemaErrors = (schema: Keywords): Errors => {
  for (const check of [shapeErrors, dialectErrors, metaSchemaErrors]) {
    const found = check(schema)
    if (found.length > 0) return found
  }
  const index = indexOf(schema)
  const errors: Array<ValueError> = []
  for (const [pointer, inner] of index.byPointer) {
    if (isKeywords(inner) && errors.length < MAX_ERRORS) errors.push(...keywordErrors(inner, pointer, index))
  }
  if (errors.length > 0) return errors.slice(0, MAX_ERRORS)
  const patterns = patternErrors(index)
  return patterns.length > 0 ? patterns : costErrors(index)
}
