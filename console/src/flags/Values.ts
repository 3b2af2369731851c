/** Values of conditions and variants as a person writes them, and back without loss. */
import { exactNumber, parseForBody } from "../kernel/Amount.ts"
import type { FeatureFlag } from "../kernel/Contract.ts"

export type Targeting = FeatureFlag["targetings"][number]
export type Condition = Targeting["conditions"][number]
export type Operator = Condition["operator"]
export type FlagType = FeatureFlag["type"]

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

/** Operators whose values are texts, whatever they look like. */
const TEXTS: ReadonlySet<Operator> = new Set([
  "STARTS_WITH",
  "ENDS_WITH",
  "SEMVER_GT",
  "SEMVER_GTE",
  "SEMVER_LT",
  "SEMVER_LTE",
  "BEFORE",
  "AFTER",
])

const scalarOf = (text: string, operator: Operator): unknown => {
  if (TEXTS.has(operator)) return text
  if (text === "true" || text === "false") return text === "true"
  return NUMBER.test(text) ? exactNumber(text) : text
}

const unquoted = (inside: string): string => {
  try {
    return String(JSON.parse(`"${inside}"`))
  } catch {
    return inside
  }
}

/** Reads values that are separated by commas. A value in quotes is text, even `"12"`. */
export const parseValues = (text: string, operator: Operator): ReadonlyArray<unknown> => {
  const parts = text.matchAll(/\s*(?:"((?:[^"\\]|\\.)*)"|([^,]*?))\s*(?:,|$)/g)
  return Array.from(parts).flatMap(([, quoted, bare = ""]) => {
    if (quoted !== undefined) return [unquoted(quoted)]
    return bare === "" ? [] : [scalarOf(bare, operator)]
  })
}

const isPlain = (text: string, operator: Operator): boolean =>
  text !== "" && text.trim() === text && !/[",\n]/.test(text) && scalarOf(text, operator) === text

/** Writes a value such that reading it gives the same value. */
export const formatValue = (value: unknown, operator: Operator): string => {
  if (typeof value !== "string") return JSON.stringify(value)
  return isPlain(value, operator) ? value : JSON.stringify(value)
}

export const formatValues = (values: ReadonlyArray<unknown>, operator: Operator): string =>
  values.map((value) => formatValue(value, operator)).join(", ")

/** The value of a variant in a field. */
export const inputOfValue = (value: unknown, type: FlagType): string => {
  if (value === undefined || value === null) return ""
  if (typeof value === "string") return value
  return type === "object" ? JSON.stringify(value, null, 2) : JSON.stringify(value)
}

const jsonOf = (text: string): unknown => {
  try {
    return parseForBody(text)
  } catch {
    return text
  }
}

/** The value that a field means. What is not of the type is sent as text: the service says at its field what is wrong. */
export const valueOfInput = (text: string, type: FlagType): unknown => {
  if (type === "string") return text
  const trimmed = text.trim()
  if (type === "boolean") return trimmed === "true" || trimmed === "false" ? trimmed === "true" : trimmed
  if (type === "object") return jsonOf(trimmed)
  return NUMBER.test(trimmed) ? exactNumber(trimmed) : trimmed
}
