/** What a local client answers in each of its states. */
import { answer } from "../offline/Answers.ts"
import type { CheckAnswer } from "../offline/Answers.ts"
import { ENTITLEMENT_PREFIX, entitlementFlagAt } from "../offline/EntitlementFlags.ts"
import type { EntitlementEvaluation } from "../offline/EntitlementFlags.ts"
import { evaluateRule } from "../offline/Flags.ts"
import type { FlagEvaluation, FlagRule } from "../offline/Flags.ts"
import type { Claims } from "../offline/Model.ts"
import type { Check, LocalUsage } from "../offline/Terms.ts"
import type { View } from "./View.ts"

/** What answers without a snapshot, while the service is away: `closed` denies, `open` allows, `fail` fails the call. */
export type Policy = "closed" | "open" | "fail"

/** What answered: a snapshot, the service itself, or a policy, because nothing was known. */
export type Source = "snapshot" | "service" | "policy"

/** Answers to checks, in their order. */
export interface LocalAnswers {
  readonly license: string | null
  readonly at: string | null
  readonly graceEndsAt: string | null
  readonly checks: ReadonlyArray<Omit<CheckAnswer, "reason"> & { readonly reason: string }>
  readonly source: Source
  readonly ageMs: number | null
}

/** The figures of an answer that counts nothing. */
export const NO_FIGURES = {
  limit: null,
  usage: null,
  remaining: null,
  overage: null,
  currentPeriodStart: null,
  currentPeriodEnd: null,
}

/** There is no snapshot yet. */
class NoSnapshot extends Error {
  override readonly name = "NoSnapshot"
  readonly isAway = true
}

const sameFor = (
  checks: ReadonlyArray<Check>,
  allowed: boolean,
  reason: string,
  source: Source,
  ageMs: number | null,
): LocalAnswers => ({
  license: null,
  at: null,
  graceEndsAt: null,
  checks: checks.map(({ entitlement }) => ({ entitlement, allowed, reason, ...NO_FIGURES })),
  source,
  ageMs,
})

/** The snapshot that answers, or why none does. Throws what fails a call. */
const basisOf = (view: View, policy: Policy): "REVOKED" | "NONE" | "EXPIRED" | NonNullable<View["snapshot"]> => {
  const { failure, snapshot, state } = view
  if (state === "CLOSED") throw new TypeError("The client is closed")
  if (state === "REVOKED") return "REVOKED"
  if (snapshot === undefined) {
    // A wrong token must be seen.
    if (failure?.type === "problem") throw failure.error
    if (policy === "fail") throw failure?.error ?? new NoSnapshot("The service has not answered yet")
    return "NONE"
  }
  return state === "EXPIRED" && snapshot.claims.away?.then !== "ALLOW" ? "EXPIRED" : snapshot
}

/**
 * Answers checks without a request. `claims` are those of the snapshot with the tranche that `local` spends from. Checks of a consumption
 * are decided by `answerInOrder`.
 */
export const answersOf = (
  view: View,
  checks: ReadonlyArray<Check>,
  policy: Policy,
  claims?: Claims,
  local?: LocalUsage,
  decide: typeof answer = answer,
): LocalAnswers => {
  const basis = basisOf(view, policy)
  if (basis === "REVOKED") return sameFor(checks, false, "ACCESS_REVOKED", "service", null)
  if (basis === "NONE") return sameFor(checks, policy === "open", "NO_SNAPSHOT", "policy", null)
  if (basis === "EXPIRED") return sameFor(checks, false, "SNAPSHOT_EXPIRED", "policy", view.ageMs)
  const answers = decide(claims ?? basis.claims, checks, new Date(view.time), local)
  const { at, graceEndsAt, license } = answers
  return { license, at, graceEndsAt, checks: answers.checks, source: "snapshot", ageMs: view.ageMs }
}

/** Feature flags, and the entitlements as flags. Each is evaluated without a request when it is read. */
export interface LocalFlags {
  readonly keys: () => ReadonlyArray<string>
  readonly evaluate: (key: string) => FlagEvaluation | EntitlementEvaluation | undefined
  readonly source: Source
  readonly ageMs: number | null
}

const NO_FLAGS = { keys: () => [], evaluate: () => undefined }

const indexes = new WeakMap<object, ReadonlyMap<string, FlagRule>>()

const rulesByKey = (rules: ReadonlyArray<FlagRule>): ReadonlyMap<string, FlagRule> => {
  const index = indexes.get(rules) ?? new Map(rules.map((rule) => [rule.key, rule]))
  indexes.set(rules, index)
  return index
}

/** The flags for a context. `undefined` if the snapshot has none: the credential must not read them, or they are too large. */
export const flagsOf = (
  view: View,
  context: Readonly<Record<string, unknown>>,
  policy: Policy,
): LocalFlags | undefined => {
  const basis = basisOf(view, policy)
  if (basis === "REVOKED") return { ...NO_FLAGS, source: "service", ageMs: null }
  if (typeof basis === "string") return { ...NO_FLAGS, source: "policy", ageMs: view.ageMs }
  const { claims } = basis
  if (!Array.isArray(claims.rules)) return undefined
  const byKey = rulesByKey(claims.rules)
  // The service does the same for a license key.
  const { targetingKey = "" } = context
  const named = targetingKey === "" ? { ...context, targetingKey: claims.instance.slug } : context
  const at = new Date(view.time)
  return {
    keys: () => [...byKey.keys(), ...claims.entitlements.map(({ slug }) => ENTITLEMENT_PREFIX + slug)],
    evaluate: (key) => {
      if (key.startsWith(ENTITLEMENT_PREFIX)) return entitlementFlagAt(claims, key.slice(ENTITLEMENT_PREFIX.length), at)
      const rule = byKey.get(key)
      return rule === undefined ? undefined : evaluateRule(rule, named)
    },
    source: "snapshot",
    ageMs: view.ageMs,
  }
}
