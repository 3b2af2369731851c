/**
 * Gives back the claims of nodes that are gone, long before their leases end. A node's connections are its sign of life:
 * the system closes them when a process dies, and keeps them while it is slow or stands still.
 */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { NodeId } from "../../../kernel/ports/NodeId.ts"
import { Signals } from "../../../kernel/ports/Signals.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { DeliveryLimits } from "../DeliveryLimits.ts"
import { NodesRepo } from "./Repo.ts"
import { QueueRepo } from "../queue/QueueRepo.ts"

const BETWEEN_LOOKS = Duration.seconds(2)
const BETWEEN_LOOKS_AT_MISSING = Duration.seconds(1)

/** What a look found. */
export interface Look {
  readonly givenBack: number
  /** When to look again. */
  readonly next: Duration.Duration
}

/** The nodes that hold claims. */
export class Nodes extends Context.Service<
  Nodes,
  {
    /**
     * Under which id this node claims now. `null` where others could not tell its end from a silence: behind a pooler
     * connections are not a node's own, and then the lease alone decides.
     */
    readonly owner: Effect.Effect<string | null>
    /**
     * Looks who is there, and gives back the claims of nodes that had no connection in any look for as long as
     * `DeliveryLimits` say. A look that fails, or comes late, begins anew: after a restart of the database all nodes are
     * missing at first.
     */
    readonly look: Effect.Effect<Look>
  }
>()("keyshelf/webhooks/Nodes") {
  static readonly layer = Layer.effect(
    Nodes,
    Effect.gen(function* () {
      const repo = yield* NodesRepo
      const queue = yield* QueueRepo
      const transactions = yield* Transactions
      const signals = yield* Signals
      const { goneAfter, lease } = yield* DeliveryLimits
      const nodeId = yield* NodeId
      const patience = Duration.toMillis(goneAfter)
      // Since when a node was missing in every look.
      let missingSince = new Map<string, number>()
      let lastLook = -Infinity
      let seesItself = false

      // What was claimed before then is due again by itself.
      const leasesSince = (at: Date) => new Date(at.getTime() - Duration.toMillis(lease))

      const millis = Effect.map(Clock.currentTimeNanos, (nanos) => Number(nanos / 1_000_000n))

      const find = Effect.fnUntraced(function* () {
        // On a connection of its own: while somebody changes the tables it waits, and no request may wait behind it.
        const seen = yield* transactions.run(
          Effect.andThen(queue.planByIndex, repo.owners(nodeId, leasesSince(yield* now))),
        )
        const at = yield* millis
        const before = at - lastLook < patience ? missingSince : new Map<string, number>()
        lastLook = at
        seesItself = seen.some(({ id, isConnected }) => id === nodeId && isConnected)
        missingSince = new Map(
          seen.filter(({ isConnected }) => !isConnected).map(({ id }) => [id, before.get(id) ?? at]),
        )
        return [...missingSince].filter(([, since]) => at - since >= patience).map(([id]) => id)
      })

      const giveBack = Effect.fnUntraced(function* (gone: ReadonlyArray<string>) {
        const at = yield* now
        return yield* transactions.run(
          Effect.gen(function* () {
            yield* queue.planByIndex
            const heads = yield* repo.giveBack(gone, leasesSince(at), at)
            if (heads.length > 0) yield* queue.lowerHeads(heads)
            return heads.length
          }),
        )
      })

      return Nodes.of({
        // Where LISTEN works, a session is a node's own. While it does not, nobody knows.
        owner: Effect.map(signals.listening, (listening) => (listening && seesItself ? nodeId : null)),
        look: Effect.gen(function* () {
          const gone = yield* find()
          const givenBack = gone.length === 0 ? 0 : yield* giveBack(gone)
          if (givenBack > 0)
            yield* Effect.logWarning(`A node is gone; deliveries that it had claimed are made again: ${givenBack}`)
          return { givenBack, next: missingSince.size === 0 ? BETWEEN_LOOKS : BETWEEN_LOOKS_AT_MISSING }
        }).pipe(
          Effect.onError(() =>
            Effect.sync(() => {
              missingSince = new Map()
              seesItself = false
            }),
          ),
        ),
      })
    }),
  )
}
