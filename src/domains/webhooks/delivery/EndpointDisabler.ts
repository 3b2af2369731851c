/** Disables endpoints that have failed every delivery for too long (contract, section 6). */
import { Context, Duration, Effect, Layer, Metric, Option } from "effect"
import { Events } from "../../events/Service.ts"
import { platformIdentity } from "../../../kernel/contract/Caller.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { AttemptsRepo } from "./AttemptsRepo.ts"
import { DeliveryLimits } from "../DeliveryLimits.ts"
import * as metrics from "../Metrics.ts"
import { PendingDeliveries } from "../queue/BacklogRemover.ts"
import type { EndpointKey } from "../queue/BacklogRepo.ts"

/** Disables failing endpoints. */
export class Disabling extends Context.Service<
  Disabling,
  {
    /**
     * Disables those of the endpoints that have only failed for five days, each with its event in one transaction, and drops
     * what they were owed. If that does not work now, the next failure tries again.
     */
    readonly consider: (failing: ReadonlyArray<EndpointKey>, at: Date) => Effect.Effect<void>
  }
>()("keyshelf/webhooks/Disabling") {
  static readonly layer = Layer.effect(
    Disabling,
    Effect.gen(function* () {
      const attempts = yield* AttemptsRepo
      const events = yield* Events
      const pending = yield* PendingDeliveries
      const transactions = yield* Transactions
      const { disableAfter } = yield* DeliveryLimits
      const reason = `Every delivery has failed for ${Duration.toDays(disableAfter)} days`

      const disable = Effect.fnUntraced(function* ({ endpointId, organizationId }: EndpointKey, since: Date, at: Date) {
        const endpoint = yield* attempts.disable(organizationId, endpointId, {
          since,
          at,
          by: platformIdentity,
          reason,
        })
        if (Option.isNone(endpoint)) return
        yield* pending.dropFirst({ organizationId, endpointId })
        yield* events.emit({ organizationId, actor: platformIdentity }, "WEBHOOK_ENDPOINT_DISABLED", endpoint.value)
        yield* Metric.update(metrics.disabled, 1)
      })

      return Disabling.of({
        consider: Effect.fnUntraced(
          function* (failing, at) {
            if (failing.length === 0) return
            const since = new Date(at.getTime() - Duration.toMillis(disableAfter))
            for (const endpoint of yield* attempts.failingSince(failing, since)) {
              yield* transactions.run(disable(endpoint, since, at))
              yield* pending.dropRest(endpoint)
            }
          },
          Effect.catchCause((cause) =>
            Effect.logWarning("A failing webhook endpoint could not be disabled yet", cause),
          ),
        ),
      })
    }),
  )
}
