/** The local clients of a product: one for each instance that it uses. */
import { makeLocalInstance } from "../../../../../src/local/index.ts"
import type {
  HeldTranche,
  LedgerOptions,
  LocalInstance,
  LocalOptions,
  LocalState,
  Store,
  Unsettled,
} from "../../../../../src/local/index.ts"
import { systemClock } from "../../../../../src/machine/SystemClock.ts"
import { ConfigurationError } from "../../Errors.ts"
import { segmentOf } from "../../RequestRules.ts"
import { durationOf, Settings } from "../../Settings.ts"
import type { ProductClientOptions } from "../Client.ts"
import { DEFAULTS, randomId } from "../Wire.ts"
import { makeRefill, makeService } from "./ServiceCalls.ts"
import type { OpenStream } from "./Streams.ts"
import { whileAlive } from "./WhileAlive.ts"

const DEFAULT_START_TIMEOUT_MS = 2_000

const CLOSED = "The client is closed"

const DENYING: ReadonlyArray<LocalState> = ["EXPIRED", "REVOKED"]

/** What a runtime can do beyond `fetch`. */
export interface Platform {
  readonly openStream: (options: ProductClientOptions) => OpenStream
  /** Opens a folder for this process. */
  readonly openStore: (directory: string) => Promise<OpenedStore>
}

export interface OpenedStore {
  readonly store: Store
  readonly openLedger: NonNullable<LedgerOptions["open"]>
  readonly close: () => Promise<void>
}

/** What a local client knows. */
export interface Status {
  readonly state: LocalState
  /** Milliseconds since the service confirmed the snapshot; `null` without one. */
  readonly ageMs: number | null
  readonly etag: string | null
  /** Until when the product can decide without the service; `null` without a snapshot. */
  readonly expiresAt: string | null
  /** What can be consumed without a request. */
  readonly tranches: ReadonlyArray<HeldTranche>
  /** What was consumed, and the service has not counted yet. */
  readonly unsettled: ReadonlyArray<Unsettled>
}

export interface Locals {
  /** The client of an instance, once it can answer. Returns it without a promise if it can already. */
  readonly use: (instance: string) => LocalInstance | Promise<LocalInstance>
  readonly statusOf: (instance: string) => Status
  /** The instance in use, if there is one only. */
  readonly only: () => string | undefined
  readonly close: () => Promise<void>
}

interface Entry {
  local: LocalInstance | undefined
  isReady: boolean
  readonly ready: Promise<LocalInstance>
}

const listOf = (setting: string, value: unknown): ReadonlyArray<string> | undefined => {
  if (value === undefined) return undefined
  if (Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string")) return value
  throw new ConfigurationError(setting, "must be a list of texts, and not empty")
}

const textOf = (setting: string, value: unknown): string | undefined => {
  if (value === undefined || (typeof value === "string" && value !== "")) return value
  throw new ConfigurationError(setting, "must be a text, and not empty")
}

const flushOf = (flush: ProductClientOptions["flush"] = "100ms"): string => {
  if (flush === "100ms" || flush === "always") return flush
  throw new ConfigurationError("flush", 'must be "100ms" or "always"')
}

/** Keys are an object of texts, or a key set. */
const keysOf = (keys: LocalOptions["keys"]): LocalOptions["keys"] => {
  if (keys === undefined || (typeof keys === "object" && keys !== null)) return keys
  throw new ConfigurationError("keys", "must be a key set")
}

const statusIn = (local: LocalInstance | undefined): Status => {
  if (local === undefined) {
    return { state: "STARTING", ageMs: null, etag: null, expiresAt: null, tranches: [], unsettled: [] }
  }
  const { ageMs, snapshot, state } = local.view()
  const expiresAt = snapshot === undefined ? null : new Date(snapshot.claims.exp * 1000).toISOString()
  return { state, ageMs, etag: snapshot?.etag ?? null, expiresAt, ...local.ledger.status() }
}

/** Makes the local clients of options. Throws `ConfigurationError`. */
export const makeLocals = (options: ProductClientOptions, platform: Platform): Locals => {
  const { bundle, directory, keys, onEvent } = options
  const settings = new Settings({ ...options, retries: 0 }, DEFAULTS)
  const openStream = platform.openStream(options)
  const shared: Omit<LocalOptions, "service"> = {
    clock: systemClock,
    keys: keysOf(keys),
    issuer: textOf("issuer", options.issuer),
    families: listOf("families", options.families),
    bundle: textOf("bundle", bundle),
    startTimeoutMs: durationOf("startTimeoutMs", options.startTimeoutMs ?? DEFAULT_START_TIMEOUT_MS),
    onEvent,
  }
  const flushAlways = flushOf(options.flush) === "always"
  const folder = textOf("directory", directory)
  const entries = new Map<string, Entry>()
  let opening: Promise<OpenedStore> | undefined
  let closing: Promise<void> | undefined
  let isClosed = false

  const open = (instance: string): Entry => {
    segmentOf("A slug", instance)
    const start = async (): Promise<LocalInstance> => {
      if (folder !== undefined) opening ??= platform.openStore(folder)
      const opened = await opening
      // Nothing would end what begins after `close`, and its slot is free for another process.
      if (isClosed) throw new TypeError(CLOSED)
      const ledger = { id: randomId, refill: makeRefill(settings), flushAlways, open: opened?.openLedger }
      const made = { ...shared, service: makeService(settings, openStream), store: opened?.store, ledger }
      const local = makeLocalInstance(instance, made, () => import("./LedgerEngine.ts"))
      entry.local = local
      await local.ready()
      // What was stored denies: perhaps the service does not any more. Else a process that ends soon fetches before it ends.
      if (DENYING.includes(local.view().state)) await local.heard()
      else void whileAlive(local.heard())
      entry.isReady = true
      return local
    }
    const entry: Entry = { local: undefined, isReady: false, ready: Promise.resolve().then(start) }
    // A folder that cannot be opened fails the calls, each time.
    entry.ready.catch(() => entries.delete(instance))
    entries.set(instance, entry)
    return entry
  }

  const close = async (): Promise<void> => {
    await Promise.all(Array.from(entries.values(), async ({ local }) => local?.close()))
    const opened = await opening?.catch(() => undefined)
    await opened?.close()
  }

  const find = (instance: string): Entry => {
    if (isClosed) throw new TypeError(CLOSED)
    return entries.get(instance) ?? open(instance)
  }

  return {
    use: (instance) => {
      const { isReady, local, ready } = find(instance)
      return isReady && local !== undefined ? local : whileAlive(ready)
    },
    statusOf: (instance) =>
      isClosed ? { ...statusIn(entries.get(instance)?.local), state: "CLOSED" } : statusIn(find(instance).local),
    only: () => (entries.size === 1 ? entries.keys().next().value : undefined),
    close: () => {
      isClosed = true
      return (closing ??= whileAlive(close()))
    },
  }
}
