/** Evaluates flags: chooses the variant for an evaluation context. Pure. */
import { Option, Order, Predicate } from "effect"
import { FALLBACK_PROPERTY } from "../Model.ts"
import type { Condition, FeatureFlag, Operator, Targeting } from "../Model.ts"
import type { Context, Evaluation } from "./Model.ts"
import { bucketOf, isInPercentage } from "./Rollout.ts"
import { instantOf } from "../Rules.ts"
import { byPrecedence, parseVersion } from "../Versions.ts"

/** The parts of a flag that an evaluation needs. */
export type EvaluatedFlag = Pick<
  FeatureFlag,
  "key" | "enabled" | "metadata" | "variants" | "defaultVariant" | "targetings"
>

/** Returns the targeting key of a context. An empty key counts as absent. */
export const targetingKeyOf = ({ targetingKey }: Context): string | undefined =>
  targetingKey === undefined || targetingKey === "" ? undefined : targetingKey

/** Reads a property of the context by its exact name, or else by its path of names separated by dots. */
const readAttribute = (context: Context, attribute: string): unknown => {
  if (Object.hasOwn(context, attribute)) return context[attribute]
  return attribute
    .split(".")
    .reduce<unknown>(
      (value, name) => (Predicate.isObject(value) && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined),
      context,
    )
}

type Test = (actual: unknown, values: ReadonlyArray<unknown>) => boolean

const isOneOf: Test = (actual, values) => values.includes(actual)

const stringTest =
  (matches: (text: string, part: string) => boolean): Test =>
  (actual, values) =>
    Predicate.isString(actual) && values.some((value) => Predicate.isString(value) && matches(actual, value))

const comparison =
  <A>(parse: (value: unknown) => Option.Option<A>, matches: (actual: A, value: A) => boolean): Test =>
  (actual, [value]) =>
    Option.match(Option.all([parse(actual), parse(value)]), {
      onNone: () => false,
      onSome: ([left, right]) => matches(left, right),
    })

const numberOf = (value: unknown): Option.Option<number> =>
  Predicate.isNumber(value) && Number.isFinite(value) ? Option.some(value) : Option.none()

const contains: Test = (actual, values) =>
  Array.isArray(actual)
    ? values.some((value) => actual.includes(value))
    : stringTest((text, part) => text.includes(part))(actual, values)

const exists: Test = (actual, [wanted = true]) => (actual !== undefined && actual !== null) === wanted

/**
 * Missing attributes and wrong types never match. `NOT_EQUALS` and `NOT_IN` are exact opposites of `EQUALS` and `IN`.
 */
const tests: Record<Operator, Test> = {
  EQUALS: isOneOf,
  NOT_EQUALS: (actual, values) => !isOneOf(actual, values),
  IN: isOneOf,
  NOT_IN: (actual, values) => !isOneOf(actual, values),
  CONTAINS: contains,
  STARTS_WITH: stringTest((text, part) => text.startsWith(part)),
  ENDS_WITH: stringTest((text, part) => text.endsWith(part)),
  GT: comparison(numberOf, (actual, value) => actual > value),
  GTE: comparison(numberOf, (actual, value) => actual >= value),
  LT: comparison(numberOf, (actual, value) => actual < value),
  LTE: comparison(numberOf, (actual, value) => actual <= value),
  SEMVER_GT: comparison(parseVersion, (actual, value) => Order.isGreaterThan(byPrecedence)(actual, value)),
  SEMVER_GTE: comparison(parseVersion, (actual, value) => Order.isGreaterThanOrEqualTo(byPrecedence)(actual, value)),
  SEMVER_LT: comparison(parseVersion, (actual, value) => Order.isLessThan(byPrecedence)(actual, value)),
  SEMVER_LTE: comparison(parseVersion, (actual, value) => Order.isLessThanOrEqualTo(byPrecedence)(actual, value)),
  BEFORE: comparison(instantOf, (actual, value) => actual < value),
  AFTER: comparison(instantOf, (actual, value) => actual > value),
  EXISTS: exists,
}

// No condition needs more: without a limit, a value of a megabyte is searched once for each value of each condition.
const MAX_TEXT_LENGTH = 10_000
const MAX_ITEMS = 1_000

const isTooLong = (actual: unknown): boolean =>
  (Predicate.isString(actual) && actual.length > MAX_TEXT_LENGTH) ||
  (Array.isArray(actual) && actual.length > MAX_ITEMS)

/** Whether a condition matches a context. A text or an array that is too long only exists, like one of a wrong type. */
export const matches = ({ attribute, operator, values }: Condition, context: Context): boolean => {
  const actual = readAttribute(context, attribute)
  return tests[operator](operator !== "EXISTS" && isTooLong(actual) ? undefined : actual, values)
}

/** Selects the metadata to return: OFREP allows only strings, numbers and booleans. The fallback is not metadata. */
const publicMetadata = (metadata: FeatureFlag["metadata"]): Record<string, string | number | boolean> =>
  Object.fromEntries(
    Object.entries(metadata).filter(
      (entry): entry is [string, string | number | boolean] =>
        entry[0] !== FALLBACK_PROPERTY && ["string", "number", "boolean"].includes(typeof entry[1]),
    ),
  )

// Without a fallback there is no value. OFREP defines this as "use the default in the code".
const fallbackOf = ({ metadata }: EvaluatedFlag): { readonly value?: unknown } => {
  const fallback = metadata[FALLBACK_PROPERTY] ?? null
  return fallback === null ? {} : { value: fallback }
}

const servedVariant = (
  flag: EvaluatedFlag,
  name: string | null,
): { readonly value?: unknown; readonly variant?: string } => {
  const variant = flag.variants.find((candidate) => candidate.name === name)
  return variant === undefined ? fallbackOf(flag) : { value: variant.value, variant: variant.name }
}

const isInRollout = (flag: EvaluatedFlag, { name, percentage }: Targeting, targetingKey: string): boolean =>
  isInPercentage(bucketOf(flag.key, name, targetingKey), percentage ?? 100)

const hasPercentage = ({ percentage }: Targeting): boolean => (percentage ?? null) !== null

/** Result for a flag that needs a targeting key when the context has none. */
export const targetingKeyMissing = (key: string): Evaluation => ({
  key,
  errorCode: "TARGETING_KEY_MISSING",
  errorDetails: `The flag "${key}" needs a targeting key. Set \`context.targetingKey\`.`,
})

/**
 * Evaluates a flag. A disabled flag always serves its fallback. Otherwise the first targeting decides whose conditions
 * all match and whose percentage, if any, includes the targeting key. If no targeting matches, the default variant is
 * served; without a default variant, the fallback.
 */
export const evaluate = (flag: EvaluatedFlag, context: Context): Evaluation => {
  const { key } = flag
  const metadata = publicMetadata(flag.metadata)
  if (!flag.enabled) return { key, ...fallbackOf(flag), reason: "DISABLED", metadata }
  const targetingKey = targetingKeyOf(context)
  for (const targeting of flag.targetings) {
    if (!targeting.conditions.every((condition) => matches(condition, context))) continue
    if (!hasPercentage(targeting)) {
      return { key, ...servedVariant(flag, targeting.variant), reason: "TARGETING_MATCH", metadata }
    }
    if (targetingKey === undefined) return targetingKeyMissing(key)
    if (isInRollout(flag, targeting, targetingKey)) {
      return { key, ...servedVariant(flag, targeting.variant), reason: "SPLIT", metadata }
    }
  }
  return { key, ...servedVariant(flag, flag.defaultVariant), reason: "STATIC", metadata }
}
