/** When lines of a refill count, and the claim of what a holder may spend. Pure. */
import type { Tranche } from "../../../offline/Model.ts"
import { decimalText, zero } from "../../../kernel/values/Decimal.ts"
import { BigDecimal } from "effect"
import { MAX_AHEAD_MS, RETENTION_MS } from "../../usage/ledger/Acceptance.ts"
import type { UsageWindow } from "../../usage/siteusage/Model.ts"
import type { TrancheAfter } from "../../usage/tranches/Changes.ts"
import { secondOf } from "../bundles/Rules.ts"
import type { LedgerPosition } from "../ledgers/Rules.ts"

/** A ledger stays as long after its last refill as a line of it could count. */
export const KEEP_MS = RETENTION_MS

/** The time in which usage counts that is settled now: that of reports, because a snapshot is always there. */
export const windowAt = (at: Date): UsageWindow => ({
  from: new Date(at.getTime() - RETENTION_MS),
  until: new Date(at.getTime() + MAX_AHEAD_MS),
  name: "at most 35 days ago, and not more than 5 minutes in the future",
})

/** What the holder of a ledger may spend after its lines, as a claim of a snapshot. */
export const trancheClaim = (
  source: string,
  { head, lines }: LedgerPosition,
  { spendable, spendUntil }: { readonly spendable: ReadonlyArray<TrancheAfter>; readonly spendUntil: Date },
): Tranche => {
  const of: Record<string, Record<string, string>> = {}
  for (const { entitlement, periodStart, unspent } of spendable) {
    if (!BigDecimal.isGreaterThan(unspent, zero)) continue
    of[entitlement] = { ...of[entitlement], [periodStart.toISOString()]: decimalText(unspent) }
  }
  return { source, lines, head, until: secondOf(spendUntil), of }
}
