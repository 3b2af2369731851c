/** Finds the checks of instances whose result a change would change. */
import { Context, Effect, Layer } from "effect"
import type { ChangingCheck } from "../../../kernel/contract/dryruns/Impact.ts"
import { zero } from "../../../kernel/values/Decimal.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { checkBasisOf } from "../rules/CheckBasis.ts"
import { decide } from "../rules/Decision.ts"
import type { Decision } from "../rules/Decision.ts"
import type { CheckedEntitlement, CheckedInstance } from "../rules/Terms.ts"
import { ImpactRepo } from "./Repo.ts"
import type { AddOnImpactRow, AddOnMove, ImpactRow, LookedAt } from "./Repo.ts"

type Row = CheckedInstance & CheckedEntitlement

/** A check that requests nothing more. */
interface DecidedCheck {
  /** Slug of the instance. */
  readonly slug: string
  readonly entitlement: string
  readonly decision: Decision
}

/** Decided checks, by instance and entitlement. */
export type DecidedChecks = ReadonlyMap<string, DecidedCheck>

const decidedChecks = (rows: ReadonlyArray<Row>, at: Date): DecidedChecks => {
  const decided = new Map<string, DecidedCheck>()
  for (const [key, own] of Map.groupBy(rows, ({ entitlement, instance }) => `${instance} ${entitlement}`)) {
    const [{ entitlement, instance: slug }] = own as [Row]
    const basis = checkBasisOf(own, [entitlement], at)
    const [subject] = basis?.bases ?? []
    if (basis === undefined || subject === undefined) continue
    const decision = decide({ ...subject, requested: zero, instance: basis.instance, at })
    decided.set(key, { slug, entitlement, decision })
  }
  return decided
}

const afterwards = (row: ImpactRow): Row => ({
  ...row,
  granted: row.grantedAfter,
  overagePercent: row.overageAfter,
  graceDays: row.graceAfter,
})

/** The row after the version `from` of an add-on was replaced by another one. */
const afterMove =
  ({ from }: AddOnMove) =>
  ({ addedAfter, applied, ...row }: AddOnImpactRow): Row => {
    const others = (row.addOns ?? []).filter(({ licenseId }) => licenseId !== from)
    const moved = (applied ?? []).flatMap((addOn) =>
      addedAfter === null || addOn.licenseId !== from ? [] : [{ ...addOn, ...addedAfter }],
    )
    return { ...row, addOns: [...others, ...moved] }
  }

/** The checks whose result differs before and after a change. */
export const changingBetween = (before: DecidedChecks, after: DecidedChecks): ReadonlyArray<ChangingCheck> =>
  Array.from(before).flatMap(([key, { decision: earlier, entitlement, slug }]) => {
    const later = after.get(key)?.decision
    if (later === undefined || earlier.allowed === later.allowed) return []
    const { limit, usage } = later
    return [{ slug, entitlement, usage, limit, reason: { before: earlier.reason, after: later.reason } }]
  })

/** Finds the checks whose result a change of terms would change. */
export class LicenseImpact extends Context.Service<
  LicenseImpact,
  {
    /** The checks of these instances whose result would change with another license version. */
    readonly turning: (
      organizationId: OrganizationId,
      instanceIds: ReadonlyArray<string>,
      toLicenseId: string,
    ) => Effect.Effect<ReadonlyArray<ChangingCheck>>
    /** The same with another version of an add-on. */
    readonly turningByAddOn: (
      organizationId: OrganizationId,
      instanceIds: ReadonlyArray<string>,
      move: AddOnMove,
    ) => Effect.Effect<ReadonlyArray<ChangingCheck>>
    /** Checks of these instances at an instant, by the state within the transaction. */
    readonly checks: (
      organizationId: OrganizationId,
      instanceIds: ReadonlyArray<string>,
      which: LookedAt,
      at: Date,
    ) => Effect.Effect<DecidedChecks>
  }
>()("keyshelf/usage/impact/LicenseImpact") {
  static readonly layer = Layer.effect(
    LicenseImpact,
    Effect.gen(function* () {
      const repo = yield* ImpactRepo
      return LicenseImpact.of({
        turning: Effect.fnUntraced(function* (organizationId, instanceIds, toLicenseId) {
          const at = yield* now
          const rows = yield* repo.rows(organizationId, instanceIds, toLicenseId, { at, known: at })
          return changingBetween(decidedChecks(rows, at), decidedChecks(rows.map(afterwards), at))
        }),
        turningByAddOn: Effect.fnUntraced(function* (organizationId, instanceIds, move) {
          const at = yield* now
          const rows = yield* repo.addOnRows(organizationId, instanceIds, move, { at, known: at })
          return changingBetween(decidedChecks(rows, at), decidedChecks(rows.map(afterMove(move)), at))
        }),
        checks: Effect.fnUntraced(function* (organizationId, instanceIds, which, at) {
          return decidedChecks(yield* repo.checked(organizationId, instanceIds, which, { at, known: at }), at)
        }),
      })
    }),
  )
}
