/** What a product does while the service is away. The caller decides for each check. */
import { ageMs } from "../Clocks.ts"
import type { Reading } from "../Clocks.ts"
import { isAtMost } from "./Decimal.ts"

/** The maximum number of last answers that a client caches. It evicts the oldest ones first. */
const MAX_KNOWN = 10_000

/** What the service answered last, if that was at most `maxAgeMs` ago; else what `otherwise` says. */
export interface LastKnown {
  readonly lastKnown: { readonly maxAgeMs: number; readonly otherwise: Policy }
}

type Policy = "fail" | "open" | "closed"

/** What a check answers while the service is away: `"fail"` fails the call, `"open"` allows, `"closed"` denies. */
export type WhenAway = Policy | LastKnown

/** What the service answered last, if that was at most `maxAgeMs` ago; else what `otherwise` says. */
export const lastKnown = (maxAgeMs: number, otherwise: Policy = "fail"): LastKnown => ({
  lastKnown: { maxAgeMs, otherwise },
})

const POLICIES: ReadonlyArray<unknown> = ["fail", "open", "closed"]

/** Throws `TypeError` for what is not a policy: so the call fails at once, not only when the service is away. */
export const checkPolicy = (policy: WhenAway): void => {
  if (POLICIES.includes(policy)) return
  const known = typeof policy === "object" && policy !== null ? policy.lastKnown : undefined
  if (known === undefined || !(known.maxAgeMs >= 0) || !POLICIES.includes(known.otherwise)) {
    throw new TypeError(
      'whenAway is "fail", "open", "closed", or lastKnown with an age of 0 ms or more and one of these',
    )
  }
}

/** The answer about one entitlement. Amounts are decimal texts with all digits. */
export interface Answer {
  readonly entitlement: string
  readonly allowed: boolean
  /** Why. `SERVICE_AWAY` if `"open"` or `"closed"` answered. Later versions of the service may have further reasons. */
  readonly reason: string
  readonly limit: string | null
  readonly usage: string | null
  readonly remaining: string | null
  readonly overage: string | null
  readonly currentPeriodStart: string | null
  readonly currentPeriodEnd: string | null
  /** What answered: `policy` is `"open"` or `"closed"`. */
  readonly source: "service" | "lastKnown" | "policy"
  /** Milliseconds since the service gave this answer; `null` for `policy`. */
  readonly ageMs: number | null
}

/** The answer of a policy. */
const answerOf = (entitlement: string, policy: Policy): Answer | undefined =>
  policy === "fail"
    ? undefined
    : {
        entitlement,
        allowed: policy === "open",
        reason: "SERVICE_AWAY",
        limit: null,
        usage: null,
        remaining: null,
        overage: null,
        currentPeriodStart: null,
        currentPeriodEnd: null,
        source: "policy",
        ageMs: null,
      }

interface Known {
  readonly requested: string
  readonly at: Reading
  readonly answer: Answer
}

/** Whether an answer also answers another amount. What was allowed holds for less, what was denied for more. */
const stillHolds = ({ answer, requested: asked }: Known, requested: string, now: Reading): boolean => {
  if (answer.allowed) return isAtMost(requested, asked)
  // A reached limit ends with its period.
  const { currentPeriodEnd: end, reason } = answer
  const isOver = reason === "LIMIT_REACHED" && end !== null && Date.parse(end) <= now.wall
  return isAtMost(asked, requested) && !isOver
}

/** The last answer of the service for each entitlement of each instance. */
export const makeKnownAnswers = (maximum = MAX_KNOWN) => {
  const answers = new Map<string, Known>()
  const keyOf = (instance: string, entitlement: string) => JSON.stringify([instance, entitlement])
  return {
    remember(instance: string, requested: string, answer: Answer, at: Reading): void {
      const key = keyOf(instance, answer.entitlement)
      // The oldest one is the first of the map.
      answers.delete(key)
      answers.set(key, { requested, at, answer })
      const [oldest] = answers.keys()
      if (answers.size > maximum && oldest !== undefined) answers.delete(oldest)
    },

    /** The answer of a policy, `undefined` if the call fails. */
    recall(
      instance: string,
      entitlement: string,
      requested: string,
      policy: WhenAway,
      now: Reading,
    ): Answer | undefined {
      if (typeof policy === "string") return answerOf(entitlement, policy)
      const { maxAgeMs, otherwise } = policy.lastKnown
      const known = answers.get(keyOf(instance, entitlement))
      if (known === undefined || !stillHolds(known, requested, now)) return answerOf(entitlement, otherwise)
      const age = ageMs(known.at, now)
      return age <= maxAgeMs ? { ...known.answer, source: "lastKnown", ageMs: age } : answerOf(entitlement, otherwise)
    },
  }
}
