/** The readers of what is used and held. */
import { Effect } from "effect"
import { makeCheckBatcher } from "../../src/domains/usage/check/hotpath/CheckBatcher.ts"
import { CheckBatchRepo } from "../../src/domains/usage/check/hotpath/Repo.ts"
import { PastRepo } from "../../src/domains/usage/check/PastRepo.ts"
import { CheckRepo } from "../../src/domains/usage/check/Repo.ts"
import { CloudEventsRepo } from "../../src/domains/usage/cloudevents/Repo.ts"
import { ImpactRepo } from "../../src/domains/usage/impact/Repo.ts"
import type { LockedTotal } from "../../src/domains/usage/ledger/LedgerRepo.ts"
import { LedgerRepo } from "../../src/domains/usage/ledger/LedgerRepo.ts"
import { OptimisticRepo } from "../../src/domains/usage/ledger/optimistic/OptimisticRepo.ts"
import { checkBasisOf } from "../../src/domains/usage/rules/CheckBasis.ts"
import type { CheckBasis } from "../../src/domains/usage/rules/CheckBasis.ts"
import type { CheckRow } from "../../src/domains/usage/rules/Terms.ts"
import { storedDecimal } from "../../src/kernel/values/Decimal.ts"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { meters, periodOf, textOf } from "./HeldHistories.ts"
import type { HeldMeter } from "./HeldHistories.ts"
import type { HeldShop } from "./HeldStore.ts"

/** What a reader found, by the slug of the meter. */
export type Found = ReadonlyMap<string, { readonly held: string; readonly used: string }>

const slugs = meters.map(({ slug }) => slug)
const foundOf = ({ held, total }: LockedTotal) => ({ held: textOf(held), used: textOf(total.value) })
const foundIn = (basis: CheckBasis | undefined): Found =>
  new Map(
    slugs.flatMap((slug, index) => {
      const own = basis?.bases[index]
      return own === undefined ? [] : [[slug, { held: textOf(own.held), used: textOf(own.usage) }] as const]
    }),
  )

/** The period after this one; for a meter that never resets, this one. */
export const periodAfter = (meter: HeldMeter, at: Date) => {
  const period = periodOf(meter, at)
  return period.end === null ? period : periodOf(meter, period.end)
}

/** Every reader of what is held, of the instance `earlier` at an instant or, where it reads the past, of the instance `today`. */
export const readersOf = Effect.fnUntraced(function* ({
  bySlug,
  idOf,
  instances,
  licenseId,
  organizationId,
}: HeldShop["Service"]) {
  const [single, batched, impact] = [yield* CheckRepo, yield* CheckBatchRepo, yield* ImpactRepo]
  const [pastRepo, ledger, optimistic, events] = [
    yield* PastRepo,
    yield* LedgerRepo,
    yield* OptimisticRepo,
    yield* CloudEventsRepo,
  ]
  const transactions = yield* Transactions
  const basisOf = (rows: ReadonlyArray<CheckRow>, at: Date) => foundIn(checkBasisOf(rows, slugs, at))
  const lockedAt = (at: Date, periodsOf: (meter: HeldMeter, at: Date) => ReturnType<typeof periodOf>) =>
    Effect.map(
      transactions.run(
        ledger.lockTotals(
          organizationId,
          meters.map((meter) => {
            const { end, start } = periodsOf(meter, at)
            return {
              instanceId: instances.earlier,
              entitlementId: idOf(meter.slug),
              periodStart: start,
              periodEnd: end,
            }
          }),
          at,
        ),
      ),
      (rows) => bySlug(rows.map((row) => [row.entitlementId, foundOf(row)])),
    )

  return {
    /** A single check, as one with an explanation is. */
    single: (at: Date, known: Date) =>
      Effect.map(single.findForCheck(organizationId, "earlier", slugs, { at, known }), (rows) => basisOf(rows, at)),
    standings: (at: Date, known: Date) =>
      Effect.map(single.findStandings(organizationId, "earlier", null, { at, known }), (rows) => basisOf(rows, at)),
    impact: (at: Date, known: Date) =>
      Effect.map(
        impact.checked(organizationId, [instances.earlier], { licenseIds: [licenseId] }, { at, known }),
        (rows) => basisOf(rows, at),
      ),
    /** Batched checks of one organization, with their catalog. */
    within: (at: Date, known: Date) =>
      Effect.map(
        batched.findWithCatalog(
          [{ organizationId, instance: "earlier", entitlements: slugs, at, known }],
          organizationId,
        ),
        (rows) => basisOf(rows, at),
      ),
    /** Batched checks: with their catalog, then with their usage only, then by the cached answer. */
    batched: (at: Date, known: Date) => {
      const find = makeCheckBatcher(batched)
      const question = { organizationId, instance: "earlier", entitlements: slugs, at, known }
      return Effect.replicateEffect(Effect.map(find(question), foundIn), 4)
    },
    past: Effect.fnUntraced(function* (at: Date) {
      const rows = yield* pastRepo.findTerms(organizationId, "today", slugs, at, false)
      const keys = meters.map((meter) => ({
        instanceId: instances.today,
        entitlementId: idOf(meter.slug),
        periodStart: periodOf(meter, at).start,
        method: "SUM" as const,
      }))
      const used = new Map(
        (yield* pastRepo.usageUntil(organizationId, keys, at)).map((usage) => [usage.entitlementId, usage]),
      )
      return basisOf(
        rows.map((row): CheckRow =>
          row.entitlement === null ? row : { broughtIn: null, ...row, ...used.get(row.entitlementId) },
        ),
        at,
      )
    }),
    optimistic: (at: Date) =>
      Effect.map(
        optimistic.read(
          slugs.map((entitlement) => ({ organizationId, instance: "earlier", entitlement })),
          at,
        ),
        (rows) =>
          bySlug(
            rows.flatMap(({ meter, total }) => {
              const own = meters.find(({ slug }) => slug === meter.entitlement)
              return own !== undefined && total?.periodStart.getTime() === periodOf(own, at).start.getTime()
                ? [[meter.entitlementId, foundOf(total)] as const]
                : []
            }),
          ),
      ),
    locked: (at: Date) => lockedAt(at, periodOf),
    /** The next period, which is locked for what lasts into it. */
    lockedNext: (at: Date) => lockedAt(at, periodAfter),
    /** The most that is held in any period: batches of events are compared with it. */
    mostOfBatch: (at: Date) =>
      Effect.map(events.held(organizationId, [instances.earlier], at), (rows) =>
        bySlug(rows.map(({ entitlementId, quantity }) => [entitlementId, textOf(storedDecimal(quantity))])),
      ),
  }
})
