/**
 * Limits how many deliveries this node has in flight per endpoint or organization, and tracks which endpoints respond
 * fast. A fast endpoint gets more deliveries per claim, which saves statements; the limiter still bounds how many are
 * in flight.
 */
import { Deferred, Duration, Effect, Exit } from "effect"
import type { Option } from "effect"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"

/** An endpoint that responds within this time is fast. */
const MAX_FAST_MS = 100
/** How long a claimed delivery waits for the limiter before it is released. */
const MAX_WAIT = Duration.seconds(1)
/** Bounds the memory of the tracker, which starts over when it is full. */
const MAX_FAST_ENDPOINTS = 10_000

/** Tracks how fast endpoints respond. */
export const makeSpeedTracker = () => {
  const fast = new Set<string>()

  return {
    /** Whether the endpoint's last exchange was fast. */
    isFast: (endpointId: string): boolean => fast.has(endpointId),

    /** Selects the fast endpoints of these claims, and the organizations that have no slow endpoint among them. */
    selectFast: (claims: ReadonlyArray<{ readonly organizationId: OrganizationId; readonly endpointId: string }>) => {
      const fastEndpoints = new Set<string>()
      const slowOrganizations = new Set<string>()
      for (const { endpointId, organizationId } of claims) {
        if (fast.has(endpointId)) fastEndpoints.add(endpointId)
        else slowOrganizations.add(organizationId)
      }
      const organizations = new Set(claims.map(({ organizationId }) => organizationId))
      return {
        fastEndpoints: [...fastEndpoints],
        fastOrganizations: [...organizations].filter((id) => !slowOrganizations.has(id)),
      }
    },

    /** Records the duration of an exchange, and whether the endpoint responded. */
    record: (endpointId: string, hasResponded: boolean, durationMs: number): void => {
      fast.delete(endpointId)
      if (!hasResponded || durationMs > MAX_FAST_MS) return
      if (fast.size >= MAX_FAST_ENDPOINTS) fast.clear()
      fast.add(endpointId)
    },
  }
}

/** Tracks how fast endpoints respond. */
export type SpeedTracker = ReturnType<typeof makeSpeedTracker>

interface Usage {
  inFlight: number
  /** The work that waits, the longest first. */
  readonly waiting: Array<Deferred.Deferred<void>>
}

/** Creates a function that runs work with at most `limit` in flight per id, of an endpoint or an organization. */
export const makeConcurrencyLimiter = (limit: number) => {
  const usages = new Map<string, Usage>()

  const usageOf = (id: string): Usage => {
    const usage = usages.get(id) ?? { inFlight: 0, waiting: [] }
    usages.set(id, usage)
    return usage
  }

  const release = (id: string, usage: Usage): void => {
    const next = usage.waiting.shift()
    // The permit passes to the next in line, so `inFlight` does not change.
    if (next !== undefined) Deferred.doneUnsafe(next, Exit.void)
    else if (--usage.inFlight === 0) usages.delete(id)
  }

  /** Runs the work when the id is below the limit. Returns nothing if that takes longer than a second. */
  return <A, E, R>(id: string, work: Effect.Effect<Option.Option<A>, E, R>): Effect.Effect<Option.Option<A>, E, R> =>
    Effect.uninterruptibleMask((restore) => {
      const usage = usageOf(id)
      const runWithPermit = Effect.onExit(restore(work), () => Effect.sync(() => release(id, usage)))
      if (usage.inFlight < limit) {
        usage.inFlight++
        return runWithPermit
      }
      const permit = Deferred.makeUnsafe<void>()
      usage.waiting.push(permit)
      const leaveQueue = () => void usage.waiting.splice(usage.waiting.indexOf(permit), 1)
      return restore(Effect.timeoutOption(Deferred.await(permit), MAX_WAIT)).pipe(
        Effect.onInterrupt(() =>
          Effect.sync(() => (Deferred.isDoneUnsafe(permit) ? release(id, usage) : leaveQueue())),
        ),
        Effect.flatMap(() => {
          // The permit may arrive in the same tick as the timeout.
          if (Deferred.isDoneUnsafe(permit)) return runWithPermit
          leaveQueue()
          return Effect.succeedNone
        }),
      )
    })
}
