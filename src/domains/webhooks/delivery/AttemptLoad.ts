/**
 * Counts this node's claimed attempts by their phase, and signals the worker when an attempt enters the next one:
 *
 *   sending --(exchange over)--> recording --(outcome stored)--> ended
 *
 * An attempt that ends without an exchange, such as a released claim, passes through `recording` too.
 */
import { Effect, Latch } from "effect"

type AttemptPhase = "sending" | "recording" | "ended"

/** The maximum number of deliveries per claim: bounds the time of its statements. */
const MAX_PER_CLAIM = 128

/**
 * The maximum number of outcomes that wait to be stored. With more, the database cannot keep up, and nothing is
 * claimed.
 */
const MAX_RECORDING = 512

/** The share of the attempts in flight that must be sent before the next claim. */
const SHARE_TO_SEND = 0.25

/**
 * How long a claim waits for that share: about as long as the rest needs to be sent, so that neither waits for the
 * other.
 */
const MAX_BATCHING = "10 millis"

/** Creates the load of a node that sends up to `concurrency` attempts at a time. */
export const makeAttemptLoad = (concurrency: number) => {
  let sending = 0
  let recording = 0
  // The number of attempts being sent at which the next claim is worth its statements.
  let batchedAt = 0
  const isBatched = Latch.makeUnsafe(true)
  /** Open when there may be deliveries to claim, or room for them. */
  const wake = Latch.makeUnsafe(false)

  const enter = (phase: Exclude<AttemptPhase, "sending">): void => {
    if (phase === "recording") {
      sending--
      recording++
      if (sending <= batchedAt) isBatched.openUnsafe()
    } else recording--
    wake.openUnsafe()
  }

  return {
    wake,

    /** How many attempts are being sent. */
    sending: (): number => sending,

    /** The maximum number of deliveries to claim now. */
    room: (): number => (recording < MAX_RECORDING ? Math.min(concurrency - sending, MAX_PER_CLAIM) : 0),

    /**
     * Waits until a quarter of the attempts in flight has been sent, or 10 ms: one claim for many deliveries costs a
     * tenth of many claims. After a claim of the maximum it only waits for room for another one: such endpoints are
     * fast, and their deliveries are sent before the next claim is made.
     */
    batched: Effect.raceFirst(isBatched.await, Effect.sleep(MAX_BATCHING)),

    /** Adds claimed attempts in the phase `sending`. {@link track} each of them. */
    add: (count: number): void => {
      sending += count
      const forNextClaim = count === MAX_PER_CLAIM ? concurrency - MAX_PER_CLAIM : 0
      batchedAt = Math.max(forNextClaim, Math.floor(sending * (1 - SHARE_TO_SEND)))
      if (sending > batchedAt) isBatched.closeUnsafe()
    },

    /** Tracks the phase of one added attempt. `sent` may be called twice, or never; `ended` exactly once. */
    track: () => {
      let phase: AttemptPhase = "sending"
      const sent = (): void => {
        if (phase !== "sending") return
        phase = "recording"
        enter(phase)
      }
      return {
        sent,
        ended: (): void => {
          sent()
          phase = "ended"
          enter(phase)
        },
      }
    },
  }
}

/** The attempts of a node, by phase. */
export type AttemptLoad = ReturnType<typeof makeAttemptLoad>
