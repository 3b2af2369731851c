/** Use cases of checks. */
import { Context, Effect, Layer } from "effect"
import { InstanceNotFound } from "../../instances/Errors.ts"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { invalid, noSuch } from "../../../kernel/contract/Problem.ts"
import { isBefore, now } from "../../../kernel/values/Timestamp.ts"
import { checkResultOf, standings } from "./CheckResponse.ts"
import { cachedResponseText } from "./hotpath/AnswerCache.ts"
import { makeCheckBatcher } from "./hotpath/CheckBatcher.ts"
import { CheckBatchRepo } from "./hotpath/Repo.ts"
import type { CheckRequest } from "./Model.ts"
import type { CheckRow } from "../rules/Terms.ts"
import { PastRepo } from "./PastRepo.ts"
import { CheckRepo } from "./Repo.ts"
import { checkBasisOf } from "../rules/CheckBasis.ts"
import type { CheckBasis } from "../rules/CheckBasis.ts"
import { isWritablePeriod } from "../rules/Period.ts"
import type { Period } from "../rules/Period.ts"
import { periodOf } from "../rules/Terms.ts"
import type { ValidationFailed } from "../../../kernel/contract/Problem.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import type { CheckResult, Standing } from "./Model.ts"

// The clocks of nodes differ a little: a check must see what another node has just reserved by its own clock.
const MAX_CLOCK_SKEW_MS = 60_000

/** Reservations that were created before this instant count in a check of the present. */
export const knownAt = (at: Date): Date => new Date(at.getTime() + MAX_CLOCK_SKEW_MS)

const UNKNOWN_PAST =
  "must be the start of a day in UTC, or its last millisecond: events of that time are no longer stored, only sums of days"

const UNKNOWN_CREDITS =
  "must not be in the months whose events are no longer stored: what credits paid is only known as a sum there"

const UNWRITABLE_PERIOD =
  "must be in usage periods that begin in the year 1 or later and end in the year 9999 or before"

/** Rejects an instant at the edge of the years that can be written, if a usage period there passes it. */
const requireWritable = (periods: ReadonlyArray<Period | null>, at: Date) =>
  periods.every((period) => period === null || isWritablePeriod(period))
    ? Effect.void
    : invalid("body.at", UNWRITABLE_PERIOD, at)

/** Checks of what the instances of the caller's organization may use. */
export class Checks extends Context.Service<
  Checks,
  {
    /** Decides whether an instance may use each entitlement. Counts nothing. */
    readonly check: (
      instanceSlug: string,
      input: CheckRequest,
    ) => Effect.Effect<CheckResult, ValidationFailed | InstanceNotFound, Caller>
    /** The same as JSON text, from the cache where possible. */
    readonly checkAsText: (
      instanceSlug: string,
      input: CheckRequest,
    ) => Effect.Effect<string, ValidationFailed | InstanceNotFound, Caller>
    /**
     * The current standings of an instance with these entitlements (`null`: with all); an empty list if the instance does
     * not exist.
     */
    readonly standings: (
      instanceSlug: string,
      entitlements: ReadonlyArray<string> | null,
    ) => Effect.Effect<ReadonlyArray<Standing>, never, Caller>
  }
>()("keyshelf/usage/check/Checks") {
  static readonly layer = Layer.suspend(() => Layer.effect(Checks, make))
}

const make = Effect.gen(function* () {
  const repo = yield* CheckRepo
  const findBatched = makeCheckBatcher(yield* CheckBatchRepo)
  const past = yield* PastRepo

  /** The rows of a check of the past. */
  const findPast = Effect.fnUntraced(function* (
    organizationId: OrganizationId,
    instance: string,
    entitlements: ReadonlyArray<string>,
    at: Date,
    explain: boolean,
  ) {
    const rows = yield* past.findTerms(organizationId, instance, entitlements, at, explain)
    const periods = rows.map((row) => (row.entitlement === null ? null : periodOf(row, row, at)))
    yield* requireWritable(periods, at)
    const keys = rows.flatMap((row, position) => {
      const period = periods[position] ?? null
      if (row.entitlement === null || period === null) return []
      const { aggregationMethod, entitlementId, instanceId } = row
      const method = aggregationMethod ?? "SUM"
      // Leases are counted with the terms.
      return method === "CONCURRENT" ? [] : [{ instanceId, entitlementId, periodStart: period.start, method }]
    })
    if (rows.some((row) => row.entitlement !== null && row.isUnknown)) {
      return yield* invalid("body.at", UNKNOWN_CREDITS, at)
    }
    const used = keys.length === 0 ? [] : yield* past.usageUntil(organizationId, keys, at)
    if (used.some(({ isUnknown }) => isUnknown)) return yield* invalid("body.at", UNKNOWN_PAST, at)
    const usages = new Map(used.map((usage) => [usage.entitlementId, usage] as const))
    return rows.map((row): CheckRow =>
      row.entitlement === null ? row : { broughtIn: null, ...row, ...usages.get(row.entitlementId) },
    )
  })

  /** A check whose response `respond` creates from its basis. Products run it on every request of theirs. */
  const checkWith = <A>(respond: (basis: CheckBasis, checks: CheckRequest["checks"], at: Date) => A) =>
    Effect.fnUntraced(function* (instanceSlug: string, { at: requestedAt, checks, explain = false }: CheckRequest) {
      const { organizationId } = yield* Caller
      const present = yield* now
      const at = requestedAt ?? present
      const slugs = checks.map(({ entitlement }) => entitlement)
      const asOf = { at, known: requestedAt ?? knownAt(at) }
      const basisIn = (rows: ReadonlyArray<CheckRow>) => checkBasisOf(rows, slugs, at)
      const find = Effect.suspend(() => {
        if (isBefore(at, present)) {
          return Effect.map(findPast(organizationId, instanceSlug, slugs, at, explain), basisIn)
        }
        return explain
          ? Effect.map(repo.findForCheck(organizationId, instanceSlug, slugs, { ...asOf, explain }), basisIn)
          : findBatched({ organizationId, instance: instanceSlug, entitlements: slugs, ...asOf })
      })
      const basis = yield* find
      if (basis === undefined) return yield* new InstanceNotFound({ detail: noSuch("instance", instanceSlug) })
      if (requestedAt !== undefined) {
        yield* requireWritable(
          basis.bases.map(({ period }) => period),
          at,
        )
      }
      return respond(basis, checks, at)
    })

  // Flags use this. For them an instance that does not exist is not an error.
  const standingsOf = Effect.fnUntraced(function* (instanceSlug: string, entitlements: ReadonlyArray<string> | null) {
    const { organizationId } = yield* Caller
    const at = yield* now
    return standings(
      yield* repo.findStandings(organizationId, instanceSlug, entitlements, { at, known: knownAt(at) }),
      at,
    )
  })

  return {
    check: checkWith(checkResultOf),
    checkAsText: checkWith(cachedResponseText),
    standings: standingsOf,
  }
})
