/** Handlers of the event log. */
import { Effect } from "effect"
import * as Apis from "../../kernel/contract/Apis.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { EventLogApi } from "./Api.ts"
import { Checkpoints } from "./Checkpoints.ts"
import { EventProofs } from "./Proofs.ts"

export const eventLog = handlersOf(
  Apis.core(EventLogApi),
  "eventLog",
  Effect.fn(function* (handlers) {
    const checkpoints = yield* Checkpoints
    const proofs = yield* EventProofs
    return handlers.handleAll({
      checkpoint: Effect.fnUntraced(function* () {
        const { organizationId } = yield* Caller
        return (yield* checkpoints.current(organizationId)).note
      }),
      proof: Effect.fnUntraced(function* ({ params }) {
        const { organizationId } = yield* Caller
        return yield* proofs.inclusion(organizationId, params.eventId)
      }),
      consistency: Effect.fnUntraced(function* ({ query }) {
        const { organizationId } = yield* Caller
        return yield* proofs.consistency(organizationId, query)
      }),
    })
  }),
)
