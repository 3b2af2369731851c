/** Snapshots of what instances are granted. */
import { BigDecimal, Context, Effect, Layer } from "effect"
import { checkBasisOf, unknownEntitlement } from "../rules/CheckBasis.ts"
import { accessEndOf, decide } from "../rules/Decision.ts"
import { CheckBatchRepo } from "../check/hotpath/Repo.ts"
import { CheckRepo } from "../check/Repo.ts"
import type { StandingRow } from "../check/Repo.ts"
import { knownAt } from "../check/Service.ts"
import { catalogReader } from "./CatalogReader.ts"
import type { EntitlementStanding, Life, PeriodStarts, Standings, TermsSnapshot } from "./Model.ts"
import { grantOver, isNeverGranted, periodStarts, standingWithCredits } from "./Rules.ts"
import type { SnapshotRow, UsedUntil } from "./Rules.ts"
import { zero } from "../../../kernel/values/Decimal.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"

/** Limits how much a snapshot says of what an instance may not use. */
const MAX_NEVER_GRANTED = 256

const isGranted = (row: StandingRow): row is StandingRow & SnapshotRow => row.entitlement !== null

/** The terms that rows of all entitlements of an instance are about; `undefined` without rows. */
const termsOf = (rows: ReadonlyArray<StandingRow>, at: Date): TermsSnapshot | undefined => {
  const known = [...new Map(rows.filter(isGranted).map((row) => [row.entitlement, row] as const)).values()].sort(
    (one, other) => (one.entitlement < other.entitlement ? -1 : 1),
  )
  const slugs = known.map(({ entitlement }) => entitlement)
  const basis = checkBasisOf(rows, slugs, at)
  if (basis === undefined) return undefined
  const { bases, instance } = basis

  const entriesOver = <Entry extends EntitlementStanding>(
    { until }: Life,
    entryOf: (row: SnapshotRow, used: UsedUntil | null) => Entry | null,
  ) => {
    const entitlements: Array<Entry> = []
    const periods: Record<string, PeriodStarts> = {}
    for (const [position, row] of known.entries()) {
      const { credits, held, period, usage } = bases[position] ?? unknownEntitlement
      // What credits have paid takes nothing of the limit.
      const net = BigDecimal.subtract(usage, credits?.burned ?? zero)
      const used =
        period === null ? null : { amount: BigDecimal.sum(net, held), held, from: period.start, until: period.end }
      const entry = entryOf(row, used)
      if (entry === null) continue
      entitlements.push(entry)
      if (entry.type === "NUMBER") {
        periods[entry.period] ??= periodStarts(row, instance.startLicenseDate, { from: at, until })
      }
    }
    return { entitlements, periods }
  }

  const standingsOver = (life: Life): Standings => {
    let neverGranted = 0
    const entries = entriesOver(life, (row, used) => {
      const standing = standingWithCredits(row, used, life)
      if (standing === null || !isNeverGranted(standing)) return standing
      neverGranted += 1
      return neverGranted > MAX_NEVER_GRANTED ? null : standing
    })
    const reasons = bases.flatMap((subject, position) =>
      subject.entitlement?.type === "NUMBER" ? [[slugs[position], decide({ ...subject, instance, at }).reason]] : [],
    )
    return { ...entries, complete: neverGranted <= MAX_NEVER_GRANTED, reasons: Object.fromEntries(reasons) }
  }

  return {
    startLicenseDate: instance.startLicenseDate,
    endLicenseDate: instance.endLicenseDate,
    accessEnd: accessEndOf(instance),
    grantsOver: (life) => entriesOver(life, (row, used) => grantOver(row, used, life)),
    standingsOver,
  }
}

/** Reads what instances are granted. */
export class TermsSnapshots extends Context.Service<
  TermsSnapshots,
  {
    /** The terms and the usage of an instance at the present instant; `undefined` if there is no such instance. */
    readonly take: (
      organizationId: OrganizationId,
      instanceSlug: string,
      at: Date,
    ) => Effect.Effect<TermsSnapshot | undefined>
  }
>()("keyshelf/usage/snapshots/TermsSnapshots") {
  static readonly layer = Layer.effect(
    TermsSnapshots,
    Effect.gen(function* () {
      const repo = yield* CheckRepo
      const { separatesOrganizations } = yield* CheckBatchRepo
      const fromCatalog = yield* catalogReader
      return TermsSnapshots.of({
        take: Effect.fn("TermsSnapshots.take")(function* (organizationId, instanceSlug, at) {
          const asOf = { at, known: knownAt(at) }
          // Where tables are distributed, no catalog is cached.
          const cached = separatesOrganizations ? undefined : yield* fromCatalog(organizationId, instanceSlug, asOf)
          return termsOf(cached ?? (yield* repo.findStandings(organizationId, instanceSlug, null, asOf)), at)
        }),
      })
    }),
  )
}
