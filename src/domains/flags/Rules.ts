/** Validation and updates of feature flags, and their manifest entries. Pure. */
import { Predicate, Schema } from "effect"
import type { ValidationError } from "../../kernel/contract/Problem.ts"
import { FreeObject, Text } from "../../kernel/values/Text.ts"
import { INSTANT_FORM } from "../../kernel/values/Timestamp.ts"
import { dateTimeMs } from "../../offline/values/DateTimes.ts"
import { parseVersion } from "../../offline/values/Versions.ts"
import { FALLBACK_PROPERTY } from "./Model.ts"
import { ENTITLEMENT_PREFIX } from "../../offline/EntitlementFlags.ts"
import type { Condition, FeatureFlag, FlagType, ManifestFlag, Operator, Targeting, UpdateFeatureFlag } from "./Model.ts"

type Changeable = Pick<
  FeatureFlag,
  "name" | "description" | "enabled" | "metadata" | "variants" | "defaultVariant" | "targetings"
>

const choose = <A>(sent: A | null | undefined, current: A, fallback: A): A =>
  sent === undefined ? current : (sent ?? fallback)

/** What a new flag has where the request says nothing. */
export const defaultsOf = (key: string): Changeable => ({
  name: key,
  description: null,
  enabled: true,
  metadata: {},
  variants: [],
  defaultVariant: null,
  targetings: [],
})

/** Applies a request to the changeable properties: omitted ones stay unchanged, `null` resets one to its default. */
export const applyUpdate = (key: string, input: UpdateFeatureFlag, before?: Changeable): Changeable => {
  const defaults = defaultsOf(key)
  const current = before ?? defaults
  return {
    name: choose(input.name, current.name, defaults.name),
    description: choose(input.description, current.description, defaults.description),
    enabled: choose(input.enabled, current.enabled, defaults.enabled),
    metadata: choose(input.metadata, current.metadata, defaults.metadata),
    variants: choose(input.variants, current.variants, defaults.variants),
    defaultVariant: choose(input.defaultVariant, current.defaultVariant, defaults.defaultVariant),
    targetings: choose(input.targetings, current.targetings, defaults.targetings),
  }
}

const MAX_TEXT_LENGTH = 16_384

const isText = Schema.is(Text(0, MAX_TEXT_LENGTH))
const isFreeObject = Schema.is(FreeObject)

const valueTests: Record<FlagType, readonly [fits: (value: unknown) => boolean, expected: string]> = {
  boolean: [Predicate.isBoolean, "must be true or false"],
  string: [isText, `must be a string of at most ${MAX_TEXT_LENGTH} characters without NUL`],
  integer: [(value) => Number.isSafeInteger(value), "must be an integer of at most 53 bits"],
  float: [(value) => Number.isFinite(value), "must be a number"],
  object: [
    (value) => Predicate.isObject(value) && isFreeObject(value),
    "must be an object of at most 16 KiB, 4 levels and 64 keys, with no NUL in its strings",
  ],
}

const isScalar = (value: unknown): boolean =>
  isText(value) || Predicate.isBoolean(value) || (Predicate.isNumber(value) && Number.isFinite(value))

interface Shape {
  readonly fits: (value: unknown) => boolean
  readonly expected: string
  readonly min: number
  readonly max: number
}

const shape = (fits: Shape["fits"], expected: string, min = 1, max = 1): Shape => ({ fits, expected, min, max })

const scalar = shape(isScalar, "must be a string, a number or a boolean")
const text = shape(isText, "must be a string")
const number = shape((value) => Number.isFinite(value), "must be a number")
const version = shape((value) => parseVersion(value) !== undefined, "must be a semantic version, e.g. 1.4.0")
const instant = shape((value) => dateTimeMs(value) !== undefined, `must be ${INSTANT_FORM}`)
const oneOrMore = (single: Shape): Shape => ({ ...single, max: 100 })

const shapes: Record<Operator, Shape> = {
  EQUALS: scalar,
  NOT_EQUALS: scalar,
  IN: oneOrMore(scalar),
  NOT_IN: oneOrMore(scalar),
  CONTAINS: oneOrMore(scalar),
  STARTS_WITH: oneOrMore(text),
  ENDS_WITH: oneOrMore(text),
  GT: number,
  GTE: number,
  LT: number,
  LTE: number,
  SEMVER_GT: version,
  SEMVER_GTE: version,
  SEMVER_LT: version,
  SEMVER_LTE: version,
  BEFORE: instant,
  AFTER: instant,
  EXISTS: shape(Predicate.isBoolean, "must be true or false", 0, 1),
}

const validationError = (location: string, message: string, value: unknown): ValidationError => ({
  location,
  message,
  value,
})

const expectedCount = ({ max, min }: Shape): string => {
  if (min === max) return `requires exactly ${min} value`
  return min === 0 ? `takes at most ${max} value` : "requires at least one value"
}

const conditionErrors = (path: string, { operator, values }: Condition): ReadonlyArray<ValidationError> => {
  const shape = shapes[operator]
  if (values.length < shape.min || values.length > shape.max) {
    return [
      validationError(`${path}.values`, `has the wrong number of values: ${operator} ${expectedCount(shape)}`, values),
    ]
  }
  return values.flatMap((value, index) =>
    shape.fits(value) ? [] : [validationError(`${path}.values[${index}]`, `${shape.expected} for ${operator}`, value)],
  )
}

const isPercentage = (value: number): boolean => {
  const thousandths = value * 1000
  return value >= 0 && value <= 100 && Math.abs(thousandths - Math.round(thousandths)) < 1e-6
}

const duplicateNames = (names: ReadonlyArray<string>, path: string): ReadonlyArray<ValidationError> =>
  names.flatMap((name, index) =>
    names.indexOf(name) === index ? [] : [validationError(`${path}[${index}].name`, "must be unique", name)],
  )

const targetingErrors = (
  variants: ReadonlySet<string>,
  path: string,
  { conditions, percentage, variant }: Targeting,
): ReadonlyArray<ValidationError> => [
  ...(variants.has(variant) ? [] : [validationError(`${path}.variant`, "must be the name of a variant", variant)]),
  ...((percentage ?? null) === null || isPercentage(percentage ?? 0)
    ? []
    : [validationError(`${path}.percentage`, "must be between 0 and 100 with at most three decimals", percentage)]),
  ...conditions.flatMap((condition, index) => conditionErrors(`${path}.conditions[${index}]`, condition)),
]

/** Validates a flag as it would be after the request. */
export const validateFlag = (flag: Changeable & Pick<FeatureFlag, "key" | "type">): ReadonlyArray<ValidationError> => {
  const [fits, expected] = valueTests[flag.type]
  const names = new Set(flag.variants.map(({ name }) => name))
  const fallback = flag.metadata[FALLBACK_PROPERTY] ?? null
  return [
    ...(flag.key.startsWith(ENTITLEMENT_PREFIX)
      ? [
          validationError(
            "body.key",
            `must not begin with "${ENTITLEMENT_PREFIX}", which is reserved for entitlements`,
            flag.key,
          ),
        ]
      : []),
    ...(fallback === null || fits(fallback)
      ? []
      : [validationError(`body.metadata.${FALLBACK_PROPERTY}`, expected, fallback)]),
    ...flag.variants.flatMap(({ value }, index) =>
      fits(value) ? [] : [validationError(`body.variants[${index}].value`, expected, value)],
    ),
    ...duplicateNames(
      flag.variants.map(({ name }) => name),
      "body.variants",
    ),
    ...(flag.defaultVariant === null || names.has(flag.defaultVariant)
      ? []
      : [validationError("body.defaultVariant", "must be the name of a variant", flag.defaultVariant)]),
    ...duplicateNames(
      flag.targetings.map(({ name }) => name),
      "body.targetings",
    ),
    ...flag.targetings.flatMap((targeting, index) => targetingErrors(names, `body.targetings[${index}]`, targeting)),
  ]
}

// Code generators write descriptions into line comments. Text after a line break would become source code.
const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim()

/** Converts a flag to its manifest entry. */
export const toManifestFlag = (
  flag: Omit<ManifestFlag, "description" | "defaultValue"> & {
    readonly description: string | null
    readonly fallback: unknown
  },
): ManifestFlag => ({
  key: flag.key,
  name: oneLine(flag.name) || flag.key,
  description: oneLine(flag.description ?? ""),
  type: flag.type,
  defaultValue: flag.fallback,
})
