/** Holds the snapshot of one instance: takes what the service sends, stores it, and ends it when the service says so. */
import { makeKeyring } from "../offline/tokens/Keys.ts"
import type { Claims, State } from "../offline/Model.ts"
import { NO_REFILL } from "./Overlaps.ts"
import type { TakenRefill } from "./Overlaps.ts"
import type { Failure, LocalOptions, Reply, StoredSnapshot } from "./Ports.ts"
import { ACCESS_ENDS, rejectionOf } from "./Rejections.ts"
import { organizationOf, snapshotOf, unverified, verifyKept, verifySent } from "./Snapshots.ts"
import type { Snapshot, Trust } from "./Snapshots.ts"
import { DEFAULT_MAX_AGE_MS, initialFacts } from "./States.ts"
import type { Facts } from "./States.ts"

/** What came of a response. */
export type Outcome = { readonly type: "confirmed" } | { readonly type: "revoked" } | Failure

/** What came of a response, with the claims of its snapshot. */
export type Received = Outcome & { readonly claims?: Claims }

export interface Holder {
  readonly facts: Facts
  readonly snapshot: () => Snapshot | undefined
  /** The time of the service, in milliseconds since 1970. */
  readonly time: () => number
  /** Takes what was stored, or what was shipped with the product: the newer of both. */
  readonly restore: () => Promise<void>
  /** Takes a response. `sentAt` is when its request was sent, by the monotonic clock. Never rejects. */
  readonly receive: (reply: Reply, sentAt: number, taken?: (claims: Claims) => void) => Promise<Received>
  /** Takes the snapshot in the response to a refill. `taken` is called when it begins to answer, before it is stored. */
  readonly receiveRefill: (reply: Reply, sentAt: number, taken: (claims: Claims) => void) => Promise<Received>
  /** The last refill whose snapshot was taken. */
  readonly lastRefill: () => TakenRefill
  /** The claims of a stored snapshot, by which a tranche may pay. */
  readonly verify: (token: string) => Promise<Claims | undefined>
  /** The id of the instance, once a snapshot named it. */
  readonly id: () => string | undefined
  /** Stores the snapshot with the latest time that was seen. Never rejects. */
  readonly store: () => Promise<void>
}

/** A smaller difference is that of a header which has whole seconds, and of the way. */
const MAX_CLOCK_DIFFERENCE_MS = 5_000

/** A snapshot that is older than the one in force by more is of a node that is behind, or was sent again. */
const MAX_OLDER_SECONDS = 300

const NO_TRUST: Trust = { issuer: null, keys: {}, state: null }

/** What a holder changes. */
interface Held {
  snapshot: Snapshot | undefined
  trust: Trust
  revokedAt: number | null
  /** The time of the service at a reading of the monotonic clock. */
  base: { readonly time: number; readonly monotonic: number }
  /** Whether the snapshot is a bundle of the product, which is not stored. */
  isShipped: boolean
}

const timeOf = ({ clock }: LocalOptions, { base }: Held): number => base.time + clock.monotonic() - base.monotonic

/** When a response was sent. Without a header, or close to it, the clock of the machine is right. */
const heardAt = (wall: number, dateMs: number | undefined): number =>
  dateMs !== undefined && Math.abs(dateMs - wall) > MAX_CLOCK_DIFFERENCE_MS ? dateMs : wall

/** What verifies a token: pinned keys, or those that the service publishes now if another key signed than before. */
const trustFor = async (token: string, options: LocalOptions, held: Held): Promise<Trust | Failure> => {
  const { snapshot, trust } = held
  const { issuer, kid } = unverified(token)
  const isSame = snapshot !== undefined && unverified(snapshot.token).kid === kid
  if (options.keys !== undefined || (isSame && makeKeyring(trust.keys, null)(kid) !== undefined)) {
    return { ...trust, issuer: trust.issuer ?? issuer }
  }
  const known = options.issuer ?? trust.issuer ?? issuer
  const organization = organizationOf(known)
  if (organization === undefined) return trust
  const reply = await options.service.keys(organization)
  if (reply.type !== "keys") return reply
  // Learned keys came from keys that the service may have revoked.
  const state: State | null = trust.state === null ? null : { ...trust.state, keys: {} }
  return { issuer: known, keys: reply.keys, state }
}

const storedOf = (instance: string, options: LocalOptions, held: Held, facts: Facts): StoredSnapshot => {
  const { revokedAt, snapshot, trust } = held
  const time = timeOf(options, held)
  const latest = Math.max(trust.state?.latest ?? 0, Math.floor(time / 1000))
  return {
    instance,
    token: snapshot?.token ?? null,
    etag: snapshot?.etag ?? null,
    confirmedAt: Math.round(time - (options.clock.monotonic() - facts.confirmedAt)),
    issuer: options.issuer ?? trust.issuer,
    keys: options.keys === undefined ? trust.keys : {},
    state: trust.state === null ? null : { ...trust.state, latest },
    revokedAt: revokedAt === null ? null : Math.round(revokedAt),
  }
}

const makeStoring = (instance: string, options: LocalOptions, held: Held, facts: Facts) => {
  const { onEvent, store } = options
  let last: Promise<void> = Promise.resolve()
  return (): Promise<void> => {
    const id = held.trust.state?.sub
    // A stored snapshot that cannot be used now, as by a clock that is behind, is left as it is: it may be used later.
    const isEmpty = held.snapshot === undefined && held.revokedAt === null
    if (store === undefined || id === undefined || held.isShipped || isEmpty) return last
    const record = storedOf(instance, options, held, facts)
    last = last
      .then(() => store.write(id, record))
      .catch((error: unknown) => onEvent?.({ type: "error", instance, error }))
    return last
  }
}

const makeRestore = (instance: string, options: LocalOptions, held: Held, facts: Facts) => async (): Promise<void> => {
  const { bundle, clock, onEvent, store } = options
  // What cannot be read fails no start.
  const stored = await store?.read(instance).catch((error: unknown) => {
    onEvent?.({ type: "error", instance, error })
    return undefined
  })
  const [wall, monotonic] = [clock.wall(), clock.monotonic()]
  held.base = { time: wall, monotonic }
  if (stored !== undefined) held.trust = { issuer: stored.issuer, keys: stored.keys, state: stored.state }
  if (stored !== undefined && stored.revokedAt !== null) {
    held.revokedAt = stored.revokedAt
    facts.isRevoked = true
    return
  }
  const kept = [
    { token: stored?.token, etag: stored?.etag ?? null, confirmedAt: stored?.confirmedAt },
    { token: bundle, etag: null, confirmedAt: undefined },
  ]
  for (const { confirmedAt, etag, token } of kept) {
    if (token === undefined || token === null) continue
    const { claims, state } = await verifyKept(token, instance, options, held.trust, wall)
    if (claims === undefined || claims.iat <= (held.snapshot?.claims.iat ?? 0)) continue
    held.snapshot = snapshotOf(token, etag, claims, options.savesMemory)
    held.isShipped = confirmedAt === undefined
    held.trust = { ...held.trust, state }
    held.base = { time: Math.max(wall, claims.iat * 1000, (state?.latest ?? 0) * 1000), monotonic }
    facts.exp = claims.exp
    facts.confirmedAt = monotonic - Math.max(0, held.base.time - (confirmedAt ?? claims.iat * 1000))
  }
}

/** Takes the responses of the service. */
const makeReceive = (
  instance: string,
  options: LocalOptions,
  held: Held,
  facts: Facts,
  store: () => Promise<void>,
): Holder["receive"] => {
  const { clock, onEvent } = options

  const end = async (): Promise<Outcome> => {
    held.revokedAt = timeOf(options, held)
    held.snapshot = undefined
    facts.isRevoked = true
    facts.exp = undefined
    held.isShipped = false
    await store()
    return { type: "revoked" }
  }

  const confirm = (heard: Held["base"], sentAt: number, maxAgeMs: number = DEFAULT_MAX_AGE_MS): Outcome => {
    held.base = heard
    Object.assign(facts, { confirmedAt: heard.monotonic, requestedAt: sentAt, maxAgeMs })
    return { type: "confirmed" }
  }

  const take = async (
    reply: Extract<Reply, { type: "snapshot" }>,
    heard: Held["base"],
    sentAt: number,
    inForce: (claims: Claims) => void,
  ) => {
    const { etag, token } = reply
    const trust = await trustFor(token, options, held)
    if ("type" in trust) return trust
    const { claims, state, status } = await verifySent(token, instance, options, trust, heard.time)
    const isOlder = claims !== undefined && claims.iat < (held.snapshot?.claims.iat ?? 0) - MAX_OLDER_SECONDS
    const taken = claims !== undefined && !isOlder
    const result = isOlder ? "SUPERSEDED" : status
    onEvent?.({ type: "snapshot", instance, status: result, taken })
    if (!taken) {
      const isEnd = status === "WRONG_LICENSE" && (held.snapshot !== undefined || facts.isRevoked)
      return isEnd ? end() : rejectionOf(instance, result)
    }
    Object.assign(held, {
      snapshot: snapshotOf(token, etag, claims, options.savesMemory),
      trust: { ...trust, state },
      revokedAt: null,
      isShipped: false,
    })
    facts.isRevoked = false
    facts.exp = claims.exp
    const outcome = confirm(heard, sentAt, reply.maxAgeMs)
    inForce(claims)
    // It answers from now on. A first call waits until it is stored, so that no crash after it loses it.
    await store()
    return { ...outcome, claims }
  }

  return async (reply, sentAt, inForce = () => undefined) => {
    const heard = (dateMs: number | undefined) => ({
      time: heardAt(clock.wall(), dateMs),
      monotonic: clock.monotonic(),
    })
    if (reply.type === "snapshot") return take(reply, heard(reply.dateMs), sentAt, inForce)
    if (reply.type === "unchanged") return confirm(heard(reply.dateMs), sentAt, reply.maxAgeMs)
    const isEnd = reply.type === "problem" && ACCESS_ENDS.includes(reply.code)
    return isEnd && (held.snapshot !== undefined || facts.isRevoked) ? end() : reply
  }
}

/** Makes the holder of an instance, which holds nothing yet. */
export const makeHolder = (instance: string, options: LocalOptions): Holder => {
  const { clock } = options
  const facts = initialFacts()
  const held: Held = {
    snapshot: undefined,
    trust: NO_TRUST,
    revokedAt: null,
    base: { time: clock.wall(), monotonic: clock.monotonic() },
    isShipped: false,
  }
  const store = makeStoring(instance, options, held, facts)
  const receive = makeReceive(instance, options, held, facts, store)
  let lastRefill = NO_REFILL
  return {
    facts,
    snapshot: () => held.snapshot,
    time: () => timeOf(options, held),
    id: () => held.trust.state?.sub,
    verify: async (token) => (await verifyKept(token, instance, options, held.trust, timeOf(options, held))).claims,
    restore: makeRestore(instance, options, held, facts),
    receive,
    receiveRefill: (reply, sentAt, taken) =>
      receive(reply, sentAt, (claims) => {
        lastRefill = { sentAt, takenAt: clock.monotonic() }
        taken(claims)
      }),
    lastRefill: () => lastRefill,
    store,
  }
}
