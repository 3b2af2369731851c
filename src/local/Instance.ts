/** A local client of one instance: it decides by its snapshot, and follows the service. */
import { makeFollower } from "./Follower.ts"
import { makeHolder } from "./Holder.ts"
import type { Outcome } from "./Holder.ts"
import type { Check } from "../offline/Terms.ts"
import { answersOf, flagsOf } from "./Answers.ts"
import type { LocalAnswers, LocalFlags, Policy } from "./Answers.ts"
import { makeLazyLedger } from "./ledger/Lazy.ts"
import type { LoadLedger } from "./ledger/Lazy.ts"
import type { Ledger } from "./ledger/Ledger.ts"
import type { Failure, LocalOptions } from "./Ports.ts"
import { ageAt, stateAt } from "./States.ts"
import type { View } from "./View.ts"

/** A local client. It keeps no process alive. */
export interface LocalInstance {
  /** Begins at the first call. Resolves when a check can be answered: at once if a snapshot was stored, else after the first fetch, but at most after the timeout of the start. */
  readonly ready: () => Promise<void>
  /** After `ready`: resolves when the service has answered the first fetch, or after the timeout of the start. */
  readonly heard: () => Promise<void>
  readonly view: () => View
  /** Answers checks without a request. Throws what fails a call. */
  readonly answers: (checks: ReadonlyArray<Check>, policy: Policy) => LocalAnswers
  /** The feature flags for a context, without a request. `undefined` if the snapshot has none. Throws what fails a call. */
  readonly flags: (context: Readonly<Record<string, unknown>>, policy: Policy) => LocalFlags | undefined
  /** Consumes from tranches, and waits for a refill only if they do not pay. Reserves likewise. */
  readonly ledger: Pick<Ledger, "consume" | "reserve" | "status">
  /** Fetches the snapshot now. Resolves with what came of it. */
  readonly refresh: () => Promise<Outcome>
  /** Ends the stream and the timers, and stores what was seen. */
  readonly close: () => Promise<void>
}

const FAILURES: ReadonlyArray<string> = ["away", "problem"]

/** An error of the caller's function must not stop the client. */
const quietly =
  (options: Pick<LocalOptions, "onEvent">): LocalOptions["onEvent"] =>
  (event) => {
    try {
      options.onEvent?.(event)
    } catch {
      // It is for metrics only.
    }
  }

/** Makes the local client of an instance. It does nothing before `ready`. Without `loadLedger` it cannot consume. */
export const makeLocalInstance = (instance: string, options: LocalOptions, loadLedger?: LoadLedger): LocalInstance => {
  const { clock, startTimeoutMs } = options
  const quiet = { ...options, onEvent: quietly(options) }
  const holder = makeHolder(instance, quiet)
  const follower = makeFollower(instance, quiet, holder, () => ledger.refilling())
  const { facts } = holder
  let started: Promise<void> | undefined
  let heard: Promise<void> = Promise.resolve()
  let failure: Failure | undefined

  const listen = async (): Promise<void> => {
    while (!facts.isClosed) {
      const outcome = await follower.nextOutcome()
      failure = FAILURES.includes(outcome.type) ? (outcome as Failure) : undefined
      if (outcome.type === "confirmed") ledger.contact()
    }
  }

  const start = async (): Promise<void> => {
    await holder.restore()
    if (facts.isClosed) return
    if (facts.exp !== undefined) ledger.contact()
    void listen()
    heard = new Promise<void>((resolve) => {
      const cancel = clock.after(startTimeoutMs, () => {
        facts.isStarting = false
        resolve()
      })
      void follower.nextOutcome().then(() => {
        cancel()
        resolve()
      })
    })
    follower.begin()
    if (facts.exp === undefined && !facts.isRevoked) await heard
  }

  const view = (): View => {
    const [monotonic, time] = [clock.monotonic(), holder.time()]
    const state = stateAt(facts, monotonic, time)
    return { state, ageMs: ageAt(facts, monotonic), time, snapshot: holder.snapshot(), failure }
  }

  const ledger = makeLazyLedger(options.ledger, loadLedger, {
    instance,
    options: quiet,
    view,
    receive: holder.receiveRefill,
    confirmedAt: () => facts.confirmedAt,
    maxAgeMs: () => facts.maxAgeMs,
    instanceId: holder.id,
    verify: holder.verify,
    refetch: follower.fetchNow,
  })

  return {
    ready: () => (started ??= start()),
    heard: () => heard,
    view,
    answers: (checks, policy) => answersOf(view(), checks, policy, ledger.claims(), ledger.local()),
    ledger,
    flags: (context, policy) => flagsOf(view(), context, policy),
    refresh: async () => {
      await (started ??= start())
      return follower.fetchNow()
    },
    close: async () => {
      await ledger.close()
      facts.isClosed = true
      follower.stop()
      if (started !== undefined) await holder.store()
    },
  }
}
