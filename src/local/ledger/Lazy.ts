/** A ledger that is loaded at its first use, or where one may be stored: many pages only check. */
import type { LedgerOptions } from "../Ports.ts"
import type { Ledger, Owner } from "./Ledger.ts"

type LazyLedger = Omit<Ledger, "local" | "claims"> & {
  readonly local: () => ReturnType<Ledger["local"]> | undefined
  readonly claims: () => ReturnType<Ledger["claims"]> | undefined
}

/** Loads what consumes locally. */
export type LoadLedger = () => Promise<{ readonly makeLedger: (owner: Owner) => Ledger }>

/** Makes the ledger of a client. Without options, nothing can be consumed. */
export const makeLazyLedger = (
  options: LedgerOptions | undefined,
  loadLedger: LoadLedger | undefined,
  owner: Omit<Owner, "ledger">,
): LazyLedger => {
  let ledger: Ledger | undefined
  let loading: Promise<Ledger> | undefined
  const load = async (): Promise<Ledger> => {
    if (options === undefined || loadLedger === undefined) throw new TypeError("The client has no ledger")
    const { makeLedger } = await loadLedger()
    ledger = makeLedger({ ...owner, ledger: options })
    return ledger
  }
  const use = (): Promise<Ledger> => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined
      throw error
    })
    return loading
  }
  const mayBeStored = (): boolean => {
    const id = owner.instanceId()
    return id === undefined || options?.isStored?.(id) !== false
  }
  return {
    local: () => ledger?.local(),
    claims: () => ledger?.claims(),
    contact: () => {
      if (ledger !== undefined) ledger.contact()
      else if (options?.open !== undefined && mayBeStored()) {
        use().then(
          (loaded) => loaded.contact(),
          () => undefined,
        )
      }
    },
    consume: (wish, signal) => ledger?.consume(wish, signal) ?? use().then((loaded) => loaded.consume(wish, signal)),
    reserve: (wish, ttlMs, signal) => use().then((loaded) => loaded.reserve(wish, ttlMs, signal)),
    refilling: () => ledger?.refilling(),
    status: () => ledger?.status() ?? { tranches: [], unsettled: [] },
    close: async () => {
      const loaded = await loading?.catch(() => undefined)
      await loaded?.close()
    },
  }
}
