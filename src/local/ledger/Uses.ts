/** How much of each entitlement was used lately. */

/** How far back use is an estimate of what comes. */
export const USE_MS = 10_000

const BUCKET_MS = 1_000

export interface Uses {
  readonly add: (entitlement: string, amount: bigint, now: number) => void
  /** What was used in the last 10 seconds. */
  readonly recent: (entitlement: string, now: number) => bigint
  /** When an entitlement was last used; of one that was not, when the client began. */
  readonly lastAt: (entitlement: string) => number
  /** Entitlements that were used in the last 10 seconds. */
  readonly names: (now: number) => ReadonlyArray<string>
}

interface Use {
  lastAt: number
  buckets: Array<{ readonly since: number; amount: bigint }>
}

export const makeUses = (began: number): Uses => {
  const uses = new Map<string, Use>()
  return {
    add: (entitlement, amount, now) => {
      const use = uses.get(entitlement) ?? { lastAt: now, buckets: [] }
      uses.set(entitlement, use)
      use.lastAt = now
      const last = use.buckets.at(-1)
      if (last !== undefined && now < last.since + BUCKET_MS) last.amount += amount
      else {
        use.buckets = use.buckets.filter(({ since }) => since > now - USE_MS)
        use.buckets.push({ since: now, amount })
      }
    },
    recent: (entitlement, now) =>
      (uses.get(entitlement)?.buckets ?? []).reduce(
        (sum, { amount, since }) => (since > now - USE_MS ? sum + amount : sum),
        0n,
      ),
    lastAt: (entitlement) => uses.get(entitlement)?.lastAt ?? began,
    names: (now) => Array.from(uses).flatMap(([name, { lastAt }]) => (lastAt > now - USE_MS ? [name] : [])),
  }
}
