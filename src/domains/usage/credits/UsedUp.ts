/** Emits that credits are used up, within the transaction of the usage that did it. */
import { Effect, Layer, Option } from "effect"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Events } from "../../events/Service.ts"
import { UsedUpCredits } from "../ledger/burning/UsedUpCredits.ts"
import { CreditsRepo } from "./Repo.ts"
import { eventDataOf } from "./Rules.ts"

/** The events of credits that are used up. */
export const usedUpEvents = Layer.effect(
  UsedUpCredits,
  Effect.gen(function* () {
    const repo = yield* CreditsRepo
    const events = yield* Events

    return UsedUpCredits.of({
      emit: Effect.fnUntraced(function* (source, ids) {
        const at = yield* now
        for (const id of ids) {
          const credit = Option.getOrThrow(yield* repo.find(source.organizationId, id, at))
          yield* events.emit(source, "CREDIT_USED_UP", eventDataOf(credit, at))
        }
      }),
    })
  }),
)
