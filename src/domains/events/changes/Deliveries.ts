/**
 * Sends frames, one portion of each organization after the other. Those for a few streams leave at once. A change that concerns all
 * streams of a large organization leaves in portions. So it neither blocks this process nor makes all products fetch at the same time.
 */
import type { ChangeStreamLimits } from "./Limits.ts"
import type { ChangeStream, Organization } from "./Registry.ts"
import type { Target } from "./Model.ts"
import { dataOf, frame, merged } from "./Rules.ts"

/** The streams of an organization that wait for a frame. */
interface Backlog {
  /** Streams that single instances concern. They go first. */
  readonly single: Set<ChangeStream>
  readonly others: Set<ChangeStream>
  /** How many frames may leave now, as of `countedAt`. */
  allowance: number
  countedAt: number
}

const isSingle = (targets: ReadonlyArray<Target>): boolean => targets.every(({ of }) => of === "instance")

const takeFrom = (streams: Set<ChangeStream>): ChangeStream | undefined => {
  for (const stream of streams) {
    streams.delete(stream)
    return stream
  }
  return undefined
}

/** Writes a text to a stream. */
type Write = (stream: ChangeStream, text: string) => void

/** The frames that wait, by organization. Times are in milliseconds. */
export class Deliveries {
  readonly #backlogs = new Map<Organization, Backlog>()
  readonly #framesPerSecond: number
  readonly #write: Write
  readonly #nextId: () => string

  constructor({ framesPerSecond }: ChangeStreamLimits, nextId: () => string, write: Write) {
    this.#framesPerSecond = framesPerSecond
    this.#nextId = nextId
    this.#write = write
  }

  /** The number of streams with a frame that waits. */
  get waiting(): number {
    let waiting = 0
    for (const { others, single } of this.#backlogs.values()) waiting += single.size + others.size
    return waiting
  }

  /** Adds what streams of an organization have to be sent, and sends what may leave now. Returns how many frames left. */
  add(organization: Organization, concerned: ReadonlyMap<ChangeStream, ReadonlyArray<Target>>, at: number): number {
    if (concerned.size === 0) return 0
    const backlog = this.#backlogOf(organization, at)
    for (const [stream, targets] of concerned) {
      // A stream that has not begun fetches after it has.
      if (stream.connection === undefined || stream.hasEnded) continue
      stream.waiting = merged(stream.waiting, targets)
      const isFirst = isSingle(stream.waiting)
      ;(isFirst ? backlog.single : backlog.others).add(stream)
      ;(isFirst ? backlog.others : backlog.single).delete(stream)
    }
    return this.#drain(organization, backlog, at)
  }

  /** Sends what may leave now, one portion of each organization. Returns how many frames left. */
  send(at: number): number {
    let sent = 0
    for (const [organization, backlog] of this.#backlogs) sent += this.#drain(organization, backlog, at)
    return sent
  }

  #backlogOf(organization: Organization, at: number): Backlog {
    const known = this.#backlogs.get(organization)
    if (known !== undefined) return known
    const backlog: Backlog = {
      single: new Set(),
      others: new Set(),
      allowance: this.#framesPerSecond,
      countedAt: at,
    }
    this.#backlogs.set(organization, backlog)
    return backlog
  }

  #drain(organization: Organization, backlog: Backlog, at: number): number {
    const earned = ((at - backlog.countedAt) * this.#framesPerSecond) / 1000
    backlog.allowance = Math.min(this.#framesPerSecond, backlog.allowance + Math.max(0, earned))
    backlog.countedAt = at
    const prepared = this.#preparedFrames()
    let sent = 0
    while (backlog.allowance >= 1) {
      const stream = takeFrom(backlog.single) ?? takeFrom(backlog.others)
      if (stream === undefined) break
      const targets = stream.waiting
      stream.waiting = undefined
      if (targets === undefined) continue
      this.#write(stream, prepared(stream, targets))
      backlog.allowance -= 1
      sent += 1
    }
    // An empty one with its full allowance is the same as a new one.
    if (backlog.single.size + backlog.others.size === 0 && backlog.allowance >= this.#framesPerSecond) {
      this.#backlogs.delete(organization)
    }
    return sent
  }

  /** Each frame of a portion is made once. A license key sees nothing but the slug of its instance. */
  #preparedFrames() {
    const id = this.#nextId()
    const made = new Map<Target, string>()
    const textOf = (target: Target): string => {
      const known = made.get(target)
      if (known !== undefined) return known
      const text = frame(id, dataOf(target))
      made.set(target, text)
      return text
    }
    return ({ request: { confinedTo } }: ChangeStream, targets: ReadonlyArray<Target>): string =>
      confinedTo === undefined ? targets.map(textOf).join("") : frame(id, dataOf({ of: "instance", slug: confinedTo }))
  }
}
