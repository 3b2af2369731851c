/**
 * Which JSON Schemas are accepted: valid 2020-12, self-contained, and of bounded cost (docs/metadata-fields.md lists the
 * rules). The checks go from cheap to dear, and each may rely on those before it. Pure.
 */
import { Ajv2020 } from "ajv/dist/2020.js"
import { compilePattern } from "./Pattern.ts"
import { repeatsEndlessly } from "./Backtracking.ts"
import { below } from "./JsonPointer.ts"
import { indexOf, isKeywords, subschemasOf, targetOf } from "./Subschemas.ts"
import type { Index, Keywords } from "./Subschemas.ts"
import type { ValueFault } from "./Validator.ts"

/** The limits of a schema. */
export const LIMITS = {
  bytes: 64 * 1024,
  depth: 32,
  /** Objects, arrays and scalars together. */
  nodes: 2000,
  /** Ways from a schema through others that judge the same value. */
  paths: 10_000,
  /** The longest of these ways. */
  chain: 200,
  /** The sizes of all patterns together. */
  patterns: 2500,
}

const DIALECT = /^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/
const MOST_FAULTS = 20

type Faults = ReadonlyArray<ValueFault>

const at = (pointer: string, message: string): ValueFault => ({ pointer, message })

const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes("\u0000")

/** Size, depth and texts. Nothing after it meets a value that is too deep to walk. */
const shapeFaults = (schema: unknown): Faults => {
  const faults: Array<ValueFault> = []
  let nodes = 0
  const visit = (value: unknown, pointer: string, depth: number): void => {
    if (++nodes > LIMITS.nodes || faults.length >= MOST_FAULTS) return
    if (typeof value === "string" && !isStorable(value)) faults.push(at(pointer, "holds NUL or a lone surrogate"))
    if (typeof value === "number" && !Number.isFinite(value)) faults.push(at(pointer, "is a number out of range"))
    if (typeof value !== "object" || value === null) return
    if (depth > LIMITS.depth) {
      faults.push(at(pointer, `lies deeper than ${LIMITS.depth} levels`))
      return
    }
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) visit(item, below(pointer, index), depth + 1)
      return
    }
    for (const [key, item] of Object.entries(value)) {
      if (key === "__proto__") faults.push(at(below(pointer, key), "is a name that is not taken"))
      else if (!isStorable(key)) faults.push(at(pointer, "has a name with NUL or a lone surrogate"))
      else visit(item, below(pointer, key), depth + 1)
    }
  }
  visit(schema, "", 1)
  if (faults.length > 0) return faults
  if (nodes > LIMITS.nodes) return [at("", `has more than ${LIMITS.nodes} objects, arrays and scalars`)]
  return Buffer.byteLength(JSON.stringify(schema)) > LIMITS.bytes
    ? [at("", `is larger than ${LIMITS.bytes / 1024} KiB`)]
    : []
}

const dialectFaults = (schema: Keywords): Faults => {
  const dialect = Object.hasOwn(schema, "$schema") ? schema["$schema"] : undefined
  return dialect === undefined || (typeof dialect === "string" && DIALECT.test(dialect))
    ? []
    : [at("/$schema", "must be https://json-schema.org/draft/2020-12/schema, or absent")]
}

const compileMetaSchema = () =>
  new Ajv2020({ strict: false, validateFormats: false, logger: false }).getSchema(
    "https://json-schema.org/draft/2020-12/schema",
  )

// Only the published meta-schema is ever compiled here, never a schema of a caller; when it is needed, because a start would
// wait for it.
let compiled: ReturnType<typeof compileMetaSchema>

const metaFaults = (schema: unknown): Faults => {
  compiled ??= compileMetaSchema()
  const metaSchema = compiled
  if (metaSchema === undefined) throw new Error("The meta-schema of 2020-12 is missing")
  if (metaSchema(schema) === true) return []
  return (metaSchema.errors ?? []).slice(0, 1).map((error) => at(error.instancePath, error.message ?? "is not valid"))
}

const refusedKeywords: Readonly<Record<string, string>> = {
  $async: "is not taken: checks answer at once",
  $vocabulary: "is not taken: it belongs to meta-schemas",
  $data: "is not taken: limits are constants",
}

const hasOnlyAtRoot = ["$id", "$schema"]

const own = (schema: Keywords, keyword: string): unknown =>
  Object.hasOwn(schema, keyword) ? schema[keyword] : undefined

/** What a schema says in its own keywords, apart from its patterns. */
const keywordFaults = (schema: Keywords, pointer: string, index: Index): Faults => {
  const faults: Array<ValueFault> = []
  for (const [keyword, message] of Object.entries(refusedKeywords)) {
    if (Object.hasOwn(schema, keyword)) faults.push(at(below(pointer, keyword), message))
  }
  for (const keyword of hasOnlyAtRoot) {
    if (pointer !== "" && Object.hasOwn(schema, keyword)) {
      faults.push(at(below(pointer, keyword), "is taken at the top of the schema only"))
    }
  }
  for (const keyword of ["$ref", "$dynamicRef"]) {
    const reference = own(schema, keyword)
    if (typeof reference === "string" && targetOf(index, reference) === undefined) {
      const isLocal = reference.startsWith("#")
      faults.push(at(below(pointer, keyword), isLocal ? "names no schema in here" : "must be local: #..."))
    }
  }
  for (const keyword of ["$anchor", "$dynamicAnchor"]) {
    const name = own(schema, keyword)
    if (typeof name === "string" && (index.anchors.get(name)?.length ?? 0) > 1) {
      faults.push(at(below(pointer, keyword), "is a name that another schema in here has"))
    }
  }
  const values = own(schema, "enum")
  if (Array.isArray(values) && values.length === 0) faults.push(at(below(pointer, "enum"), "must not be empty"))
  return faults
}

const patternFaults = (index: Index): Faults => {
  const faults: Array<ValueFault> = []
  let total = 0
  for (const [pointer, schema] of index.byPointer) {
    if (!isKeywords(schema)) continue
    const pattern = own(schema, "pattern")
    const names = below(pointer, "patternProperties")
    const sources = [
      ...(typeof pattern === "string" ? [[below(pointer, "pattern"), pattern] as const] : []),
      ...Object.keys(own(schema, "patternProperties") ?? {}).map((source) => [below(names, source), source] as const),
    ]
    for (const [place, source] of sources) {
      const compiled = compilePattern(source)
      if (typeof compiled === "string") faults.push(at(place, compiled))
      else if (repeatsEndlessly(source)) {
        faults.push(
          at(place, "is a regular expression that repeats an endless repetition, which many engines cannot bear"),
        )
      } else total += compiled.size
      if (total > LIMITS.patterns)
        faults.push(at(place, "makes the regular expressions of the schema too large together"))
      if (total > LIMITS.patterns || faults.length >= MOST_FAULTS) return faults
    }
  }
  return faults
}

/**
 * Schemas that judge the same value form a graph. A cycle in it would never end; a bomb doubles its paths level by level.
 * Both are found by counting, without running anything.
 */
const costFaults = (index: Index): Faults => {
  const known = new Map<string, { readonly paths: number; readonly chain: number }>()
  const open = new Set<string>()
  let fault: ValueFault | undefined
  const next = (schema: Keywords, pointer: string): ReadonlyArray<readonly [target: string, by: string]> => [
    ...subschemasOf(schema, pointer)
      .filter(({ judges }) => judges === "same")
      .map((inner) => [inner.pointer, inner.pointer] as const),
    ...["$ref", "$dynamicRef"].flatMap((keyword) => {
      const reference = own(schema, keyword)
      const target = typeof reference === "string" ? targetOf(index, reference) : undefined
      return target === undefined ? [] : [[target, below(pointer, keyword)] as const]
    }),
  ]
  const measure = (pointer: string): { readonly paths: number; readonly chain: number } => {
    const before = known.get(pointer)
    if (before !== undefined) return before
    open.add(pointer)
    let paths = 1
    let chain = 1
    const schema = index.byPointer.get(pointer)
    for (const [target, by] of isKeywords(schema) ? next(schema, pointer) : []) {
      if (fault !== undefined) break
      if (open.has(target)) {
        fault = at(by, "leads back to itself without a step into the value")
        break
      }
      const inner = measure(target)
      paths += inner.paths
      chain = Math.max(chain, inner.chain + 1)
    }
    if (paths > LIMITS.paths) fault ??= at(pointer, `opens more than ${LIMITS.paths} ways through its references`)
    if (chain > LIMITS.chain) fault ??= at(pointer, `opens a way through more than ${LIMITS.chain} schemas`)
    open.delete(pointer)
    known.set(pointer, { paths, chain })
    return { paths, chain }
  }
  for (const pointer of index.byPointer.keys()) {
    measure(pointer)
    if (fault !== undefined) return [fault]
  }
  return []
}

/** Why a schema is refused; nothing if it is accepted. */
export const schemaFaults = (schema: Keywords): Faults => {
  const first = [shapeFaults, dialectFaults, metaFaults]
  for (const check of first) {
    const faults = check(schema)
    if (faults.length > 0) return faults
  }
  const index = indexOf(schema)
  const faults: Array<ValueFault> = []
  for (const [pointer, inner] of index.byPointer) {
    if (isKeywords(inner) && faults.length < MOST_FAULTS) faults.push(...keywordFaults(inner, pointer, index))
  }
  if (faults.length > 0) return faults.slice(0, MOST_FAULTS)
  const patterns = patternFaults(index)
  return patterns.length > 0 ? patterns : costFaults(index)
}
