/** Which checks of instances would turn with another license version (contract, part 2, section 11, "Migration"). */
import { Context, Effect, Layer } from "effect"
import { zero } from "../../../kernel/values/Decimal.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { checkBasisOf } from "../rules/CheckBasis.ts"
import { decide } from "../rules/Decision.ts"
import type { CheckReason, Decision } from "../rules/Decision.ts"
import type { CheckRow } from "../rules/Terms.ts"
import { ImpactRepo } from "./Repo.ts"
import type { ImpactRow } from "./Repo.ts"

/** A check that would be allowed instead of denied, or denied instead of allowed. */
export interface TurningCheck {
  /** Slug of the instance. */
  readonly slug: string
  readonly entitlement: string
  readonly usage: number | null
  /** The limit afterwards. */
  readonly limit: number | null
  readonly reason: { readonly before: CheckReason; readonly after: CheckReason }
}

/** Decides a check that requests nothing more. */
const decisionOf = (rows: ReadonlyArray<CheckRow>, slug: string, at: Date): Decision | undefined => {
  const basis = checkBasisOf(rows, [slug], at)
  const [subject] = basis?.bases ?? []
  return basis === undefined || subject === undefined
    ? undefined
    : decide({ ...subject, requested: zero, instance: basis.instance, at })
}

const afterwards = (row: ImpactRow): CheckRow => ({
  ...row,
  granted: row.grantedAfter,
  overagePercent: row.overageAfter,
  graceDays: row.graceAfter,
})

const turningIn = (rows: ReadonlyArray<ImpactRow>, at: Date): ReadonlyArray<TurningCheck> => {
  const byCheck = Map.groupBy(rows, ({ entitlement, instance }) => `${instance} ${entitlement}`)
  return Array.from(byCheck.values()).flatMap((own) => {
    const [{ entitlement, instance: slug }] = own as [ImpactRow]
    const before = decisionOf(own, entitlement, at)
    const after = decisionOf(own.map(afterwards), entitlement, at)
    if (before === undefined || after === undefined || before.allowed === after.allowed) return []
    return [
      {
        slug,
        entitlement,
        usage: after.usage,
        limit: after.limit,
        reason: { before: before.reason, after: after.reason },
      },
    ]
  })
}

/** Finds what another license version would change. */
export class LicenseImpact extends Context.Service<
  LicenseImpact,
  {
    /** The checks of these instances that would turn with another license version. */
    readonly turning: (
      organizationId: string,
      instanceIds: ReadonlyArray<string>,
      toLicenseId: string,
    ) => Effect.Effect<ReadonlyArray<TurningCheck>>
  }
>()("keyshelf/usage/impact/LicenseImpact") {
  static readonly layer = Layer.effect(
    LicenseImpact,
    Effect.gen(function* () {
      const repo = yield* ImpactRepo
      return LicenseImpact.of({
        turning: Effect.fnUntraced(function* (organizationId, instanceIds, toLicenseId) {
          const at = yield* now
          return turningIn(yield* repo.rows(organizationId, instanceIds, toLicenseId, { at, known: at }), at)
        }),
      })
    }),
  )
}
