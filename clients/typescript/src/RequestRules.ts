/**
 * What a request may contain. A fault of the request fails the call before anything is sent: what the runtime would throw while it
 * sends looks like a service that is away.
 */
const SURROGATE = /\p{Surrogate}/u
const CONTROL = /[^\P{Cc}\x80-\x9f]/u
const KEY = /^[!-~]{1,255}$/
const HEADER_NAME = /^[!#$%&'*+.^_`|~\w-]+$/
/** What `fetch` sends. */
const HEADER_VALUE = /^[\t -~\x80-\xff]*$/
const MAX_LABEL_LENGTH = 255

/** An idempotency key, in the form that the service accepts. */
export const keyOf = (value: unknown): string => {
  if (typeof value === "string" && KEY.test(value)) return value
  throw new TypeError("An idempotencyKey is a text of 1 to 255 visible ASCII characters without blanks")
}

/** Headers in lower case. Values may be secrets, so that errors name the header only. */
export const headersOf = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]: readonly [string, unknown]) => {
      const text = typeof value === "string" ? value.replaceAll(/^[\t\n\r ]+|[\t\n\r ]+$/g, "") : undefined
      if (text === undefined || !HEADER_NAME.test(name) || !HEADER_VALUE.test(text)) {
        throw new TypeError(
          `The header ${JSON.stringify(name)} is not a text, or has a character that headers cannot contain`,
        )
      }
      return [name.toLowerCase(), text]
    }),
  )

/** A slug, or another name in a path or in a check. */
export const nameOf = (what: string, value: unknown): string => {
  if (typeof value === "string" && value !== "" && !CONTROL.test(value) && !SURROGATE.test(value)) return value
  throw new TypeError(`${what} must be a text that is not empty, without control characters and lone surrogates`)
}

/** A segment of a path, encoded. Runtimes resolve `.` and `..` in URLs, so that another operation would be called. */
export const segmentOf = (what: string, value: unknown): string => {
  const name = nameOf(what, value)
  if (name === "." || name === "..") throw new TypeError(`${what} must not be ${JSON.stringify(name)}`)
  return encodeURIComponent(name)
}

/** A text that the service stores, such as an id. Throws `RangeError`. */
export const labelOf = (what: string, value: unknown): string => {
  const length = typeof value === "string" ? Array.from(value).length : 0
  if (typeof value !== "string" || length < 1 || length > MAX_LABEL_LENGTH || /\0|\p{Surrogate}/u.test(value)) {
    throw new RangeError(`${what} must be a text of 1 to ${MAX_LABEL_LENGTH} characters`)
  }
  return value
}

/** A text of a query. */
export const queryTextOf = (name: string, value: string): string => {
  if (!SURROGATE.test(value)) return value
  throw new TypeError(`The value of ${JSON.stringify(name)} has a lone surrogate`)
}

/**
 * The JSON of a body. `JSON.stringify` writes `null` for numbers and dates that are none, which changes the meaning: an
 * end that is `null` means that there is no end.
 */
export const jsonOf = (body: unknown): string => {
  const text: unknown = JSON.stringify(body, function (this: Readonly<Record<string, unknown>>, name, value: unknown) {
    const original = this[name]
    const isNoTime = original instanceof Date && Number.isNaN(original.getTime())
    const isNoNumber = typeof value === "number" && !Number.isFinite(value)
    if (isNoTime || isNoNumber || SURROGATE.test(name) || (typeof value === "string" && SURROGATE.test(value))) {
      throw new TypeError(`JSON cannot contain the name or the value of ${JSON.stringify(name)}`)
    }
    return value
  })
  if (typeof text === "string") return text
  throw new TypeError("The body is not JSON")
}
