/**
 * Reads JSON with the names that were written. Node.js 24 to 26 takes a name with an escape for another name of the same length, if an
 * object whose name has a backslash there was read before: after `{"a":1,"\\":1}` it reads `{"a":1,"\t":1}` as that. So one
 * organization's body could change how another one's is read (ADR 2). Pure.
 */

// Typed here because ES2026 adds them.
const { isRawJSON, parse } = JSON as unknown as {
  readonly isRawJSON?: (value: unknown) => boolean
  /** The function of Node.js, also after it was replaced. */
  readonly parse: (text: string, revive?: Revive) => unknown
}

/** Called for each value, innermost first. `source` is the text of a number, string, boolean or `null`. */
type Revive = (key: string, value: unknown, context: { readonly source?: string }) => unknown

/** What each text with an escape in a name matches, and few others. */
const MAY_HAVE_ESCAPED_NAME = /[{,]\s*"[^"\\]*\\/

const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g

/** A name as four hexadecimal digits for each code unit, after a letter, because `JSON.parse` sorts names that are whole numbers. */
const encodedName = (name: string): string =>
  `x${name.replaceAll(/[^]/g, (unit) => unit.charCodeAt(0).toString(16).padStart(4, "0"))}`

const decodedName = (name: string): string =>
  name.slice(1).replaceAll(/.{4}/g, (digits) => String.fromCharCode(Number.parseInt(digits, 16)))

/** Writes the names of properties so that they need no escapes. The text is JSON. */
const withEncodedNames = (text: string): string =>
  text.replaceAll(STRING, (found, colon: string | undefined) => {
    if (colon === undefined) return found
    const name: unknown = parse(found.slice(0, -colon.length))
    return `"${encodedName(String(name))}"${colon}`
  })

const decodeNames = (record: object): void => {
  const properties = Object.entries(record)
  for (const [name] of properties) Reflect.deleteProperty(record, name)
  for (const [name, value] of properties) {
    // Assigned, `__proto__` would set the prototype.
    Object.defineProperty(record, decodedName(name), { value, writable: true, enumerable: true, configurable: true })
  }
}

/** Without recursion, because texts are as deep as they like. */
const decodeAllNames = (value: unknown): unknown => {
  const rest = [value]
  while (rest.length > 0) {
    const next = rest.pop()
    if (typeof next !== "object" || next === null || isRawJSON?.(next) === true) continue
    if (!Array.isArray(next)) decodeNames(next)
    for (const item of Object.values(next)) rest.push(item)
  }
  return value
}

/** {@link Revive} with the written names. Names around the value are not decoded yet. */
const reviverOf = (revive: Revive): Revive =>
  function (this: unknown, key, value, context) {
    if (typeof value === "object" && value !== null && !Array.isArray(value)) decodeNames(value)
    const name = Array.isArray(this) || key === "" ? key : decodedName(key)
    return revive.call(this, name, value, context)
  }

/** `JSON.parse` with the names that are written in the text. A `revive` is called twice if one of them may have an escape. */
export const parseJsonText = (text: string, revive?: Revive): unknown => {
  const parsed = parse(text, revive)
  if (!MAY_HAVE_ESCAPED_NAME.test(text)) return parsed
  const encoded = withEncodedNames(text)
  return revive === undefined ? decodeAllNames(parse(encoded)) : parse(encoded, reviverOf(revive))
}
