/**
 * This node's sending slots, and which endpoints answer fast: those get several deliveries claimed at a time, which costs the
 * database less, and no more of them are in flight than the slots allow.
 */
import { Duration, Effect, Option, Semaphore } from "effect"

/** An endpoint that answers within this time is fast. */
const FAST_MILLIS = 100
/** How long a claimed delivery waits for a slot before it is given back. */
const PATIENCE = Duration.seconds(1)
const MOST_REMEMBERED = 10_000

/** Remembers how endpoints answered. */
export const makeSpeeds = () => {
  const fast = new Set<string>()

  return {
    /** Whether the endpoint's last exchange was a fast one. */
    isFast: (endpointId: string): boolean => fast.has(endpointId),

    /** Notes how an exchange went. */
    note: (endpointId: string, answered: boolean, millis: number): void => {
      fast.delete(endpointId)
      if (!answered || millis > FAST_MILLIS) return
      if (fast.size >= MOST_REMEMBERED) fast.clear()
      fast.add(endpointId)
    },
  }
}

interface Slot {
  readonly permits: Semaphore.Semaphore
  users: number
}

/** Slots of a node: `cap` for each endpoint, or for each organization. */
export const makeSlots = (cap: number) => {
  const slots = new Map<string, Slot>()

  /** Does the work in a slot of this id; nothing if none gets free within a second. */
  return <A, E, R>(id: string, work: Effect.Effect<Option.Option<A>, E, R>): Effect.Effect<Option.Option<A>, E, R> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        const slot = slots.get(id) ?? { permits: Semaphore.makeUnsafe(cap), users: 0 }
        slots.set(id, slot)
        slot.users++
        const taken = restore(slot.permits.take(1))
        // With no more users than permits there is one, and nothing to wait for.
        return (slot.users <= cap ? Effect.asSome(taken) : Effect.timeoutOption(taken, PATIENCE)).pipe(
          Effect.flatMap((permit) =>
            Option.isNone(permit) ? Effect.succeedNone : Effect.ensuring(restore(work), slot.permits.release(1)),
          ),
          Effect.ensuring(
            Effect.sync(() => {
              slot.users--
              if (slot.users === 0) slots.delete(id)
            }),
          ),
        )
      }),
    )
}
