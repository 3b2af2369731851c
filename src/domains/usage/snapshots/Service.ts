/** Snapshots of what instances are granted. */
import { BigDecimal, Context, Effect, Layer } from "effect"
import { checkBasisOf } from "../rules/CheckBasis.ts"
import { accessEndOf } from "../rules/Decision.ts"
import { CheckRepo } from "../check/Repo.ts"
import type { StandingRow } from "../check/Repo.ts"
import { knownAt } from "../check/Service.ts"
import type { EntitlementSnapshot, Grants, Life, PeriodStarts, TermsSnapshot } from "./Model.ts"
import { grantOver, periodStarts } from "./Rules.ts"
import type { SnapshotRow } from "./Rules.ts"

const isGranted = (row: StandingRow): row is StandingRow & SnapshotRow => row.entitlement !== null

/** The terms that rows of all entitlements of an instance are about; `undefined` without rows. */
const termsOf = (rows: ReadonlyArray<StandingRow>, at: Date): TermsSnapshot | undefined => {
  const known = new Map(rows.filter(isGranted).map((row) => [row.entitlement, row] as const))
  const slugs = [...known.keys()].sort()
  const basis = checkBasisOf(rows, slugs, at)
  if (basis === undefined) return undefined
  const { instance } = basis

  const grantsOver = (life: Life): Grants => {
    const entitlements: Array<EntitlementSnapshot> = []
    const periods: Record<string, PeriodStarts> = {}
    for (const [position, row] of slugs.map((slug) => known.get(slug)).entries()) {
      const { held, period, usage } = basis.bases[position] ?? {}
      if (row === undefined || held === undefined || usage === undefined) continue
      const used = period == null ? null : { amount: BigDecimal.sum(usage, held), from: period.start }
      const granted = grantOver(row, used, life)
      if (granted === null) continue
      entitlements.push(granted)
      if (granted.type === "NUMBER") {
        periods[granted.period] ??= periodStarts(row, instance.startLicenseDate, { from: at, until: life.until })
      }
    }
    return { entitlements, periods }
  }

  return { startLicenseDate: instance.startLicenseDate, accessEnd: accessEndOf(instance), grantsOver }
}

/** Reads what instances are granted. */
export class TermsSnapshots extends Context.Service<
  TermsSnapshots,
  {
    /** The terms and the usage of an instance at the present instant; `undefined` if there is no such instance. */
    readonly take: (organizationId: string, instanceSlug: string, at: Date) => Effect.Effect<TermsSnapshot | undefined>
  }
>()("keyshelf/usage/snapshots/TermsSnapshots") {
  static readonly layer = Layer.effect(
    TermsSnapshots,
    Effect.gen(function* () {
      const repo = yield* CheckRepo
      return TermsSnapshots.of({
        take: Effect.fn("TermsSnapshots.take")(function* (organizationId, instanceSlug, at) {
          const rows = yield* repo.findStandings(organizationId, instanceSlug, null, { at, known: knownAt(at) })
          return termsOf(rows, at)
        }),
      })
    }),
  )
}
