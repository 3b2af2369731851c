/**
 * The instances in use: one local client for each credential and instance, begun at the first use. Beyond the maximum, the least recently
 * used ones are closed. What is stored of them stays.
 */
import type { LocalState } from "../../local/index.ts"
import { storedIn } from "../../local/Stored.ts"
import { isUnsettled } from "../../local/ledger/Stored.ts"
import type { Target } from "../../domains/events/changes/Model.ts"
import type { Credential } from "../credentials/Credential.ts"
import { openInstance } from "./EdgeInstance.ts"
import type { EdgeInstance, InstanceOptions } from "./EdgeInstance.ts"
import { makeLedgers } from "./Ledgers.ts"

/** States in which what was stored denies: perhaps the origin does not any more. */
const DENYING: ReadonlyArray<LocalState> = ["EXPIRED", "REVOKED"]

export interface Instances {
  /** An instance, once it can answer. Returns it without a promise if it can already. */
  readonly use: (credential: Credential, slug: string) => EdgeInstance | Promise<EdgeInstance>
  /** An instance in use; `undefined` if it is not. */
  readonly find: (credential: Credential, slug: string) => EdgeInstance | undefined
  readonly all: () => Iterable<EdgeInstance>
  /** The one that knows what was spent of the same instance: this one, unless another credential consumes. */
  readonly informed: (instance: EdgeInstance) => EdgeInstance
  /** The one that consumes for the same instance. */
  readonly spender: (instance: EdgeInstance) => Promise<EdgeInstance>
  /** Those that have a ledger. */
  readonly spenders: () => Iterable<EdgeInstance>
  /** Opens the ledgers that a process before this one did not settle, for instances of a credential. */
  readonly settleStored: (credential: Credential) => Promise<void>
  /** Whether a change concerns an instance. What is not known of it may be concerned. */
  readonly concerns: (credential: Credential, slug: string, target: Target) => boolean
  /** Closes the instances of a credential. */
  readonly forget: (credential: Credential) => void
  readonly close: () => Promise<void>
}

interface InstancesOptions extends InstanceOptions {
  readonly maxInstances: number
}

interface Entry {
  readonly instance: EdgeInstance
  readonly ready: Promise<EdgeInstance>
  isReady: boolean
  /** The number of its last use. */
  usedAt: number
}

/** The part of the instances that is closed beyond the maximum. Finding the oldest reads all, so it is done once for many. */
const EVICTED_PART = 0.01

const isSettled = ({ local }: EdgeInstance): boolean => local.ledger.status().unsettled.length === 0

/** The keys of the least recently used entries. Those with uses that the origin has not counted go last. */
const oldestOf = (entries: ReadonlyMap<string, Entry>, count: number): ReadonlyArray<string> =>
  [...entries]
    .map(([key, { instance, usedAt }]) => ({ key, rank: isSettled(instance) ? usedAt : Infinity }))
    .sort((one, other) => one.rank - other.rank)
    .slice(0, count)
    .map(({ key }) => key)

const start = async (instance: EdgeInstance): Promise<EdgeInstance> => {
  const { local } = instance
  await local.ready()
  if (DENYING.includes(local.view().state)) await local.heard()
  return instance
}

const keyOf = ({ id }: Credential, slug: string): string => `${id} ${slug}`

const idOf = ({ local }: EdgeInstance): string => local.view().snapshot?.claims.sub ?? ""

/** The ledgers of instances, each in the file that the first client with it opens. */
const makeEntries = (options: InstancesOptions) => {
  const { clock, folder, onError } = options
  const entries = new Map<string, Entry>()
  const ledgers = makeLedgers<EdgeInstance>((instance) => discard(keyOf(instance.credential, instance.slug)))

  const remove = async (key: string): Promise<void> => {
    const entry = entries.get(key)
    if (entry === undefined) return
    entries.delete(key)
    const closed = entry.instance.local.close()
    ledgers.release(
      entry.instance,
      closed.catch(() => undefined),
    )
    await closed
  }
  const discard = (key: string): void => void remove(key).catch(onError)

  const open = (credential: Credential, slug: string): EdgeInstance => {
    const instance: EdgeInstance = openInstance(credential, slug, options, {
      isStored: (id) => credential.mayConsume() && ledgers.isFor(id, instance) && folder.hasLedger(id),
      open: async (id) => {
        ledgers.take(id, instance)
        return folder.openLedger(id, clock)
      },
    })
    return instance
  }
  return { entries, ledgers, remove, discard, open }
}

/** Makes the instances of an edge. */
export const makeInstances = (options: InstancesOptions): Instances => {
  const { folder, maxInstances, onError } = options
  const { discard, entries, ledgers, open, remove } = makeEntries(options)
  let uses = 0

  const find = (credential: Credential, slug: string) => entries.get(keyOf(credential, slug))?.instance

  const begin = (key: string, credential: Credential, slug: string): Entry => {
    const instance = open(credential, slug)
    const entry: Entry = { instance, ready: start(instance), isReady: false, usedAt: ++uses }
    entries.set(key, entry)
    const settle = () => {
      entry.isReady = true
      // A name that does not exist takes no place of one that does.
      const { failure, snapshot, state } = instance.local.view()
      const isUnknown = snapshot === undefined && state === "NONE" && failure?.type === "problem"
      if (isUnknown && entries.get(key) === entry) discard(key)
    }
    entry.ready.then(settle, (error: unknown) => {
      onError(error)
      discard(key)
    })
    if (entries.size > maxInstances) oldestOf(entries, Math.ceil(maxInstances * EVICTED_PART)).forEach(discard)
    return entry
  }

  const use: Instances["use"] = (credential, slug) => {
    const key = keyOf(credential, slug)
    const known = entries.get(key)
    if (known === undefined) return begin(key, credential, slug).ready
    known.usedAt = ++uses
    return known.isReady ? known.instance : known.ready
  }

  return {
    use,
    find,
    all: function* () {
      for (const { instance } of entries.values()) yield instance
    },
    informed: (instance) => ledgers.holderOf(idOf(instance)) ?? instance,
    spender: (instance) => ledgers.claim(idOf(instance), instance),
    spenders: ledgers.holders,
    settleStored: async (credential) => {
      const unsettled: Array<string> = []
      for (const { instanceId, text } of await folder.ledgers()) {
        if (await isUnsettled(text)) unsettled.push(instanceId)
      }
      if (unsettled.length === 0 || !credential.mayConsume()) return
      for (const { text } of await folder.snapshotsOf(credential.id)) {
        const { instance, state } = storedIn(text) ?? {}
        if (instance !== undefined && unsettled.includes(state?.sub ?? "")) await use(credential, instance)
      }
    },
    concerns: (credential, slug, target) =>
      find(credential, slug)?.concerns(target) ?? (target.of !== "instance" || target.slug === slug),
    forget: (credential) => {
      for (const [key, { instance }] of entries) if (instance.credential === credential) discard(key)
    },
    close: async () => {
      await Promise.all([...entries.keys()].map(remove))
    },
  }
}
