/** Files of local decisions, and how the answers of `src/offline` and of the service are compared with them. */
import { BigDecimal } from "effect"
import { isDeepStrictEqual } from "node:util"
import type { EvaluatedFlag } from "../../src/domains/flags/Model.ts"
import { reduce } from "../../src/domains/flags/ofrep/ReductionRules.ts"
import type { Facts } from "../../src/domains/flags/ofrep/ReductionRules.ts"
import { isConfirmed, sequenceOf } from "../../src/domains/offline/snapshots/Rules.ts"
import type { IssuedBundles } from "../../src/domains/offline/snapshots/Rules.ts"
import { refill } from "../../src/domains/usage/tranches/Rules.ts"
import { ageAt, initialFacts, stateAt } from "../../src/local/States.ts"
import * as Offline from "../../src/offline/index.ts"
import { playSteps, unknownStepIn } from "./ledgerSteps.ts"
import type { LedgerSteps } from "./ledgerSteps.ts"

interface Case {
  readonly id: string
  readonly kind: string
  readonly given: Readonly<Record<string, unknown>>
  readonly expected: unknown
}

export interface LocalDecisions {
  readonly base: Readonly<Record<string, unknown>>
  readonly cases: ReadonlyArray<Case>
}

/** The result of a case: compared, or why it was not. */
type LocalResult =
  | { readonly id: string; readonly actual: unknown; readonly expected: unknown; readonly matches: boolean }
  | { readonly id: string; readonly skipped: string }

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const bySlug = (list: ReadonlyArray<unknown>) => new Map(list.map((one) => [isRecord(one) ? one["slug"] : one, one]))

/** Values written over others, property by property; entitlements by their slugs. */
const writtenOver = (base: unknown, over: unknown, name = ""): unknown => {
  if (name === "entitlements" && Array.isArray(base) && Array.isArray(over)) {
    const merged = bySlug(base)
    for (const [slug, one] of bySlug(over)) merged.set(slug, writtenOver(merged.get(slug), one))
    return Array.from(merged.values())
  }
  if (!isRecord(base) || !isRecord(over)) return over
  return Object.entries(over).reduce(
    (merged, [key, value]) => ({ ...merged, [key]: key in base ? writtenOver(base[key], value, key) : value }),
    { ...base },
  )
}

/** Of an error only its code is compared. */
const comparable = (result: unknown): unknown => {
  if (!isRecord(result) || !("errorCode" in result)) return result
  const { errorDetails: _, ...rest } = result
  return rest
}

const { answer, cover, evaluateRule } = Offline
const functions = { answer, cover, evaluateRule } as unknown as Readonly<
  Record<string, (...args: ReadonlyArray<unknown>) => unknown>
>

/** A call of the module that answers a case. */
interface LocalCall {
  readonly id: string
  readonly name: "answer" | "cover" | "evaluateRule"
  readonly args: ReadonlyArray<unknown>
  readonly expected: unknown
}

const callOf = (base: unknown, { expected, given, id, kind }: Case): LocalCall | undefined => {
  const { at, checks, claims = {}, context, local = null, rule } = given
  if (kind === "rule") return { id, name: "evaluateRule", args: [rule, context], expected }
  if (kind !== "answers" && kind !== "consume") return undefined
  const args = [writtenOver(base, claims), checks, at, local]
  return { id, name: kind === "answers" ? "answer" : "cover", args, expected }
}

/** The calls of the module `keyshelf/offline` that a file is about. */
export const callsOf = ({ base, cases }: LocalDecisions): ReadonlyArray<LocalCall> =>
  cases.flatMap((one) => callOf(base, one) ?? [])

/** What happened to a client, at a time in seconds. */
interface Event {
  readonly at: number
  readonly event: string
  readonly exp?: number
}

const EVENTS = ["open", "frame", "fetched", "restored", "denied"]

const unknownEventIn = ({ given }: Case): string | undefined =>
  (given["events"] as ReadonlyArray<Event>).map(({ event }) => event).find((event) => !EVENTS.includes(event))

/** What a client is after events. */
const stateOf = (events: ReadonlyArray<Event>, at: number): unknown => {
  const facts = initialFacts()
  for (const { event, exp, ...one } of events) {
    const now = one.at * 1000
    if (event === "open") Object.assign(facts, { openedAt: now, frameAt: now })
    else if (event === "frame") facts.frameAt = now
    else if (event === "fetched") Object.assign(facts, { exp, confirmedAt: now, requestedAt: now, isRevoked: false })
    else if (event === "restored") Object.assign(facts, { exp, confirmedAt: now })
    else if (event === "denied") Object.assign(facts, { exp: undefined, isRevoked: true })
  }
  const state = stateAt(facts, at * 1000, at * 1000)
  const source = state === "REVOKED" ? "service" : ["EXPIRED", "NONE"].includes(state) ? "policy" : "snapshot"
  const age = ageAt(facts, at * 1000)
  return { state, source, ageSeconds: age === null ? null : age / 1000 }
}

/** What a refill gives. Amounts are texts, 0 where a case has none. */
const grantOf = ({ holders, ...given }: Readonly<Record<string, string>>): unknown => {
  const amount = (name: string) => BigDecimal.fromStringUnsafe(given[name] ?? "0")
  const room = { cap: amount("limit"), usage: amount("usage"), heldByOthers: amount("heldByOthers") }
  const asked = { unspent: amount("unspent"), keep: amount("keep"), need: amount("need"), want: amount("want") }
  const { satisfied, ...amounts } = refill({ ...room, holders: Number(holders) }, asked)
  return {
    ...Object.fromEntries(Object.entries(amounts).map(([name, one]) => [name, BigDecimal.format(one)])),
    satisfied,
  }
}

const resultOf = (base: unknown, one: Case): unknown => {
  if (one.kind === "ledger") return playSteps(base as Offline.Claims, one.given as unknown as LedgerSteps)
  if (one.kind === "state") return stateOf(one.given["events"] as ReadonlyArray<Event>, Number(one.given["at"]))
  const call = callOf(base, one)
  if (call !== undefined) return functions[call.name]?.(...call.args)
  if (one.kind === "reduce") return reduce(one.given["flag"] as EvaluatedFlag, one.given["facts"] as Facts)
  if (one.kind === "grant") return grantOf(one.given as Readonly<Record<string, string>>)
  if (one.kind === "sequence") return sequenceOf(one.given as unknown as IssuedBundles)
  if (one.kind === "conditional") {
    const { content, now, tag } = one.given as { content: string; now: number; tag: { content: string; iat: number } }
    return isConfirmed(tag, content, now) ? 304 : 200
  }
  throw new Error(`the kind ${one.kind} is unknown`)
}

/** What a case says that nothing is known of: it would be compared with a guess. */
const unknownIn = (one: Case): string | undefined => {
  if (one.kind === "state") return unknownEventIn(one)
  return one.kind === "ledger" ? unknownStepIn(one.given as unknown as LedgerSteps) : undefined
}

const runCase = async (base: unknown, one: Case): Promise<LocalResult> => {
  const { expected, id } = one
  const strange = unknownIn(one)
  if (strange !== undefined) return { id, skipped: `${strange} is unknown` }
  const actual = comparable(await resultOf(base, one))
  return { id, actual, expected, matches: isDeepStrictEqual(actual, comparable(expected)) }
}

/** Runs all cases of a file. */
export const runLocal = ({ base, cases }: LocalDecisions): Promise<ReadonlyArray<LocalResult>> =>
  Promise.all(cases.map((one) => runCase(base, one)))
