/** Proofs of an organization's event log: that an event is in it, and that it only grew. */
import { Context, Effect, Layer, Option } from "effect"
import { invalid, noSuch } from "../../kernel/contract/Problem.ts"
import type { ValidationFailed } from "../../kernel/contract/Problem.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { EventLog, sizeOf } from "../events/log/EventLog.ts"
import { Checkpoints } from "./Checkpoints.ts"
import { EventNotFound } from "./Errors.ts"
import { inconsistent } from "./Inconsistency.ts"
import type { EventCheckpointInconsistent } from "./Errors.ts"
import type { EventConsistency } from "./Model.ts"
import { AuditRepo } from "./Repo.ts"
import { proofText } from "./rules/Proofs.ts"
import { consistencyRanges, inclusionRanges, neededFor, rootOf } from "./rules/Tree.ts"
import type { LeafRange } from "./rules/Tree.ts"
import { Sealing } from "./Sealing.ts"

/** Proves what a log contains. */
export class EventProofs extends Context.Service<
  EventProofs,
  {
    /** The proof that an event is in the log, as a C2SP `tlog-proof` with the newest checkpoint. */
    readonly inclusion: (
      organizationId: OrganizationId,
      eventId: string,
    ) => Effect.Effect<string, EventNotFound | EventCheckpointInconsistent>
    /** The proof that the log of `from` events is the beginning of the log of `to` events. */
    readonly consistency: (
      organizationId: OrganizationId,
      range: { readonly from: number; readonly to: number },
    ) => Effect.Effect<EventConsistency, ValidationFailed | EventCheckpointInconsistent>
  }
>()("keyshelf/audit/EventProofs") {
  static readonly layer = Layer.effect(
    EventProofs,
    Effect.gen(function* () {
      const log = yield* EventLog
      const repo = yield* AuditRepo
      const checkpoints = yield* Checkpoints
      const transactions = yield* Transactions
      const sealing = yield* Sealing

      const rootsOf = Effect.fnUntraced(function* (organizationId: OrganizationId, ranges: ReadonlyArray<LeafRange>) {
        const lookup = yield* transactions.run(
          Effect.andThen(repo.planByIndex, repo.nodes(organizationId, neededFor(ranges))),
        )
        const roots = ranges.flatMap((range) => rootOf(range, lookup) ?? [])
        return roots.length === ranges.length
          ? roots
          : yield* inconsistent(organizationId, "Hashes of events are missing.")
      })

      return EventProofs.of({
        inclusion: Effect.fn("EventProofs.inclusion")(function* (organizationId, eventId) {
          const { note, size } = yield* checkpoints.current(organizationId)
          const position = Option.getOrUndefined(yield* log.positionOf(organizationId, eventId))
          const { base } = yield* log.stream(organizationId)
          const index = position === undefined ? -1 : position - 1 - base
          if (index < 0 || index >= size) {
            return yield* new EventNotFound({
              detail:
                position !== undefined && index < 0
                  ? `The event "${eventId}" is older than the event log: it occurred before the upgrade that introduced it.`
                  : noSuch("event", eventId),
            })
          }
          const hashes = yield* rootsOf(organizationId, inclusionRanges(index, size))
          return proofText({ index, hashes, checkpoint: note })
        }),

        consistency: Effect.fn("EventProofs.consistency")(function* (organizationId, { from, to }) {
          if (to < from) return yield* invalid("query.to", "must not be less than from", to)
          yield* sealing.seal(organizationId)
          const size = sizeOf(yield* log.stream(organizationId))
          if (to > size) return yield* invalid("query.to", `must not be more than the ${size} events of the log`, to)
          const hashes = yield* rootsOf(organizationId, consistencyRanges(from, to))
          return { from, to, hashes: hashes.map((hash) => Buffer.from(hash).toString("base64")) }
        }),
      })
    }),
  )
}
