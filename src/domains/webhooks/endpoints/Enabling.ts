/** Enables webhook endpoints again. */
import { Effect } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Events } from "../../events/Service.ts"
import type { WebhookEndpoint } from "../Model.ts"
import { BacklogRemover } from "../queue/BacklogRemover.ts"
import { lookup } from "./Lookup.ts"
import { EndpointsRepo } from "./Repo.ts"

export const enabling = Effect.gen(function* () {
  const repo = yield* EndpointsRepo
  const backlogs = yield* BacklogRemover
  const events = yield* Events
  const { withLock } = yield* lookup

  return Effect.fn("Webhooks.enable")(function* (id: string) {
    // The backlog of the time when it was disabled must not be delivered, so all of it is deleted first.
    const { organizationId } = yield* Caller
    const key = { organizationId, endpointId: id }
    const tryEnable = withLock(
      id,
      Effect.fnUntraced(function* (current, caller) {
        if (current.disabledAt === null) return current
        if (yield* backlogs.hasBacklog(key)) return undefined
        const enabled: WebhookEndpoint = {
          ...current,
          disabledAt: null,
          disabledReason: null,
          failingSince: null,
          updatedAt: yield* now,
          updatedBy: caller.actor,
        }
        yield* repo.enable(caller.organizationId, enabled)
        yield* events.emit(caller, "WEBHOOK_ENDPOINT_ENABLED", enabled)
        return enabled
      }),
    )
    for (;;) {
      const enabled = yield* tryEnable
      if (enabled !== undefined) return enabled
      yield* backlogs.deleteAll(key)
    }
  })
})
