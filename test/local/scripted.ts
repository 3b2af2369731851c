/** Plays the cases of `clients/vectors/local-states.json`: a local client against a script, under a clock of the script. */
import { makeLocalInstance } from "../../src/local/index.ts"
import type {
  Clock,
  Failure,
  KeysReply,
  LocalEvent,
  LocalInstance,
  Policy,
  Reply,
  Service,
  StreamListener,
} from "../../src/local/index.ts"
import { storedIn, storeOf } from "../../src/local/Stored.ts"
import { isIdle, whileCounting } from "./idle.ts"

/** What a step does; what is not named does not happen. */
interface Step {
  /** Seconds since the case began. */
  readonly at: number
  readonly do: "start" | "kill" | "close" | "refresh" | "respond" | "text" | "end" | "clock" | "damage" | "wait"
  readonly to?: "stream" | "snapshot" | "keys"
  /** `null`: there was no response. */
  readonly status?: number | null
  readonly code?: string
  readonly snapshot?: string
  readonly keys?: ReadonlyArray<string>
  readonly maxAge?: number
  readonly retryAfter?: number
  /** How many seconds the header `Date` is ahead of the clock of the machine. */
  readonly dateAhead?: number
  readonly text?: string
  /** Seconds by which the clock of the machine is set. */
  readonly by?: number
  readonly expected: Expected
}

interface Request {
  readonly at: number
  readonly to: string
  /** The snapshot whose tag is in `If-None-Match`. */
  readonly etag?: string | null
}

interface Stored {
  readonly snapshot: string | null
  readonly revoked: boolean
  readonly latest: number | null
}

/** What is seen after a step. */
interface Expected {
  readonly requests: ReadonlyArray<Request>
  readonly state: string
  readonly check:
    | "WAITING"
    | { readonly error: string }
    | {
        readonly allowed: boolean
        readonly reason: string
        readonly source: string
        readonly ageSeconds: number | null
      }
    | null
  readonly stored: Stored | null
}

interface StateCase {
  readonly id: string
  readonly why: string
  readonly given: {
    readonly keys?: ReadonlyArray<string> | null
    readonly families?: ReadonlyArray<string>
    readonly bundle?: string
    readonly whenAway?: Policy
    readonly random?: number
  }
  readonly steps: ReadonlyArray<Step>
}

export interface StateVectors {
  readonly clock: string
  readonly instance: string
  readonly entitlement: string
  readonly issuer: string
  readonly keys: Readonly<Record<string, string>>
  readonly snapshots: Readonly<Record<string, { readonly token: string; readonly etag: string }>>
  readonly cases: ReadonlyArray<StateCase>
}

class Problem extends Error {
  readonly code: string
  readonly isAway: boolean
  constructor(code: string, isAway: boolean) {
    super(code)
    this.code = code
    this.isAway = isAway
  }
}

const START_TIMEOUT_MS = 2_000

/** A clock that moves only when it is moved. Timers run in the order of their times. */
const makeClock = (base: number, random: number) => {
  let now = 0
  let shift = 0
  const timers: Array<{ readonly at: number; readonly work: () => void }> = []
  const clock: Clock = {
    wall: () => base + now + shift,
    // It counts from another time than the script.
    monotonic: () => now + 7_000_000,
    random: () => random,
    after: (millis, work) => {
      const timer = { at: now + millis, work }
      timers.push(timer)
      return () => {
        const place = timers.indexOf(timer)
        if (place >= 0) timers.splice(place, 1)
      }
    },
  }
  return {
    clock,
    now: () => now,
    set: (millis: number) => {
      shift += millis
    },
    stop: () => timers.splice(0),
    advance: async (to: number) => {
      for (;;) {
        const [next] = timers.toSorted((one, other) => one.at - other.at)
        if (next === undefined || next.at > to) break
        timers.splice(timers.indexOf(next), 1)
        now = Math.max(now, next.at)
        next.work()
        await isIdle()
      }
      now = to
    },
  }
}

/** Requests that wait for the script, by what they are for. */
const makeService = (vectors: StateVectors, time: { now: () => number; clock: Clock }) => {
  const { snapshots } = vectors
  let requests: Array<Request> = []
  const open = {
    snapshot: [] as Array<(reply: Reply) => void>,
    keys: [] as Array<(reply: KeysReply) => void>,
    stream: [] as Array<StreamListener>,
  }
  let stream: StreamListener | undefined
  const ask = (request: Omit<Request, "at">) => {
    requests.push({ at: Math.round(time.now()) / 1000, ...request })
  }
  const tagged = (etag: string | null) =>
    Object.entries(snapshots).find(([, snapshot]) => snapshot.etag === etag)?.[0] ?? null
  const service: Service = {
    snapshot: (_, etag) => {
      ask({ to: "snapshot", etag: tagged(etag) })
      return new Promise((resolve) => open.snapshot.push(resolve))
    },
    keys: () => {
      ask({ to: "keys" })
      return new Promise((resolve) => open.keys.push(resolve))
    },
    changes: (_, listener) => {
      ask({ to: "stream" })
      open.stream.push(listener)
      return () => {
        open.stream = open.stream.filter((one) => one !== listener)
        if (stream === listener) stream = undefined
      }
    },
  }
  const failureOf = ({ code = "HTTP.0", retryAfter, status = null }: Step): Failure => {
    const isAway = status === null || status === 429 || status >= 500 || code.startsWith("HTTP.")
    const error = new Problem(isAway ? "AWAY" : code, isAway)
    const wait = retryAfter === undefined ? {} : { retryAfterMs: retryAfter * 1000 }
    return { type: isAway ? "away" : "problem", code: isAway ? "" : code, error, ...wait }
  }
  const replyOf = (step: Step): Reply => {
    const { dateAhead = 0, maxAge = 30, snapshot, status } = step
    const head = { maxAgeMs: maxAge * 1000, dateMs: Math.floor(time.clock.wall() / 1000 + dateAhead) * 1000 }
    const sent = snapshot === undefined ? undefined : snapshots[snapshot]
    if (status === 200 && sent !== undefined) return { type: "snapshot", ...sent, ...head }
    return status === 304 ? { type: "unchanged", ...head } : failureOf(step)
  }
  const first = <A>(list: Array<A>, what: string): A => {
    const one = list.shift()
    if (one === undefined) throw new Error(`The client has no open request for ${what}`)
    return one
  }
  return {
    service,
    taken: () => {
      const seen = requests
      requests = []
      return seen
    },
    forget: () => {
      Object.assign(open, { snapshot: [], keys: [], stream: [] })
      stream = undefined
    },
    text: (text: string) => stream?.text(text),
    end: () => stream?.ended(),
    respond: (step: Step) => {
      if (step.to === "stream") {
        const listener = first(open.stream, "a stream")
        if (step.status !== 200) return listener.ended(failureOf(step))
        stream = listener
        return listener.opened()
      }
      if (step.to === "keys") {
        const named = step.keys?.map((name) => ({ kty: "OKP", crv: "Ed25519", kid: name, x: vectors.keys[name] }))
        const keys = named === undefined ? undefined : { keys: named }
        return first(open.keys, "keys")(keys === undefined ? failureOf(step) : { type: "keys", keys: keys as never })
      }
      return first(open.snapshot, "a snapshot")(replyOf(step))
    },
  }
}

const codeOf = (error: unknown): string => {
  if (error instanceof Problem) return error.code
  const { isAway, status } = error as { readonly isAway?: boolean; readonly status?: string }
  if (isAway === true) return "AWAY"
  return status ?? "CLOSED"
}

const playSteps = async (vectors: StateVectors, { given, steps }: StateCase) => {
  const { entitlement, instance, keys, snapshots } = vectors
  const time = makeClock(Date.parse(vectors.clock), given.random ?? 0.5)
  const scripted = makeService(vectors, time)
  const files = new Map<string, string>()
  const events: Array<LocalEvent> = []
  const pinned = given.keys === null ? undefined : (given.keys ?? Object.keys(keys).slice(0, 1))
  let client: LocalInstance | undefined
  let isReady = false

  const start = () => {
    const made = makeLocalInstance(instance, {
      clock: time.clock,
      service: scripted.service,
      store: storeOf({
        read: async () => Array.from(files, ([name, text]) => ({ name, text })),
        write: async (id, text) => {
          if (made === client) files.set(id, text)
        },
        setAside: async (name) => {
          const text = files.get(name) ?? ""
          files.delete(name)
          files.set(`${name}.bad`, text)
        },
      }),
      ...(pinned === undefined
        ? {}
        : { issuer: vectors.issuer, keys: Object.fromEntries(pinned.map((name) => [name, keys[name] ?? ""])) }),
      families: given.families,
      bundle: given.bundle === undefined ? undefined : snapshots[given.bundle]?.token,
      startTimeoutMs: START_TIMEOUT_MS,
      onEvent: (event) => events.push(event),
    })
    client = made
    isReady = false
    void made.ready().then(() => (isReady = true))
  }

  const checked = (): Expected["check"] => {
    if (client === undefined) return null
    if (!isReady) return "WAITING"
    try {
      const { ageMs, checks, source } = client.answers([{ entitlement }], given.whenAway ?? "closed")
      const { allowed = false, reason = "" } = checks[0] ?? {}
      return { allowed, reason, source, ageSeconds: ageMs === null ? null : Math.round(ageMs) / 1000 }
    } catch (error) {
      return { error: codeOf(error) }
    }
  }

  const stored = (): Stored | null => {
    const [text] = Array.from(files).flatMap(([name, text]) => (name.endsWith(".bad") ? [] : [text]))
    const record = text === undefined ? undefined : storedIn(text)
    if (record === undefined) return null
    const name = Object.entries(snapshots).find(([, { token }]) => token === record.token)?.[0] ?? null
    return { snapshot: name, revoked: record.revokedAt !== null, latest: record.state?.latest ?? null }
  }

  const run = async (step: Step) => {
    if (step.do === "start") start()
    else if (step.do === "kill") {
      client = undefined
      time.stop()
      scripted.forget()
    } else if (step.do === "close") await client?.close()
    else if (step.do === "refresh") void client?.refresh()
    else if (step.do === "respond") scripted.respond(step)
    else if (step.do === "text") scripted.text(step.text ?? "")
    else if (step.do === "end") scripted.end()
    else if (step.do === "clock") time.set((step.by ?? 0) * 1000)
    else if (step.do === "damage") {
      for (const [name, text] of files) files.set(name, text.slice(0, text.length / 2))
    }
    await isIdle()
  }

  const seen: Array<Expected> = []
  for (const step of steps) {
    await time.advance(step.at * 1000)
    await run(step)
    const state = client?.view().state ?? "NONE"
    seen.push({ requests: scripted.taken(), state, check: checked(), stored: stored() })
  }
  return { seen, events }
}

/** Plays a case. Returns what was seen after each step, and all events. */
export const play = (vectors: StateVectors, one: StateCase) => whileCounting(() => playSteps(vectors, one))
