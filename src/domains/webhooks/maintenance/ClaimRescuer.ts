/**
 * Releases the claims of terminated nodes, long before their leases end. A node's connections are its sign of life: the
 * operating system closes them when a process dies, and keeps them open while it is slow or suspended.
 */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { NodeId } from "../../../kernel/ports/NodeId.ts"
import { Signals } from "../../../kernel/ports/Signals.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { DeliveryLimits } from "../DeliveryLimits.ts"
import { QueueTransactions } from "../queue/QueueTransactions.ts"
import { QueueMaintenanceRepo } from "./Repo.ts"

const INTERVAL = Duration.seconds(2)
// While a node is disconnected: often enough to notice that it is back.
const INTERVAL_WHILE_DISCONNECTED = Duration.seconds(1)

/** The result of one run. */
export interface Rescue {
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
     * The id under which this node claims. `null` where other nodes cannot tell its end from silence: behind a pooler,
     * connections do not belong to one node, and only the lease ends a claim.
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
      const signals = yield* Signals
      const { disconnectedFor, lease } = yield* DeliveryLimits
      const nodeId = yield* NodeId
      const timeout = Duration.toMillis(disconnectedFor)
      // Since when each node was disconnected in every run.
      let disconnectedSince = new Map<string, number>()
      let lastRunAt = -Infinity
      let isOwnConnectionVisible = false

      // The leases of earlier claims have expired, so these are due again anyway.
      const leasesSince = (at: Date) => new Date(at.getTime() - Duration.toMillis(lease))

      const findTerminated = Effect.fnUntraced(function* () {
        // In a transaction, and so on a dedicated connection: behind a lock on the tables it must not block requests.
        const owners = yield* transactions.run(repo.findClaimOwners(nodeId, leasesSince(yield* now)))
        const at = yield* monotonicMillis
        const before = at - lastRunAt < timeout ? disconnectedSince : new Map<string, number>()
        lastRunAt = at
        isOwnConnectionVisible = owners.some(({ id, isConnected }) => id === nodeId && isConnected)
        disconnectedSince = new Map(
          owners.filter(({ isConnected }) => !isConnected).map(({ id }) => [id, before.get(id) ?? at]),
        )
        return [...disconnectedSince].filter(([, since]) => at - since >= timeout).map(([id]) => id)
      })

      const releaseClaimsOf = Effect.fnUntraced(function* (nodes: ReadonlyArray<string>) {
        const at = yield* now
        return yield* transactions.run(repo.releaseClaimsOf(nodes, leasesSince(at), at))
      })

      return ClaimRescuer.of({
        // Where LISTEN works, a session belongs to one node. While it does not work, this is unknown.
        owner: Effect.map(signals.listening, (listening) => (listening && isOwnConnectionVisible ? nodeId : null)),
        rescueClaims: Effect.gen(function* () {
          const terminated = yield* findTerminated()
          const rescued = terminated.length === 0 ? 0 : yield* releaseClaimsOf(terminated)
          if (rescued > 0) {
            yield* Effect.logWarning("Released the webhook deliveries of a terminated node").pipe(
              Effect.annotateLogs({ deliveries: rescued }),
            )
          }
          return { rescued, nextRun: disconnectedSince.size === 0 ? INTERVAL : INTERVAL_WHILE_DISCONNECTED }
        }).pipe(
          Effect.onError(() =>
            Effect.sync(() => {
              disconnectedSince = new Map()
              isOwnConnectionVisible = false
            }),
          ),
        ),
      })
    }),
  )
}
