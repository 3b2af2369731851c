/** Files of local decisions, and how the answers of `src/offline` and of the service are compared with them. */
import { isDeepStrictEqual } from "node:util"
import type { EvaluatedFlag } from "../../src/domains/flags/Model.ts"
import { reduce } from "../../src/domains/flags/ofrep/ReductionRules.ts"
import type { Facts } from "../../src/domains/flags/ofrep/ReductionRules.ts"
import * as Offline from "../../src/offline/index.ts"

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

/** Kinds that are about more than answers. */
const OTHERS = ["grant", "state", "sequence", "conditional", "ledger"]

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

const resultOf = (base: unknown, one: Case): unknown => {
  const call = callOf(base, one)
  if (call !== undefined) return functions[call.name]?.(...call.args)
  if (one.kind === "reduce") return reduce(one.given["flag"] as EvaluatedFlag, one.given["facts"] as Facts)
  throw new Error(`the kind ${one.kind} is unknown`)
}

/** Runs all cases of a file. */
export const runLocal = ({ base, cases }: LocalDecisions): ReadonlyArray<LocalResult> =>
  cases.map((one) => {
    const { expected, id, kind } = one
    if (OTHERS.includes(kind)) return { id, skipped: `the kind ${kind} is no answer by a snapshot` }
    const actual = comparable(resultOf(base, one))
    return { id, actual, expected, matches: isDeepStrictEqual(actual, comparable(expected)) }
  })
