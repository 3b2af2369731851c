/** What a license includes, and the order of listings. Pure. */
import { Predicate } from "effect"
import type { Position } from "../../kernel/contract/Page.ts"

/** What an organization may activate until the operator says otherwise: everything. */
export const includedByDefault: ReadonlyArray<string> = ["*"]

/** Whether a license that includes these connectors includes this one. */
export const includes = (connectors: ReadonlyArray<string>, name: string): boolean =>
  connectors.includes("*") || connectors.includes(name)

/** Part of a listing that is newest first: what stands behind the position, at most `count`. */
export const listedAfter = <A extends { readonly id: string }>(
  newestFirst: ReadonlyArray<A>,
  after: Position | null,
  count: number,
): ReadonlyArray<A> => newestFirst.filter(({ id }) => after === null || id < String(after[0])).slice(0, count)

const LONGEST = 64 * 1024
const DEEPEST = 64

const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes("\u0000")

const isSound = (value: unknown, depth: number): boolean => {
  if (Predicate.isString(value)) return isStorable(value)
  if (!Predicate.isObjectOrArray(value)) return true
  return (
    depth <= DEEPEST && Object.entries(value).every(([key, member]) => isStorable(key) && isSound(member, depth + 1))
  )
}

/** Why a document of settings or a schema cannot be stored, if it cannot. */
export const documentFault = (document: unknown): string | undefined => {
  if (!isSound(document, 1)) return `holds NUL or lone surrogates, or is deeper than ${DEEPEST} levels`
  return Buffer.byteLength(JSON.stringify(document)) > LONGEST ? "is larger than 64 KiB" : undefined
}
