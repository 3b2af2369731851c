/**
 * Releases the claims of terminated nodes, long before their leases end. A node's connections are its sign of life: the
 * operating system closes them when a process dies, and keeps them open while it is slow or suspended.
 *
 * A claim's owner is the id of that sign (`Liveness`). If a living node loses the sign, it disowns the claims under it:
 * otherwise another node would release them, and their deliveries would be sent twice.
 */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { Liveness } from "../../../kernel/ports/Liveness.ts"
import { NodeId } from "../../../kernel/ports/NodeId.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { DeliveryLimits } from "../DeliveryLimits.ts"
import { QueueTransactions } from "../queue/QueueTransactions.ts"
import { QueueMaintenanceRepo } from "./Repo.ts"

const INTERVAL = Duration.seconds(2)
// While a node is disconnected: often enough to notice that it is back.
const INTERVAL_WHILE_DISCONNECTED = Duration.seconds(1)
// Until this node's own sign of life is seen, its claims have no owner. So after a start the time is short.
const INTERVAL_WHILE_UNSEEN = Duration.millis(250)

/** The result of one run. */
interface Rescue {
  /** How many claims were released. */
  readonly rescued: number
  /** When to run again. */
  readonly nextRun: Duration.Duration
}

const monotonicMillis = Effect.map(Clock.currentTimeNanos, (nanos) => Number(nanos / 1_000_000n))

/** Rescues the claims of terminated nodes. */
export class ClaimRescuer extends Context.Service<
  ClaimRescuer,
  {
    /**
     * The id under which this node claims. `null` while the database does not show its sign of life: then only the
     * lease ends a claim.
     */
    readonly owner: Effect.Effect<string | null>
    /**
     * Releases the claims of nodes that were disconnected in every run for the time `disconnectedFor` of
     * `DeliveryLimits`. A run that fails or comes late starts over, because after a restart of the database all nodes
     * are disconnected at first.
     */
    readonly rescueClaims: Effect.Effect<Rescue>
  }
>()("keyshelf/webhooks/maintenance/ClaimRescuer") {
  static readonly layer = Layer.effect(
    ClaimRescuer,
    Effect.gen(function* () {
      const repo = yield* QueueMaintenanceRepo
      const transactions = yield* QueueTransactions
      const liveness = yield* Liveness
      const { disconnectedFor, lease } = yield* DeliveryLimits
      const nodeId = yield* NodeId
      const timeout = Duration.toMillis(disconnectedFor)
      // Since when each owner was disconnected in every run.
      let disconnectedSince = new Map<string, number>()
      let lastRunAt = -Infinity
      /** The own id that the last run saw connected. */
      let visibleId: string | null = null
      let lastId: string | null = null
      // Own sessions that ended, and when. A claim in flight at that time may still commit under an ended id.
      const endedSessions = new Map<string, number>()

      // The leases of earlier claims have expired, so these are due again anyway.
      const leasesSince = (at: Date) => new Date(at.getTime() - Duration.toMillis(lease))

      // All connections of the node carry its own id, so that one does not end while the node lives.
      const disownEndedSessions = Effect.fnUntraced(function* (id: string | null) {
        const at = yield* monotonicMillis
        if (lastId !== null && lastId !== id && lastId !== nodeId) endedSessions.set(lastId, at)
        lastId = id
        for (const [session, endedAt] of endedSessions) {
          if (at - endedAt > Duration.toMillis(lease)) endedSessions.delete(session)
        }
        if (endedSessions.size === 0) return
        yield* transactions.run(repo.disownClaimsOf([...endedSessions.keys()], leasesSince(yield* now)))
      })

      const findTerminated = Effect.fnUntraced(function* (ownId: string | null) {
        // In a transaction, and so on a dedicated connection: behind a lock on the tables it must not block requests.
        const owners = yield* transactions.run(repo.findClaimOwners(ownId, leasesSince(yield* now)))
        const at = yield* monotonicMillis
        const before = at - lastRunAt < timeout ? disconnectedSince : new Map<string, number>()
        lastRunAt = at
        visibleId = owners.some(({ id, isConnected }) => id === ownId && isConnected) ? ownId : null
        disconnectedSince = new Map(
          owners.filter(({ isConnected }) => !isConnected).map(({ id }) => [id, before.get(id) ?? at]),
        )
        return [...disconnectedSince].filter(([, since]) => at - since >= timeout).map(([id]) => id)
      })

      const releaseClaimsOf = Effect.fnUntraced(function* (nodes: ReadonlyArray<string>) {
        const at = yield* now
        return yield* transactions.run(repo.releaseClaimsOf(nodes, leasesSince(at), at))
      })

      const nextRun = () => {
        if (visibleId === null) return INTERVAL_WHILE_UNSEEN
        return disconnectedSince.size === 0 ? INTERVAL : INTERVAL_WHILE_DISCONNECTED
      }

      return ClaimRescuer.of({
        owner: Effect.map(liveness.id, (id) => (id === visibleId ? id : null)),
        rescueClaims: Effect.gen(function* () {
          const id = yield* liveness.id
          yield* disownEndedSessions(id)
          const terminated = yield* findTerminated(id)
          const rescued = terminated.length === 0 ? 0 : yield* releaseClaimsOf(terminated)
          if (rescued > 0) {
            yield* Effect.logWarning("Released the webhook deliveries of a terminated node").pipe(
              Effect.annotateLogs({ deliveries: rescued }),
            )
          }
          return { rescued, nextRun: nextRun() }
        }).pipe(
          Effect.onError(() =>
            Effect.sync(() => {
              disconnectedSince = new Map()
              visibleId = null
            }),
          ),
        ),
      })
    }),
  )
}
