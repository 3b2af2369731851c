/**
 * The tags of a YAML document. A tag that is not evaluated would leave its word as the value, so only those of the data
 * itself are accepted.
 */
import { isAlias, isCollection, isMap, isScalar, visit } from "yaml"
import type { Document, Node } from "yaml"

const CORE = "tag:yaml.org,2002:"

const WHOLE = /^[+-]?\d+$/

/** The tags of scalars, and whether a value is what its tag says. */
const SCALARS: Readonly<Record<string, (value: unknown) => boolean>> = {
  str: (value) => typeof value === "string",
  int: (value) => Number.isInteger(value) || typeof value === "bigint",
  float: (value) => typeof value === "number",
  bool: (value) => typeof value === "boolean",
  null: (value) => value === null,
}

const isFitting = (node: Node, tag: string, isKey: boolean): boolean => {
  if (tag === "!") return true
  if (!tag.startsWith(CORE)) return false
  const name = tag.slice(CORE.length)
  if (isCollection(node)) return name === (isMap(node) ? "map" : "seq")
  if (!isScalar(node)) return false
  // Keys are texts; `<<` is the key that merges.
  if (isKey) return name === "str" || (name === "merge" && node.value === "<<")
  // `!!float 5` is the number 5.
  if (name === "float" && WHOLE.test(node.source ?? "")) node.value = Number(node.source)
  return SCALARS[name]?.(node.value) === true
}

/** A tag that is refused, and where its value begins in the text. */
interface WrongTag {
  readonly tag: string
  readonly offset: number
}

/** The tags of a document that are not those of their values, in its order. */
export const wrongTagsIn = (document: Document.Parsed): ReadonlyArray<WrongTag> => {
  const wrong: Array<WrongTag> = []
  visit(document, {
    Node: (key, node) => {
      if (isAlias(node) || node.tag === undefined || isFitting(node, node.tag, key === "key")) return
      wrong.push({ tag: node.tag.replace(CORE, "!!"), offset: node.range?.[0] ?? 0 })
    },
  })
  return wrong
}
