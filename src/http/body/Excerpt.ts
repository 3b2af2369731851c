/**
 * Excerpts of JSON, so that naming what is wrong with a body costs no more than reading it: a decoder that collects all
 * errors takes half a second for a megabyte. Pure.
 */
import { Predicate } from "effect"

/** The maximum number of values in a body: properties of objects and items of arrays, at all depths together. */
export const MAX_VALUES = 30_000

/** Errors are looked for in this many values. */
export const EXCERPT_VALUES = 2_000

/** The beginning of a JSON value. */
export interface Excerpt {
  readonly json: unknown
  /** Whether the excerpt contains all of what is at this path, or shows that nothing is there. */
  readonly isComplete: (path: ReadonlyArray<PropertyKey>) => boolean
}

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPENING = new Map([
  [0x5b, "]"],
  [0x7b, "}"],
])
const CLOSING = new Set([0x5d, 0x7d])

/** The position of the quote that ends a string; the text's length if there is none. */
const endOfString = (text: string, start: number): number => {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end
  }
  return text.length
}

/**
 * The first {@link EXCERPT_VALUES} values of a JSON text with more than `maxValues`, closed so that they are JSON again;
 * `undefined` for other texts. The text is not parsed: parsing an object of 85,000 properties takes three times as long
 * as receiving it.
 */
export const beginningOfLong = (
  text: string,
  maxValues: number,
  excerptValues = EXCERPT_VALUES,
): string | undefined => {
  // Each value but the last one takes at least a character and a comma.
  if (text.length < maxValues * 2) return undefined
  const open: Array<string> = []
  let commas = 0
  let beginning = ""
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) index = endOfString(text, index)
    else if (code === COMMA) {
      commas++
      if (commas === excerptValues) beginning = text.slice(0, index) + open.toReversed().join("")
      if (commas >= maxValues) return beginning
    } else if (CLOSING.has(code)) open.pop()
    else {
      const closing = OPENING.get(code)
      if (closing !== undefined) open.push(closing)
    }
  }
  return undefined
}

const makeExcerpt = (json: unknown, cut: ReadonlySet<unknown>): Excerpt => ({
  json,
  isComplete: (path) => {
    let value = json
    for (const key of path) {
      if (!Predicate.isObjectOrArray(value) || !Object.hasOwn(value, key)) return !cut.has(value)
      value = Reflect.get(value, key)
    }
    return !cut.has(value)
  },
})

const INDEX = /^\d+$/

// JavaScript moves properties that are named like indexes to the front, so that any of them may have been the last one.
const mayBeLast = (value: object): ReadonlyArray<unknown> => {
  if (Array.isArray(value)) return value.slice(-1)
  const entries = Object.entries(value)
  return entries.filter(([name], index) => index === entries.length - 1 || INDEX.test(name)).map(([, last]) => last)
}

/** The excerpt of a text's beginning, once it is parsed. It was cut at its end, so every last part may be incomplete. */
export const excerptOfBeginning = (json: unknown): Excerpt => {
  const cut = new Set<unknown>()
  const waiting = [json]
  for (let last = waiting.pop(); last !== undefined; last = waiting.pop()) {
    if (!Predicate.isObjectOrArray(last)) continue
    cut.add(last)
    waiting.push(...mayBeLast(last))
  }
  return makeExcerpt(json, cut)
}

/** The excerpt of a value that was not cut. */
export const wholeExcerpt = (json: unknown): Excerpt => makeExcerpt(json, new Set())

/** Whether a value takes at most about `maxLength` characters as JSON. It looks at no more than these. */
export const isShort = (value: unknown, maxLength: number): boolean => {
  let left = maxLength
  const fits = (part: unknown): boolean => {
    if (Predicate.isString(part)) left -= part.length + 2
    else if (Array.isArray(part)) {
      left -= part.length + 2
      return left >= 0 && part.every(fits)
    } else if (Predicate.isObject(part)) {
      for (const name in part) {
        left -= name.length + 4
        if (left < 0 || !fits(Reflect.get(part, name))) return false
      }
    } else left -= String(part).length
    return left >= 0
  }
  return fits(value)
}
