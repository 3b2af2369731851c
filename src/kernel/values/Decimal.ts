/**
 * JSON numbers with all their digits, and the decimals they stand for. A JavaScript number carries about 16 digits, an amount up to
 * 18. So where a number would lose digits, its text replaces it: from the request to the decimal, and from the decimal to the response.
 *
 * The types call both a `number`, because both are one in JSON, and nearly all are one in JavaScript too. No code calculates with
 * them: {@link decimalOfAmount} reads them, {@link amountOf} writes them, and everything between is a decimal.
 */
import { BigDecimal, Effect, Option, Predicate, Schema } from "effect"
import { HttpServerRequest } from "effect/http"

export const zero = BigDecimal.fromBigInt(0n)
export const one = BigDecimal.fromBigInt(1n)
export const hundred = BigDecimal.fromBigInt(100n)
export const hundredth = BigDecimal.make(1n, 2)

/** The limit that means "no limit". */
export const unlimited = BigDecimal.fromBigInt(-1n)

/** How many digits an amount may have, before and after its point in total. */
export const MAX_DIGITS = 18

const LARGEST = 10n ** BigInt(MAX_DIGITS)

/** Whether the number, written without an exponent, has at most {@link MAX_DIGITS} digits. */
export const isStorable = (value: BigDecimal.BigDecimal): boolean => {
  if (value.scale === 0 && value.value < LARGEST && value.value > -LARGEST) return true
  const { scale, value: digits } = BigDecimal.normalize(value)
  const length = digits.toString().replace("-", "").length
  return length <= MAX_DIGITS && scale <= MAX_DIGITS && length - scale <= MAX_DIGITS
}

const NUMERIC = /^[+-]?\d{1,18}(?:\.\d{1,18})?(?:[eE][+-]?\d{1,2})?$/

/** The decimal of a JSON number or a numeric text, with the digits that were sent; `undefined` if it is neither. */
export const parseDecimal = (value: unknown): BigDecimal.BigDecimal | undefined => {
  if (isAmount(value)) return decimalOfAmount(value)
  return typeof value === "string" && NUMERIC.test(value)
    ? BigDecimal.fromStringUnsafe(value.replace(/^\+/, ""))
    : undefined
}

/** A text that `JSON.stringify` copies unchanged. */
interface NumberText {
  readonly rawJSON: string
}

// Part of the language since ES2026. A client of this API may run on an older version: it then gets plain numbers.
const json = JSON as unknown as {
  readonly rawJSON: (text: string) => NumberText
  readonly isRawJSON?: (value: unknown) => value is NumberText
  readonly parse: (
    text: string,
    revive: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ) => unknown
}

const isNumberText = (value: unknown): value is NumberText => json.isRawJSON?.(value) === true

/** Whether the value is a JSON number, with any number of digits. */
export const isAmount = (value: unknown): value is number => Number.isFinite(value) || isNumberText(value)

/** An amount in a response. In documents and for clients it is a number. */
export const Amount = Schema.Any.check(
  Schema.makeFilter(isAmount, { expected: "a finite number", toJsonSchema: () => ({ type: "number" }) }),
) as unknown as Schema.Codec<number>

const WHOLE = /^-?\d+$/

/** The decimal of a text, if it is one. Nearly all are whole numbers, which are read in a fifth of the time. */
export const decimalOfText = (text: string): Option.Option<BigDecimal.BigDecimal> =>
  WHOLE.test(text) ? Option.some(BigDecimal.fromBigInt(BigInt(text))) : BigDecimal.fromString(text)

/** The decimal of a `numeric` that the database returned as text. */
export const storedDecimal = (text: string): BigDecimal.BigDecimal => Option.getOrThrow(decimalOfText(text))

/** The decimal of a JSON number. */
export const decimalOfAmount = (amount: number): BigDecimal.BigDecimal => {
  if (Number.isSafeInteger(amount)) return BigDecimal.fromBigInt(BigInt(amount))
  return isNumberText(amount) ? BigDecimal.fromStringUnsafe(amount.rawJSON) : BigDecimal.fromNumberUnsafe(amount)
}

/** The nearest JavaScript number. */
export const nearestNumber = (amount: number): number => (isNumberText(amount) ? Number(amount.rawJSON) : amount)

const LARGEST_EXPONENT = 100

/** The decimal as text, without an exponent unless it has more than a hundred zeros. */
export const decimalText = (decimal: BigDecimal.BigDecimal): string => {
  const { scale, value } = BigDecimal.normalize(decimal)
  if (Math.abs(scale) > LARGEST_EXPONENT) return BigDecimal.format(decimal)
  const digits = (value < 0n ? -value : value).toString()
  const sign = value < 0n ? "-" : ""
  if (scale <= 0) return sign + digits + "0".repeat(-scale)
  const padded = digits.padStart(scale + 1, "0")
  return `${sign}${padded.slice(0, -scale)}.${padded.slice(-scale)}`
}

// A JavaScript number keeps any 15 digits.
const SAFE_DIGITS = 15

const SAFE_LIMIT = 10n ** BigInt(SAFE_DIGITS)

/** The decimal as a JSON number. */
export const amountOf = (decimal: BigDecimal.BigDecimal): number => {
  if (decimal.value < SAFE_LIMIT && decimal.value > -SAFE_LIMIT) {
    return decimal.scale === 0 ? Number(decimal.value) : BigDecimal.toNumberUnsafe(decimal)
  }
  const text = decimalText(decimal)
  return String(Number(text)) === text ? Number(text) : (json.rawJSON(text) as unknown as number)
}

// More digits cannot be stored. Beyond this length it is enough to know that there were more.
const MAX_KEPT_DIGITS = 64

/** The text of a number without its trailing zeros. */
const shortened = (source: string): string => {
  const point = source.indexOf(".")
  if (point === -1) return source
  let end = source.length
  while (source[end - 1] === "0") end--
  if (end === point + 1) return source.slice(0, point)
  return end > MAX_KEPT_DIGITS && point < MAX_KEPT_DIGITS
    ? `${source.slice(0, MAX_KEPT_DIGITS)}1`
    : source.slice(0, end)
}

// Numbers with an exponent, or too large to be stored, stay JavaScript numbers.
const withAllDigits = (value: number, source: string): unknown => {
  if (/e/i.test(source)) return value
  const text = shortened(source)
  return String(value) === text || text.length > MAX_KEPT_DIGITS + 1 ? value : json.rawJSON(text)
}

// A text without such a run has no number of more than 15 digits.
const MANY_DIGITS = /[\d.]{16}/

/** Parses a JSON text and keeps all digits of its numbers. */
export const parseJson = (text: string): unknown =>
  MANY_DIGITS.test(text)
    ? json.parse(text, (_key, value, { source }) =>
        typeof value === "number" && source !== undefined && source.length > SAFE_DIGITS
          ? withAllDigits(value, source)
          : value,
      )
    : JSON.parse(text)

/** The path of an amount in a payload, by property names. In an array it applies to every item. */
export type PropertyPath = ReadonlyArray<string>

const withDigits = (payload: unknown, sent: unknown, path: PropertyPath): unknown => {
  if (Array.isArray(payload)) {
    return payload.map((item, index) => withDigits(item, Array.isArray(sent) ? sent[index] : undefined, path))
  }
  const [name, ...rest] = path
  if (name === undefined) return typeof payload === "number" && isNumberText(sent) ? sent : payload
  if (!Predicate.isObject(payload) || !Predicate.isObject(sent)) return payload
  if (!Object.hasOwn(payload, name) || !Object.hasOwn(sent, name)) return payload
  return { ...payload, [name]: withDigits(Reflect.get(payload, name), Reflect.get(sent, name), rest) }
}

/** The decoded payload of this request, with all digits that were sent. Nearly always it is the payload itself. */
export const withSentDigits = <A>(
  payload: A,
  ...paths: ReadonlyArray<PropertyPath>
): Effect.Effect<A, never, HttpServerRequest.HttpServerRequest> =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
    Effect.map(Effect.orDie(request.text), (text) => {
      if (!MANY_DIGITS.test(text)) return payload
      const sent = parseJson(text)
      return paths.reduce<unknown>((result, path) => withDigits(result, sent, path), payload) as A
    }),
  )
