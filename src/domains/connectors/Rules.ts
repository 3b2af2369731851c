/** Rules for inclusions, lists and stored documents of connectors. Pure. */
import { Predicate } from "effect"
import type { Position } from "../../kernel/contract/Page.ts"
import { fitsBytes } from "../../kernel/values/Text.ts"

/** The default inclusion: an organization may activate every connector. */
export const includedByDefault: ReadonlyArray<string> = ["*"]

/** Whether an inclusion covers a connector. */
export const includes = (connectors: ReadonlyArray<string>, name: string): boolean =>
  connectors.includes("*") || connectors.includes(name)

/** Up to `count` items after the position, of a list that is sorted newest first. */
export const listedAfter = <A extends { readonly id: string }>(
  newestFirst: ReadonlyArray<A>,
  after: Position | null,
  count: number,
): ReadonlyArray<A> => newestFirst.filter(({ id }) => after === null || id < String(after[0])).slice(0, count)

const MAX_BYTES = 64 * 1024
const MAX_DEPTH = 64

const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes("\u0000")

const isSound = (value: unknown, depth: number): boolean => {
  if (Predicate.isString(value)) return isStorable(value)
  if (!Predicate.isObjectOrArray(value)) return true
  return (
    depth <= MAX_DEPTH &&
    Object.entries(value).every(([key, property]) => isStorable(key) && isSound(property, depth + 1))
  )
}

/** The reason why a settings document or a schema cannot be stored, or `undefined` if it can. */
export const documentError = (document: unknown): string | undefined => {
  if (!isSound(document, 1)) return `must not contain NUL or lone surrogates, or more than ${MAX_DEPTH} levels`
  return fitsBytes(JSON.stringify(document), MAX_BYTES) ? undefined : "must be at most 64 KiB"
}
