/** Which variant a flag serves to an evaluation context. Pure (contract, section 9, "Flags"). */
import { Option, Predicate, SemVer } from "effect"
import { FALLBACK } from "../Model.ts"
import type { Condition, FeatureFlag, Operator, Targeting } from "../Model.ts"
import type { Context, Evaluation } from "./Model.ts"
import { bucketOf, isWithin } from "./Rollout.ts"
import { instantOf, versionOf } from "../Rules.ts"

/** What an evaluation rests on. */
export type EvaluatedFlag = Pick<
  FeatureFlag,
  "key" | "enabled" | "metadata" | "variants" | "defaultVariant" | "targetings"
>

/** The targeting key of a context, which may have none; an empty one is none. */
export const targetingKeyOf = ({ targetingKey }: Context): string | undefined =>
  targetingKey === undefined || targetingKey === "" ? undefined : targetingKey

/** A member of the context by its name, or else by the path that its dots make. */
export const attributeOf = (context: Context, attribute: string): unknown => {
  if (Object.hasOwn(context, attribute)) return context[attribute]
  return attribute
    .split(".")
    .reduce<unknown>(
      (value, member) =>
        Predicate.isObject(value) && Object.hasOwn(value, member) ? Reflect.get(value, member) : undefined,
      context,
    )
}

type Test = (actual: unknown, values: ReadonlyArray<unknown>) => boolean

const isOneOf: Test = (actual, values) => values.includes(actual)

const texts =
  (holds: (text: string, part: string) => boolean): Test =>
  (actual, values) =>
    Predicate.isString(actual) && values.some((value) => Predicate.isString(value) && holds(actual, value))

const compared =
  <A>(read: (value: unknown) => Option.Option<A>, holds: (actual: A, value: A) => boolean): Test =>
  (actual, [value]) =>
    Option.match(Option.all([read(actual), read(value)]), {
      onNone: () => false,
      onSome: ([one, other]) => holds(one, other),
    })

const numberOf = (value: unknown): Option.Option<number> =>
  Predicate.isNumber(value) && Number.isFinite(value) ? Option.some(value) : Option.none()

const contains: Test = (actual, values) =>
  Array.isArray(actual)
    ? values.some((value) => actual.includes(value))
    : texts((text, part) => text.includes(part))(actual, values)

const exists: Test = (actual, [wanted = true]) => (actual !== undefined && actual !== null) === wanted

/** What is not there, or is of another kind, compares as false; `NOT_EQUALS` and `NOT_IN` are exact opposites. */
const tests: Record<Operator, Test> = {
  EQUALS: isOneOf,
  NOT_EQUALS: (actual, values) => !isOneOf(actual, values),
  IN: isOneOf,
  NOT_IN: (actual, values) => !isOneOf(actual, values),
  CONTAINS: contains,
  STARTS_WITH: texts((text, part) => text.startsWith(part)),
  ENDS_WITH: texts((text, part) => text.endsWith(part)),
  GT: compared(numberOf, (actual, value) => actual > value),
  GTE: compared(numberOf, (actual, value) => actual >= value),
  LT: compared(numberOf, (actual, value) => actual < value),
  LTE: compared(numberOf, (actual, value) => actual <= value),
  SEMVER_GT: compared(versionOf, (actual, value) => SemVer.isGreaterThan(actual, value)),
  SEMVER_GTE: compared(versionOf, (actual, value) => SemVer.isGreaterThanOrEqualTo(actual, value)),
  SEMVER_LT: compared(versionOf, (actual, value) => SemVer.isLessThan(actual, value)),
  SEMVER_LTE: compared(versionOf, (actual, value) => SemVer.isLessThanOrEqualTo(actual, value)),
  BEFORE: compared(instantOf, (actual, value) => actual < value),
  AFTER: compared(instantOf, (actual, value) => actual > value),
  EXISTS: exists,
}

/** Whether a condition holds for a context. */
export const holds = ({ attribute, operator, values }: Condition, context: Context): boolean =>
  tests[operator](attributeOf(context, attribute), values)

/** OFREP's metadata is flat: texts, numbers and booleans. The fallback is no description of the flag. */
const described = (metadata: FeatureFlag["metadata"]): Record<string, string | number | boolean> =>
  Object.fromEntries(
    Object.entries(metadata).filter(
      (entry): entry is [string, string | number | boolean] =>
        entry[0] !== FALLBACK && ["string", "number", "boolean"].includes(typeof entry[1]),
    ),
  )

// Without a fallback there is no value, which OFREP defines as "use the default in the code".
const fallbackOf = ({ metadata }: EvaluatedFlag): { readonly value?: unknown } => {
  const fallback = metadata[FALLBACK] ?? null
  return fallback === null ? {} : { value: fallback }
}

const served = (flag: EvaluatedFlag, name: string | null): { readonly value?: unknown; readonly variant?: string } => {
  const variant = flag.variants.find((candidate) => candidate.name === name)
  return variant === undefined ? fallbackOf(flag) : { value: variant.value, variant: variant.name }
}

const isServed = (flag: EvaluatedFlag, { name, percentage }: Targeting, targetingKey: string): boolean =>
  isWithin(bucketOf(flag.key, name, targetingKey), percentage ?? 100)

const hasPercentage = ({ percentage }: Targeting): boolean => (percentage ?? null) !== null

/** The failure of a flag that depends on who asks, where nobody said. */
export const targetingKeyMissing = (key: string): Evaluation => ({
  key,
  errorCode: "TARGETING_KEY_MISSING",
  errorDetails: `The flag "${key}" depends on the targeting key, and the context has none.`,
})

/**
 * Evaluates a flag. A disabled one serves its fallback to everybody. Else the first targeting decides whose conditions
 * all hold, and whose percentage (if it has one) holds the targeting key; where none does, the default variant is
 * served, and where there is none of it either, the fallback.
 */
export const evaluate = (flag: EvaluatedFlag, context: Context): Evaluation => {
  const { key } = flag
  const metadata = described(flag.metadata)
  if (!flag.enabled) return { key, ...fallbackOf(flag), reason: "DISABLED", metadata }
  const targetingKey = targetingKeyOf(context)
  for (const targeting of flag.targetings) {
    if (!targeting.conditions.every((condition) => holds(condition, context))) continue
    if (!hasPercentage(targeting)) {
      return { key, ...served(flag, targeting.variant), reason: "TARGETING_MATCH", metadata }
    }
    if (targetingKey === undefined) return targetingKeyMissing(key)
    if (isServed(flag, targeting, targetingKey)) {
      return { key, ...served(flag, targeting.variant), reason: "SPLIT", metadata }
    }
  }
  return { key, ...served(flag, flag.defaultVariant), reason: "STATIC", metadata }
}
