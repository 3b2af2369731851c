/**
 * This node's sending slots, and which endpoints answer fast: those get several deliveries claimed at a time, which costs the
 * database less, and no more of them are in flight than the slots allow.
 */
import { Deferred, Duration, Effect, Exit } from "effect"
import type { Option } from "effect"

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

    /** Of these claims: the endpoints that answer fast, and the organizations that have no other. */
    fastAmong: (claims: ReadonlyArray<{ readonly organizationId: string; readonly endpointId: string }>) => {
      const fastEndpoints = new Set<string>()
      const slow = new Set<string>()
      for (const { endpointId, organizationId } of claims) {
        if (fast.has(endpointId)) fastEndpoints.add(endpointId)
        else slow.add(organizationId)
      }
      const organizations = new Set(claims.map(({ organizationId }) => organizationId))
      return { fastEndpoints: [...fastEndpoints], fastOrganizations: [...organizations].filter((id) => !slow.has(id)) }
    },

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
  taken: number
  /** Who waits for a place, the longest first. */
  readonly waiting: Array<Deferred.Deferred<void>>
}

/** Slots of a node: `cap` for each endpoint, or for each organization. */
export const makeSlots = (cap: number) => {
  const slots = new Map<string, Slot>()

  const slotOf = (id: string): Slot => {
    const slot = slots.get(id) ?? { taken: 0, waiting: [] }
    slots.set(id, slot)
    return slot
  }

  const leave = (id: string, slot: Slot): void => {
    const next = slot.waiting.shift()
    // The place is theirs from now on.
    if (next !== undefined) Deferred.doneUnsafe(next, Exit.void)
    else if (--slot.taken === 0) slots.delete(id)
  }

  /** Does the work in a slot of this id; nothing if none gets free within a second. */
  return <A, E, R>(id: string, work: Effect.Effect<Option.Option<A>, E, R>): Effect.Effect<Option.Option<A>, E, R> =>
    Effect.uninterruptibleMask((restore) => {
      const slot = slotOf(id)
      const inside = Effect.onExit(restore(work), () => Effect.sync(() => leave(id, slot)))
      if (slot.taken < cap) {
        slot.taken++
        return inside
      }
      const place = Deferred.makeUnsafe<void>()
      slot.waiting.push(place)
      const giveUp = () => void slot.waiting.splice(slot.waiting.indexOf(place), 1)
      return restore(Effect.timeoutOption(Deferred.await(place), PATIENCE)).pipe(
        Effect.onInterrupt(() => Effect.sync(() => (Deferred.isDoneUnsafe(place) ? leave(id, slot) : giveUp()))),
        Effect.flatMap(() => {
          // It may have got a place in the moment in which its patience ended.
          if (Deferred.isDoneUnsafe(place)) return inside
          giveUp()
          return Effect.succeedNone
        }),
      )
    })
}
