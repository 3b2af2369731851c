/** Disables endpoints whose deliveries have all failed for too long. */
import { Context, Duration, Effect, Layer, Metric, Option } from "effect"
import { bySystem, platformIdentity } from "../../../kernel/contract/Caller.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { Events } from "../../events/Service.ts"
import { DeliveryLimits } from "../DeliveryLimits.ts"
import { EndpointsRepo } from "../endpoints/Repo.ts"
import * as metrics from "../Metrics.ts"
import { BacklogRemover } from "../queue/BacklogRemover.ts"
import type { EndpointKey } from "../Model.ts"

/** Disables failing endpoints. */
export class EndpointDisabler extends Context.Service<
  EndpointDisabler,
  {
    /**
     * Disables those of these endpoints that have only failed for five days. Each transaction disables one, emits its
     * event and deletes its backlog. After an error, the next failure of the endpoint tries again.
     */
    readonly disableFailing: (endpoints: ReadonlyArray<EndpointKey>, at: Date) => Effect.Effect<void>
  }
>()("keyshelf/webhooks/delivery/EndpointDisabler") {
  static readonly layer = Layer.effect(
    EndpointDisabler,
    Effect.gen(function* () {
      const repo = yield* EndpointsRepo
      const events = yield* Events
      const backlogs = yield* BacklogRemover
      const transactions = yield* Transactions
      const { disableAfter } = yield* DeliveryLimits
      const reason = `Every delivery has failed for ${Duration.toDays(disableAfter)} days`

      const disable = Effect.fnUntraced(function* ({ endpointId, organizationId }: EndpointKey, since: Date, at: Date) {
        const endpoint = yield* repo.disableFailing(organizationId, endpointId, {
          since,
          at,
          by: platformIdentity,
          reason,
        })
        if (Option.isNone(endpoint)) return
        yield* backlogs.deleteBatch({ organizationId, endpointId })
        yield* events.emit({ ...bySystem, organizationId }, "WEBHOOK_ENDPOINT_DISABLED", endpoint.value)
        yield* Metric.update(metrics.disabledEndpoints, 1)
      })

      return EndpointDisabler.of({
        disableFailing: Effect.fnUntraced(
          function* (endpoints, at) {
            if (endpoints.length === 0) return
            const since = new Date(at.getTime() - Duration.toMillis(disableAfter))
            for (const endpoint of yield* repo.findFailingSince(endpoints, since)) {
              yield* transactions.run(disable(endpoint, since, at))
              yield* backlogs.deleteInBackground(endpoint)
            }
          },
          Effect.catchCause((cause) =>
            Effect.logWarning("A failing webhook endpoint was not disabled; its next failure retries", cause),
          ),
        ),
      })
    }),
  )
}
