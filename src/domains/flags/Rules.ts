/** What a feature flag may say, and what the manifest says of it. Pure. */
import { Option, Predicate, Result, Schema, SemVer } from "effect"
import type { ProblemFault } from "../../kernel/contract/Problem.ts"
import { FreeObject, Text } from "../../kernel/values/Text.ts"
import { TimestampInput } from "../../kernel/values/Timestamp.ts"
import { ENTITLEMENT_PREFIX, FALLBACK } from "./Model.ts"
import type { Condition, FeatureFlag, FlagType, ManifestFlag, Operator, Targeting, UpdateFeatureFlag } from "./Model.ts"

type Changeable = Pick<
  FeatureFlag,
  "name" | "description" | "enabled" | "metadata" | "variants" | "defaultVariant" | "targetings"
>

const choose = <A>(sent: A | null | undefined, current: A, fallback: A): A =>
  sent === undefined ? current : (sent ?? fallback)

const defaultsOf = (key: string): Changeable => ({
  name: key,
  description: null,
  enabled: true,
  metadata: {},
  variants: [],
  defaultVariant: null,
  targetings: [],
})

/** The changeable members after a request: missing ones stay, `null` gives the default. */
export const changed = (key: string, input: UpdateFeatureFlag, before?: Changeable): Changeable => {
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

const LONGEST_TEXT = 16_384

const isText = Schema.is(Text(0, LONGEST_TEXT))
const isFreeObject = Schema.is(FreeObject)
const decodeInstant = Schema.decodeUnknownOption(TimestampInput)

const valueTests: Record<FlagType, readonly [fits: (value: unknown) => boolean, due: string]> = {
  boolean: [Predicate.isBoolean, "must be true or false"],
  string: [isText, `must be a text of at most ${LONGEST_TEXT} characters, without NUL`],
  integer: [(value) => Number.isSafeInteger(value), "must be an integer of at most 53 bits"],
  float: [(value) => Number.isFinite(value), "must be a number"],
  object: [
    (value) => Predicate.isObject(value) && isFreeObject(value),
    "must be an object of at most 16 KiB, 4 levels and 64 keys, without NUL in its texts",
  ],
}

/** The instant that a text names, if it is ISO 8601 with an offset. */
export const instantOf = (value: unknown): Option.Option<Date> =>
  Predicate.isString(value) ? decodeInstant(value) : Option.none()

/** The semantic version that a text names. */
export const versionOf = (value: unknown): Option.Option<SemVer.SemVer> =>
  Predicate.isString(value) ? Result.getSuccess(SemVer.parse(value)) : Option.none()

const isScalar = (value: unknown): boolean =>
  isText(value) || Predicate.isBoolean(value) || (Predicate.isNumber(value) && Number.isFinite(value))

interface Shape {
  readonly fits: (value: unknown) => boolean
  readonly due: string
  readonly least: number
  readonly most: number
}

const shape = (fits: Shape["fits"], due: string, least = 1, most = 1): Shape => ({ fits, due, least, most })

const scalar = shape(isScalar, "must be a text, a number, or true or false")
const text = shape(isText, "must be a text")
const number = shape((value) => Number.isFinite(value), "must be a number")
const version = shape((value) => Option.isSome(versionOf(value)), "must be a semantic version, e.g. 1.4.0")
const instant = shape(
  (value) => Option.isSome(instantOf(value)),
  "must be an ISO 8601 date-time with an offset, e.g. 2026-01-31T09:00:00Z",
)
const several = (one: Shape): Shape => ({ ...one, most: 100 })

const shapes: Record<Operator, Shape> = {
  EQUALS: scalar,
  NOT_EQUALS: scalar,
  IN: several(scalar),
  NOT_IN: several(scalar),
  CONTAINS: several(scalar),
  STARTS_WITH: several(text),
  ENDS_WITH: several(text),
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

const fault = (location: string, message: string, value: unknown): ProblemFault => ({ location, message, value })

const countDue = ({ least, most }: Shape): string => {
  if (least === most) return `takes exactly ${least} value`
  return least === 0 ? `takes at most ${most} value` : "takes one value or more"
}

const conditionFaults = (place: string, { operator, values }: Condition): ReadonlyArray<ProblemFault> => {
  const due = shapes[operator]
  if (values.length < due.least || values.length > due.most) {
    return [fault(`${place}.values`, `${operator} ${countDue(due)}`, values)]
  }
  return values.flatMap((value, index) =>
    due.fits(value) ? [] : [fault(`${place}.values[${index}]`, `${due.due} for ${operator}`, value)],
  )
}

const isPercentage = (value: number): boolean => {
  const thousandths = value * 1000
  return value >= 0 && value <= 100 && Math.abs(thousandths - Math.round(thousandths)) < 1e-6
}

const repeated = (names: ReadonlyArray<string>, place: string): ReadonlyArray<ProblemFault> =>
  names.flatMap((name, index) =>
    names.indexOf(name) === index ? [] : [fault(`${place}[${index}].name`, "is the name of another one", name)],
  )

const targetingFaults = (
  variants: ReadonlySet<string>,
  place: string,
  { conditions, percentage, variant }: Targeting,
): ReadonlyArray<ProblemFault> => [
  ...(variants.has(variant) ? [] : [fault(`${place}.variant`, "names no variant", variant)]),
  ...((percentage ?? null) === null || isPercentage(percentage ?? 0)
    ? []
    : [fault(`${place}.percentage`, "must be 0 to 100 with at most three decimals", percentage)]),
  ...conditions.flatMap((condition, index) => conditionFaults(`${place}.conditions[${index}]`, condition)),
]

/** What is wrong with a flag as it would be after the request. */
export const faultsOf = (flag: Changeable & Pick<FeatureFlag, "key" | "type">): ReadonlyArray<ProblemFault> => {
  const [fits, due] = valueTests[flag.type]
  const names = new Set(flag.variants.map(({ name }) => name))
  const fallback = flag.metadata[FALLBACK] ?? null
  return [
    ...(flag.key.startsWith(ENTITLEMENT_PREFIX)
      ? [fault("body.key", `must not begin with "${ENTITLEMENT_PREFIX}": such flags are the entitlements`, flag.key)]
      : []),
    ...(fallback === null || fits(fallback) ? [] : [fault(`body.metadata.${FALLBACK}`, due, fallback)]),
    ...flag.variants.flatMap(({ value }, index) =>
      fits(value) ? [] : [fault(`body.variants[${index}].value`, due, value)],
    ),
    ...repeated(
      flag.variants.map(({ name }) => name),
      "body.variants",
    ),
    ...(flag.defaultVariant === null || names.has(flag.defaultVariant)
      ? []
      : [fault("body.defaultVariant", "names no variant", flag.defaultVariant)]),
    ...repeated(
      flag.targetings.map(({ name }) => name),
      "body.targetings",
    ),
    ...flag.targetings.flatMap((targeting, index) => targetingFaults(names, `body.targetings[${index}]`, targeting)),
  ]
}

// Generators write descriptions into line comments: what follows a line break would become source.
const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim()

/** A flag of the manifest; `undefined` for one without a fallback. */
export const listed = (
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
