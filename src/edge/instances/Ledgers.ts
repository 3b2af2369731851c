/**
 * The ledgers of an edge: one for each instance, whatever credentials its callers have. The client of the first credential that consumes
 * has it. When that client ends, another one opens the same file, and goes on with what is not settled.
 */
import type { LocalInstance } from "../../local/index.ts"

/** A client that can have the ledger of its instance. */
export interface LedgerHolder {
  readonly local: LocalInstance
  /** Whether it can still reach what is behind its ledger. */
  readonly isUsable: () => boolean
}

/** Another client has the ledger. */
class LedgerHeld extends Error {
  override readonly name = "LedgerHeld"
}

interface Held<H> {
  readonly holder: H
  /** Set while the holder ends. */
  ending?: Promise<void>
}

interface Ledgers<H extends LedgerHolder> {
  /** The client that has the ledger of an instance and can answer. */
  readonly holderOf: (instanceId: string) => H | undefined
  /** The client that consumes for an instance: the one that has the ledger, else this one. Waits for one that ends. */
  readonly claim: (instanceId: string, candidate: H) => Promise<H>
  /** Whether a client may open the ledger. */
  readonly isFor: (instanceId: string, candidate: H) => boolean
  /** Notes that a client opens the ledger. Throws if another one has it. */
  readonly take: (instanceId: string, candidate: H) => void
  /** Notes that the ledgers of a client are free once it has ended. */
  readonly release: (holder: H, ended: Promise<void>) => void
  readonly holders: () => Iterable<H>
}

/** Makes the ledgers of an edge. `end` ends a client that cannot reach its origin any more. */
export const makeLedgers = <H extends LedgerHolder>(end: (holder: H) => void): Ledgers<H> => {
  const ledgers = new Map<string, Held<H>>()

  const claim = async (instanceId: string, candidate: H): Promise<H> => {
    for (;;) {
      const held = ledgers.get(instanceId)
      if (held === undefined) {
        ledgers.set(instanceId, { holder: candidate })
        return candidate
      }
      const { ending, holder } = held
      if (ending !== undefined) await ending
      else if (holder === candidate || holder.isUsable()) return holder
      else {
        end(holder)
        // One that has ended without a ledger in a file.
        if (held.ending === undefined) ledgers.delete(instanceId)
      }
    }
  }

  return {
    holderOf: (instanceId) => {
      const held = ledgers.get(instanceId)
      return held !== undefined && held.ending === undefined && held.holder.isUsable() ? held.holder : undefined
    },
    claim,
    isFor: (instanceId, candidate) => {
      const holder = ledgers.get(instanceId)?.holder
      return holder === undefined || holder === candidate
    },
    take: (instanceId, candidate) => {
      const held = ledgers.get(instanceId)
      if (held === undefined) ledgers.set(instanceId, { holder: candidate })
      else if (held.holder !== candidate) throw new LedgerHeld("Another credential consumes for the instance")
    },
    release: (holder, ended) => {
      for (const [instanceId, held] of ledgers) {
        if (held.holder !== holder) continue
        held.ending = ended.then(() => void ledgers.delete(instanceId))
      }
    },
    holders: function* () {
      for (const { holder } of ledgers.values()) yield holder
    },
  }
}
