/** Evaluates feature flags. The service reduces a flag to a rule for an instance; the rest depends on the caller. */
import { dateTimeMs } from "./values/DateTimes.ts"
import { leadingBits } from "./values/Sha256.ts"
import { isRecord, isText, own } from "./values/Unknown.ts"
import { comparePrecedence, parseVersion } from "./values/Versions.ts"

/** Compares an attribute of the caller's context with values. */
export interface FlagCondition {
  /** A property of the context, or a path of names with dots between them. */
  readonly attribute: string
  readonly operator: string
  readonly values: ReadonlyArray<unknown>
}

/** What is served. Without `value`, the default in the code. */
export interface Served {
  readonly value?: unknown
  readonly variant?: string
}

export interface FlagTargeting extends Served {
  /** Part of what a percentage is computed from. */
  readonly name: string
  /** All of them must match. */
  readonly conditions: ReadonlyArray<FlagCondition>
  /** Which part of the targeting keys, with up to three decimals. Absent: all contexts. */
  readonly percentage?: number | null
}

type Metadata = Readonly<Record<string, string | number | boolean>>

/** A flag as it is for one instance. */
export interface FlagRule {
  readonly key: string
  readonly metadata: Metadata
  /** The first one that matches decides. */
  readonly targetings: ReadonlyArray<FlagTargeting>
  readonly otherwise: Served & { readonly reason: "STATIC" | "DISABLED" | "TARGETING_MATCH" }
}

/** The result of an evaluation, as OFREP defines it. */
export type FlagEvaluation =
  | (Served & {
      readonly key: string
      readonly reason: "STATIC" | "DISABLED" | "TARGETING_MATCH" | "SPLIT"
      readonly metadata: Metadata
    })
  | {
      readonly key: string
      readonly errorCode: "TARGETING_KEY_MISSING" | "INVALID_CONTEXT" | "PARSE_ERROR"
      readonly errorDetails: string
    }

/** Attributes with this name, and below it, are facts of the service. Those that a caller sends are ignored. */
export const FACTS = "keyshelf"

const BELOW_FACTS = `${FACTS}.`

export const isFact = (attribute: string): boolean => attribute === FACTS || attribute.startsWith(BELOW_FACTS)

/** Reads a property by its exact name, or else by its path of names separated by dots. */
export const readPath = (context: unknown, attribute: string): unknown =>
  isRecord(context) && Object.hasOwn(context, attribute)
    ? context[attribute]
    : attribute.split(".").reduce(own, context)

type Test = (actual: unknown, values: ReadonlyArray<unknown>) => boolean

const isOneOf: Test = (actual, values) => values.includes(actual)

const textTest =
  (matches: (text: string, part: string) => boolean): Test =>
  (actual, values) =>
    isText(actual) && values.some((value) => isText(value) && matches(actual, value))

const comparison =
  <A>(
    parse: (value: unknown) => A | undefined,
    order: (one: A, other: A) => number,
    holds: (sign: number) => boolean,
  ): Test =>
  (actual, [value]) => {
    const [left, right] = [parse(actual), parse(value)]
    return left !== undefined && right !== undefined && holds(order(left, right))
  }

const numberOf = (value: unknown): number | undefined => (Number.isFinite(value) ? (value as number) : undefined)

const byNumber = (one: number, other: number): number => (one < other ? -1 : one > other ? 1 : 0)

const contains: Test = (actual, values) =>
  Array.isArray(actual)
    ? values.some((value) => actual.includes(value))
    : textTest((text, part) => text.includes(part))(actual, values)

const exists: Test = (actual, [wanted = true]) => (actual !== undefined && actual !== null) === wanted

const greater = (sign: number): boolean => sign > 0
const atLeast = (sign: number): boolean => sign >= 0
const less = (sign: number): boolean => sign < 0
const atMost = (sign: number): boolean => sign <= 0

/**
 * Missing attributes and wrong types never match. `NOT_EQUALS` and `NOT_IN` are exact opposites of `EQUALS` and `IN`.
 */
const tests: Readonly<Record<string, Test>> = {
  EQUALS: isOneOf,
  NOT_EQUALS: (actual, values) => !isOneOf(actual, values),
  IN: isOneOf,
  NOT_IN: (actual, values) => !isOneOf(actual, values),
  CONTAINS: contains,
  STARTS_WITH: textTest((text, part) => text.startsWith(part)),
  ENDS_WITH: textTest((text, part) => text.endsWith(part)),
  GT: comparison(numberOf, byNumber, greater),
  GTE: comparison(numberOf, byNumber, atLeast),
  LT: comparison(numberOf, byNumber, less),
  LTE: comparison(numberOf, byNumber, atMost),
  SEMVER_GT: comparison(parseVersion, comparePrecedence, greater),
  SEMVER_GTE: comparison(parseVersion, comparePrecedence, atLeast),
  SEMVER_LT: comparison(parseVersion, comparePrecedence, less),
  SEMVER_LTE: comparison(parseVersion, comparePrecedence, atMost),
  BEFORE: comparison(dateTimeMs, byNumber, less),
  AFTER: comparison(dateTimeMs, byNumber, greater),
  EXISTS: exists,
}

// No condition needs more: without a limit, a value of a megabyte is searched once for each value of each condition.
const MAX_TEXT_LENGTH = 10_000
const MAX_ITEMS = 1_000

const isTooLong = (actual: unknown): boolean =>
  (isText(actual) && actual.length > MAX_TEXT_LENGTH) || (Array.isArray(actual) && actual.length > MAX_ITEMS)

/**
 * Whether a condition holds for a value of its attribute. A text or an array that is too long only exists, like one of a
 * wrong type. An operator of a later release never matches.
 */
export const holds = ({ operator, values }: FlagCondition, actual: unknown): boolean => {
  const test = Object.hasOwn(tests, operator) ? tests[operator] : undefined
  return test !== undefined && test(operator !== "EXISTS" && isTooLong(actual) ? undefined : actual, values)
}

/** Number of buckets: one per thousandth of a percent, because percentages have up to three decimals. */
export const BUCKETS = 100_000

/**
 * The bucket of a targeting key, 0 to 99,999. It never changes between versions, and clients can recompute it
 * (docs/feature-flags.md). The flag and the targeting are part of it, so that different rollouts select different keys for
 * their first 10 %.
 */
export const bucketOf = (flagKey: string, targeting: string, targetingKey: string): number =>
  leadingBits(`${flagKey}/${targeting}/${targetingKey}`) % BUCKETS

/** Whether a percentage includes a bucket. A larger percentage includes every bucket of a smaller one. */
export const isInPercentage = (bucket: number, percentage: number): boolean => bucket < Math.round(percentage * 1000)

/** The result for a flag that needs a targeting key when the context has none. */
export const targetingKeyMissing = (key: string) => ({
  key,
  errorCode: "TARGETING_KEY_MISSING" as const,
  errorDetails: `The flag "${key}" needs a targeting key. Set \`context.targetingKey\`.`,
})

const serve = (
  { key, metadata }: FlagRule,
  served: Served,
  reason: "STATIC" | "DISABLED" | "TARGETING_MATCH" | "SPLIT",
): FlagEvaluation => ({
  key,
  ...(Object.hasOwn(served, "value") ? { value: served.value } : {}),
  ...(served.variant === undefined ? {} : { variant: served.variant }),
  reason,
  metadata,
})

const evaluate = (rule: FlagRule, context: unknown): FlagEvaluation => {
  const targetingKey = own(context, "targetingKey")
  for (const targeting of rule.targetings) {
    const { conditions, name, percentage } = targeting
    const matches = (condition: FlagCondition): boolean =>
      holds(condition, isFact(condition.attribute) ? undefined : readPath(context, condition.attribute))
    if (!conditions.every(matches)) continue
    if (percentage === undefined || percentage === null) return serve(rule, targeting, "TARGETING_MATCH")
    if (!isText(targetingKey) || targetingKey === "") return targetingKeyMissing(rule.key)
    if (isInPercentage(bucketOf(rule.key, name, targetingKey), percentage)) return serve(rule, targeting, "SPLIT")
  }
  return serve(rule, rule.otherwise, rule.otherwise.reason)
}

const failure = (rule: unknown, errorCode: "INVALID_CONTEXT" | "PARSE_ERROR", errorDetails: string) => {
  const key = own(rule, "key")
  return { key: isText(key) ? key : "", errorCode, errorDetails }
}

/**
 * Evaluates a rule for a context. The first targeting decides whose conditions all match and whose percentage, if any,
 * includes the targeting key. Never throws: what cannot be read is an error of the evaluation.
 */
export const evaluateRule = (rule: FlagRule, context: Readonly<Record<string, unknown>>): FlagEvaluation => {
  const targetingKey = own(context, "targetingKey")
  if (!isRecord(context) || !(targetingKey === undefined || isText(targetingKey))) {
    return failure(rule, "INVALID_CONTEXT", "The context must be an object, and its `targetingKey` a string.")
  }
  try {
    return evaluate(rule, context)
  } catch {
    return failure(rule, "PARSE_ERROR", "The rule is malformed.")
  }
}
