/** A service of refills, for the cases of kind `ledger`: one entitlement, whose period never ends. */
import { BigDecimal } from "effect"
import { afterLines, refill } from "../../src/domains/usage/tranches/Rules.ts"
import { hashOf } from "../../src/offline/values/Bytes.ts"
import type { Claims } from "../../src/offline/index.ts"

export const SLUG = "units"
const SPEND_SECONDS = 3_600
const HOLD_SECONDS = 86_400

const units = (text: string | undefined): BigDecimal.BigDecimal => BigDecimal.fromStringUnsafe(text ?? "0")
const textOfUnits = (amount: BigDecimal.BigDecimal): string => BigDecimal.format(amount)

/** A request for tranches. */
export interface Asked {
  readonly source: string
  readonly lines: ReadonlyArray<string>
  readonly tranches: ReadonlyArray<Readonly<Record<"keep" | "need" | "want" | "periodStart", string>>>
}

interface Holder {
  readonly heads: Array<string>
  quantity: BigDecimal.BigDecimal
  expiresAt: number
  spendUntil: number
}

/** A service with one entitlement, whose period never ends. */
export const makeService = (base: Claims, limit: string, now: () => number) => {
  const holders = new Map<string, Holder>()
  let usage = units("0")
  const heldBy = ({ expiresAt, quantity }: Holder) => (expiresAt > now() ? quantity : units("0"))
  const held = (but?: Holder) =>
    BigDecimal.sumAll(Array.from(holders.values()).map((one) => (one === but ? units("0") : heldBy(one))))
  const free = () => BigDecimal.subtract(units(limit), BigDecimal.sum(usage, held()))

  const count = (holder: Holder, line: string): void => {
    const { data } = JSON.parse(line) as { readonly data: { readonly value: number } }
    const value = units(String(data.value))
    holder.quantity = afterLines(heldBy(holder), value)
    usage = BigDecimal.sum(usage, value)
  }

  const isForked = ({ heads }: Holder, lines: ReadonlyArray<string>, hashes: ReadonlyArray<string>): boolean =>
    lines.some((text, index) => {
      const { id, prevhash } = JSON.parse(text) as { readonly id: string; readonly prevhash: string }
      const number = Number(id)
      const stored = heads[number]
      return prevhash !== (heads[number - 1] ?? hashes[index - 1]) || (stored !== undefined && stored !== hashes[index])
    })

  const claimsFor = (source: string, holder: Holder, period: string): Claims => ({
    ...base,
    tranche: {
      source,
      lines: holder.heads.length - 1,
      head: holder.heads.at(-1) ?? "",
      until: holder.spendUntil,
      of: { [SLUG]: { [period]: textOfUnits(heldBy(holder)) } },
    },
  })

  return {
    /** Answers a refill with claims, or with the code of a problem. */
    refill: async ({ lines, source, tranches }: Asked) => {
      const empty = { quantity: units("0"), expiresAt: 0, spendUntil: 0 }
      const holder = holders.get(source) ?? { ...empty, heads: [await hashOf(source)] }
      holders.set(source, holder)
      const hashes = await Promise.all(lines.map(hashOf))
      if (isForked(holder, lines, hashes)) return "RefillTranches.LedgerForked"
      for (const [index, line] of lines.entries()) {
        const { id } = JSON.parse(line) as { readonly id: string }
        if (holder.heads[Number(id)] !== undefined) continue
        count(holder, line)
        holder.heads.push(hashes[index] ?? "")
      }
      const [asked] = tranches
      const lively = Array.from(holders.values()).filter((one) => one !== holder && one.spendUntil > now())
      const { satisfied, unspent } = refill(
        { cap: units(limit), usage, heldByOthers: held(holder), holders: 1 + lively.length },
        { unspent: heldBy(holder), keep: units(asked?.keep), need: units(asked?.need), want: units(asked?.want) },
      )
      Object.assign(holder, { quantity: unspent, expiresAt: now() + HOLD_SECONDS, spendUntil: now() + SPEND_SECONDS })
      return { satisfied, claims: claimsFor(source, holder, asked?.periodStart ?? "") }
    },
    /** A copy of a ledger settles an amount, and gives back the rest. */
    settleCopy: async (source: string, amount: string) => {
      const holder = holders.get(source)
      if (holder === undefined) throw new Error("Nothing was refilled before the copy settled")
      usage = BigDecimal.sum(usage, units(amount))
      holder.quantity = units("0")
      holder.heads.push(await hashOf(`a copy of ${source}`))
    },
    /** Others use as much of an amount as is free. */
    use: (amount: string) => {
      const used = BigDecimal.min(units(amount), free())
      usage = BigDecimal.sum(usage, used)
      return textOfUnits(used)
    },
    figures: () => ({ usage: textOfUnits(usage), held: textOfUnits(held()) }),
  }
}
