/** A product in a run: its files survive `kill`, and may be copied. */
import { makeLocalInstance } from "../../../src/local/index.ts"
import type { LocalEvent, LocalInstance } from "../../../src/local/index.ts"
import { makeLedger } from "../../../src/local/ledger/Ledger.ts"
import { ledgerStoreOf } from "../../../src/local/ledger/Stored.ts"
import type { LedgerFile } from "../../../src/local/ledger/Stored.ts"
import { storeOf } from "../../../src/local/Stored.ts"
import { claims, current, issuer } from "../../offline/signer.ts"
import type { Connection, Network } from "./network.ts"
import { BASE, SOLD } from "./service.ts"
import type { Model } from "./service.ts"
import type { Schedule } from "./schedule.ts"

const HOUR = 3_600_000

const INSTANCE = claims.instance.slug

/** What a machine stores. */
interface Disk {
  snapshot: string | undefined
  ledger: string
}

/** What a run counts. */
export interface Counts {
  readonly acknowledged: Map<string, number>
  readonly faults: Array<string>
  readonly reasons: Map<string, number>
  consumed: number
  denied: number
}

export interface Product {
  readonly disk: Disk
  readonly start: () => void
  readonly kill: () => void
  readonly isRunning: () => boolean
  readonly local: () => LocalInstance | undefined
  readonly connection: () => Connection | undefined
  /** Consumes so much of each, or nothing. */
  readonly consume: (entitlements: ReadonlyArray<string>, amount: number, key?: string) => Promise<void>
  readonly reserve: (entitlement: string, amount: number, used: number, forMs: number) => Promise<void>
  readonly close: () => Promise<void>
}

interface World {
  readonly schedule: Schedule
  readonly random: () => number
  readonly network: Network
  readonly model: Model
  readonly counts: Counts
  readonly note: (text: string) => void
  readonly onEvent: (event: LocalEvent) => void
}

const uuid = (random: () => number): string => {
  const hex = Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16)).join("")
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")
}

const fileOf = (disk: Disk, isAlive: () => boolean, wait: (millis: number) => Promise<void>): LedgerFile => ({
  text: disk.ledger,
  size: () => disk.ledger.length,
  append: (text) => {
    if (isAlive()) disk.ledger += text
  },
  sync: () => wait(3),
  replace: async (text) => {
    let more = ""
    const before = disk.ledger.length
    await wait(5)
    if (!isAlive()) return
    more = disk.ledger.slice(before)
    disk.ledger = text + more
  },
  setAside: async () => {
    if (isAlive()) disk.ledger = ""
  },
  close: async () => undefined,
})

/** Makes a product. Its clock differs from that of the service by `skew`. */
export const makeProduct = (world: World, disk: Disk, skew: number): Product => {
  const { counts, model, network, note, onEvent, random, schedule } = world
  let local: LocalInstance | undefined
  let connection: Connection | undefined
  let life = 0
  let isClosing = false
  /** What work is done with: a product that closes begins none. */
  const inUse = () => (isClosing ? undefined : local)

  const run = <A>(work: (alive: () => boolean) => Promise<A>): Promise<A | undefined> => {
    const mine = life
    return work(() => life === mine && local !== undefined).catch((error: unknown) => {
      if (life === mine)
        counts.faults.push(`${String(error)} ${(error as Error).stack?.split("\n")[1] ?? ""} at ${schedule.now()}`)
      return undefined
    })
  }

  const acknowledge = (entitlement: string, amount: number) =>
    counts.acknowledged.set(entitlement, (counts.acknowledged.get(entitlement) ?? 0) + amount)

  /** A need that stays unsatisfied while there are units for it. */
  const askAgain = async (entitlement: string, amount: number) => {
    if (model.free(entitlement) < amount) return
    await schedule.wait(5_000)
    const wish = { checks: [{ entitlement, requested: amount }], policy: "closed" } as const
    const isFree = model.free(entitlement) >= amount
    const held = await inUse()?.ledger.reserve(wish, 1_000)
    if (held === undefined) return
    const [{ reason } = { reason: "" }] = held.answers.checks
    const wasFree = isFree && model.free(entitlement) >= amount
    if (reason === "LIMIT_REACHED" && wasFree)
      counts.faults.push(`${amount} of ${entitlement} were free at ${schedule.now()}`)
    held.release()
  }

  const noteDenial = (entitlement: string, amount: number, reason: string) => {
    counts.denied++
    counts.reasons.set(reason, (counts.reasons.get(reason) ?? 0) + 1)
    note(`denied ${entitlement} ${amount} ${reason}`)
    if (reason === "LIMIT_REACHED") void run(() => askAgain(entitlement, amount))
    const now = schedule.now()
    const opened = connection?.openedAt() ?? Infinity
    // Where the clocks differ by less than what a header shows, a period ends twice.
    const isAtBoundary = (now + 10_000) % HOUR < 20_000
    // A product that closes answers the calls that wait as if the service were away.
    const isConnected =
      !isClosing &&
      !isAtBoundary &&
      local?.view().state === "LIVE" &&
      now - opened > 5_000 &&
      now - (connection?.troubleAt() ?? now) > 15_000
    if (reason === "SERVICE_AWAY" && isConnected)
      counts.faults.push(`${reason} of ${entitlement} while connected at ${now}`)
  }

  return {
    disk,
    start: () => {
      const mine = ++life
      isClosing = false
      const isAlive = () => mine === life
      const made = (connection = network.connect())
      const offset = Math.floor(random() * 1_000_000)
      local = makeLocalInstance(
        INSTANCE,
        {
          clock: {
            wall: () => BASE + schedule.now() + skew,
            monotonic: () => schedule.now() + offset,
            random,
            after: (millis, work) => schedule.after(millis, () => isAlive() && work()),
          },
          service: made.service,
          keys: { [current.kid]: current.x },
          issuer,
          startTimeoutMs: 2_000,
          store: storeOf({
            read: async () => (disk.snapshot === undefined ? [] : [{ name: "snapshot.json", text: disk.snapshot }]),
            write: async (_, text) => {
              await schedule.wait(2)
              if (isAlive()) disk.snapshot = text
            },
            setAside: async () => undefined,
          }),
          ledger: {
            id: () => uuid(random),
            refill: made.refill,
            open: () => ledgerStoreOf(fileOf(disk, isAlive, schedule.wait)),
          },
          onEvent: (event) => isAlive() && onEvent(event),
        },
        async () => ({ makeLedger }),
      )
      void local.ready()
    },
    kill: () => {
      life++
      local = undefined
      connection?.kill()
      connection = undefined
      // A record that was being written: the caller never got an answer.
      if (random() < 0.5) disk.ledger += '{"spend":[["small","1","2026-11-2'
    },
    isRunning: () => local !== undefined,
    local: () => local,
    connection: () => connection,
    consume: async (entitlements, amount, key) => {
      await run(async (isAlive) => {
        await inUse()?.ready()
        const client = inUse()
        if (!isAlive() || client === undefined) return
        const checks = entitlements.map((entitlement) => ({ entitlement, requested: amount }))
        const answers = await client.ledger.consume({ checks, policy: "closed", key })
        if (!isAlive()) return
        const denied = answers.checks.find(({ allowed }) => !allowed)
        if (denied !== undefined) return noteDenial(denied.entitlement, amount, denied.reason)
        counts.consumed++
        for (const entitlement of entitlements) acknowledge(entitlement, amount)
      })
    },
    reserve: async (entitlement, amount, used, forMs) => {
      await run(async (isAlive) => {
        await inUse()?.ready()
        const client = inUse()
        if (!isAlive() || client === undefined) return
        const held = await client.ledger.reserve(
          { checks: [{ entitlement, requested: amount }], policy: "closed" },
          2 * forMs,
        )
        if (!isAlive() || held.answers.checks[0]?.allowed !== true) return
        await schedule.wait(forMs)
        if (isAlive() && held.commit(String(used))) acknowledge(entitlement, used)
      })
    },
    close: async () => {
      isClosing = true
      await run(async () => local?.close())
      life++
      local = undefined
    },
  }
}

export const slugs = SOLD.map(({ slug }) => slug)
