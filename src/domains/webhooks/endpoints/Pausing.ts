/** Pauses webhook endpoints, and resumes them. */
import { Effect } from "effect"
import { Signals } from "../../../kernel/ports/Signals.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Events } from "../../events/Service.ts"
import { PauseWebhookEndpointDisabled } from "../Errors.ts"
import type { WebhookEndpoint } from "../Model.ts"
import { QueueRepo } from "../queue/QueueRepo.ts"
import { lookup } from "./Lookup.ts"
import { EndpointsRepo } from "./Repo.ts"

export const pausing = Effect.gen(function* () {
  const repo = yield* EndpointsRepo
  const queue = yield* QueueRepo
  const events = yield* Events
  const signals = yield* Signals
  const { withLock } = yield* lookup

  const pause = Effect.fn("Webhooks.pause")(function* (id: string) {
    return yield* withLock(
      id,
      Effect.fnUntraced(function* (current, caller) {
        if (current.pausedAt !== null) return current
        if (current.disabledAt !== null) {
          return yield* new PauseWebhookEndpointDisabled({
            detail: "The endpoint is disabled, so nothing waits for it. Enable it first.",
          })
        }
        const at = yield* now
        const paused: WebhookEndpoint = { ...current, pausedAt: at, updatedAt: at, updatedBy: caller.actor }
        yield* repo.setPaused(caller.organizationId, paused)
        yield* queue.pauseLane({ organizationId: caller.organizationId, endpointId: id }, true)
        yield* events.emit(caller, "WEBHOOK_ENDPOINT_PAUSED", paused)
        return paused
      }),
    )
  })

  const resume = Effect.fn("Webhooks.resume")(function* (id: string) {
    return yield* withLock(
      id,
      Effect.fnUntraced(function* (current, caller) {
        if (current.pausedAt === null) return current
        const resumed: WebhookEndpoint = {
          ...current,
          pausedAt: null,
          // The time of the pause does not count: with its first failure the endpoint would otherwise have failed for days, and be disabled.
          failingSince: null,
          updatedAt: yield* now,
          updatedBy: caller.actor,
        }
        yield* repo.setPaused(caller.organizationId, resumed)
        yield* queue.pauseLane({ organizationId: caller.organizationId, endpointId: id }, false)
        yield* signals.notify("webhooks")
        yield* events.emit(caller, "WEBHOOK_ENDPOINT_RESUMED", resumed)
        return resumed
      }),
    )
  })

  return { pause, resume }
})
