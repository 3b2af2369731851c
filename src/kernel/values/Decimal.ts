/**
 * Numbers of JSON with all their digits. JSON sets no bound to them, a JavaScript number carries about 16; amounts have 18. So
 * where a number would lose digits, its text stands for it, from the request to the decimal and from the decimal to the answer.
 *
 * Types call both a `number`, because both are one in JSON, and all but the rarest are one in JavaScript too. Nobody reckons
 * with them: {@link decimalIn} reads them, {@link amountOf} writes them, and between the two all figures are decimals.
 */
import { BigDecimal, Effect, Option, Predicate, Schema } from "effect"
import { HttpServerRequest } from "effect/http"

const MAX_DIGITS = 18

const LARGEST = 10n ** BigInt(MAX_DIGITS)

/** Whether the number, written out, has at most 18 digits before and 18 after its point. */
export const isStorable = (value: BigDecimal.BigDecimal): boolean => {
  if (value.scale === 0 && value.value < LARGEST && value.value > -LARGEST) return true
  const { scale, value: digits } = BigDecimal.normalize(value)
  const length = digits.toString().replace("-", "").length
  return length <= MAX_DIGITS && scale <= MAX_DIGITS && length - scale <= MAX_DIGITS
}

const NUMERIC = /^[+-]?\d{1,18}(?:\.\d{1,18})?(?:[eE][+-]?\d{1,2})?$/

/** The decimal that a JSON number or a numeric text stands for, by its digits as they are written. */
export const decimalOf = (value: unknown): BigDecimal.BigDecimal | undefined => {
  if (isAmount(value)) return decimalIn(value)
  return typeof value === "string" && NUMERIC.test(value)
    ? BigDecimal.fromStringUnsafe(value.replace(/^\+/, ""))
    : undefined
}

/** What `JSON.stringify` writes as it is. */
interface NumberText {
  readonly rawJSON: string
}

// As the language has them since ES2026; a client of this API may run on an older one, and gets only numbers.
const json = JSON as unknown as {
  readonly rawJSON: (text: string) => NumberText
  readonly isRawJSON?: (value: unknown) => value is NumberText
  readonly parse: (
    text: string,
    revive: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ) => unknown
}

const isNumberText = (value: unknown): value is NumberText => json.isRawJSON?.(value) === true

/** Whether it is a number of JSON, with however many digits. */
export const isAmount = (value: unknown): value is number => Number.isFinite(value) || isNumberText(value)

/** An amount in an answer. In documents and for clients it is a number. */
export const Amount = Schema.Any.check(
  Schema.makeFilter(isAmount, { expected: "a finite number", toJsonSchema: () => ({ type: "number" }) }),
) as unknown as Schema.Codec<number>

const WHOLE = /^-?\d+$/

/** The decimal that a text says, if it is one. Nearly all are whole, and those are read in a fifth of the time. */
export const decimalInText = (text: string): Option.Option<BigDecimal.BigDecimal> =>
  WHOLE.test(text) ? Option.some(BigDecimal.fromBigInt(BigInt(text))) : BigDecimal.fromString(text)

/** The decimal that was stored: {@link decimalInText} of what the database tells of a `numeric`. */
export const storedDecimal = (text: string): BigDecimal.BigDecimal => Option.getOrThrow(decimalInText(text))

/** The decimal that a number of JSON stands for. */
export const decimalIn = (amount: number): BigDecimal.BigDecimal => {
  if (Number.isSafeInteger(amount)) return BigDecimal.fromBigInt(BigInt(amount))
  return isNumberText(amount) ? BigDecimal.fromStringUnsafe(amount.rawJSON) : BigDecimal.fromNumberUnsafe(amount)
}

/** The nearest JavaScript number. */
export const rounded = (amount: number): number => (isNumberText(amount) ? Number(amount.rawJSON) : amount)

const LARGEST_EXPONENT = 100

/** The decimal written out, without an exponent unless it has a hundred zeros. */
export const textOf = (decimal: BigDecimal.BigDecimal): string => {
  const { scale, value } = BigDecimal.normalize(decimal)
  if (Math.abs(scale) > LARGEST_EXPONENT) return BigDecimal.format(decimal)
  const digits = (value < 0n ? -value : value).toString()
  const sign = value < 0n ? "-" : ""
  if (scale <= 0) return sign + digits + "0".repeat(-scale)
  const padded = digits.padStart(scale + 1, "0")
  return `${sign}${padded.slice(0, -scale)}.${padded.slice(-scale)}`
}

// A JavaScript number keeps any 15 digits.
const SURE_DIGITS = 15

const SURE = 10n ** BigInt(SURE_DIGITS)

/** The decimal as a number of JSON. */
export const amountOf = (decimal: BigDecimal.BigDecimal): number => {
  if (decimal.value < SURE && decimal.value > -SURE) {
    return decimal.scale === 0 ? Number(decimal.value) : BigDecimal.toNumberUnsafe(decimal)
  }
  const text = textOf(decimal)
  return String(Number(text)) === text ? Number(text) : (json.rawJSON(text) as unknown as number)
}

// More cannot be stored, so more need not be kept: that there was more is enough.
const MAX_KEPT_DIGITS = 64

/** A number as it was written, without the zeros at its end that say nothing. */
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

// Exponents, and numbers so large that nobody stores them, stay what JavaScript makes of them.
const kept = (value: number, source: string): unknown => {
  if (/e/i.test(source)) return value
  const text = shortened(source)
  return String(value) === text || text.length > MAX_KEPT_DIGITS + 1 ? value : json.rawJSON(text)
}

// Without such a run there is no number of more than 15 digits, and nothing to keep.
const MANY_DIGITS = /[\d.]{16}/

/** What a JSON text says, numbers with all their digits. */
export const parseJson = (text: string): unknown =>
  MANY_DIGITS.test(text)
    ? json.parse(text, (_key, value, { source }) =>
        typeof value === "number" && source !== undefined && source.length > SURE_DIGITS ? kept(value, source) : value,
      )
    : JSON.parse(text)

/** Where an amount stands in a payload, by the names of its members. Of an array every item is meant. */
export type PropertyPath = ReadonlyArray<string>

const withDigits = (payload: unknown, sent: unknown, place: PropertyPath): unknown => {
  if (Array.isArray(payload)) {
    return payload.map((item, index) => withDigits(item, Array.isArray(sent) ? sent[index] : undefined, place))
  }
  const [name, ...rest] = place
  if (name === undefined) return typeof payload === "number" && isNumberText(sent) ? sent : payload
  if (!Predicate.isObject(payload) || !Predicate.isObject(sent)) return payload
  if (!Object.hasOwn(payload, name) || !Object.hasOwn(sent, name)) return payload
  return { ...payload, [name]: withDigits(Reflect.get(payload, name), Reflect.get(sent, name), rest) }
}

/** The decoded payload of this request, its amounts with the digits that were sent. Nearly always it is the payload itself. */
export const withSentDigits = <A>(
  payload: A,
  ...places: ReadonlyArray<PropertyPath>
): Effect.Effect<A, never, HttpServerRequest.HttpServerRequest> =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
    Effect.map(Effect.orDie(request.text), (text) => {
      if (!MANY_DIGITS.test(text)) return payload
      const sent = parseJson(text)
      return places.reduce<unknown>((sofar, place) => withDigits(sofar, sent, place), payload) as A
    }),
  )
