/** Texts in requests: their lengths, and the characters that cannot be stored. */
import { Predicate, Schema } from "effect"

const storable = Schema.makeFilter<string>((text) => text.isWellFormed() && !text.includes("\u0000"), {
  expected: "text without NUL or lone surrogates",
})

// Counts characters, not UTF-16 units: 255 emoji are 255 characters.
const lengthBetween = (minimum: number, maximum: number) =>
  Schema.makeFilter<string>(
    (text) => {
      if (text.length < minimum) return false
      if (text.length <= maximum) return true
      return text.length <= 2 * maximum && Array.from(text).length <= maximum
    },
    {
      expected: minimum === 0 ? `at most ${maximum} characters` : `${minimum} to ${maximum} characters`,
      toJsonSchema: () => ({ minLength: minimum, maxLength: maximum }),
      arbitraryConstraint: { minLength: minimum, maxLength: maximum },
    },
  )

/** Text of `minimum` to `maximum` characters that can be stored. */
export const Text = (minimum: number, maximum: number) => Schema.String.check(lengthBetween(minimum, maximum), storable)

/** The name of a resource: 1 to 255 characters of any script. */
export const Name = Text(1, 255)

/** A description: up to 4,000 characters. */
export const Description = Text(0, 4000)

/** A name in a path or query. Any storable text is accepted; an unknown name gives 404. */
export const PathName = Schema.String.check(storable)

const LIMITS = { bytes: 16 * 1024, depth: 4, keys: 64 }

const withinLimits = (value: unknown, depth: number): boolean => {
  if (typeof value === "string") return value.isWellFormed() && !value.includes("\u0000")
  if (Array.isArray(value)) return depth <= LIMITS.depth && value.every((item) => withinLimits(item, depth + 1))
  if (!Predicate.isObject(value)) return true
  const entries = Object.entries(value)
  return (
    depth <= LIMITS.depth &&
    entries.length <= LIMITS.keys &&
    entries.every(([key, item]) => withinLimits(key, depth) && withinLimits(item, depth + 1))
  )
}

const encoder = new TextEncoder()

// Each UTF-16 code unit takes at most three bytes, so that most texts need not be encoded. The clients use this in
// browsers, which have no `Buffer`.
const MAX_BYTES_PER_UNIT = 3

/** Whether a text has at most this many bytes in UTF-8. */
export const fitsBytes = (text: string, maximum: number): boolean =>
  text.length <= maximum && (text.length * MAX_BYTES_PER_UNIT <= maximum || encoder.encode(text).byteLength <= maximum)

/** An object with any properties, such as `metadata`: at most 16 KiB as JSON, four levels, 64 keys in each object. */
export const FreeObject = Schema.Record(Schema.String, Schema.Unknown).check(
  Schema.makeFilter((value) => withinLimits(value, 1) && fitsBytes(JSON.stringify(value), LIMITS.bytes), {
    expected: "an object of at most 16 KiB, 4 levels and 64 keys per object, without NUL or lone surrogates",
  }),
)
