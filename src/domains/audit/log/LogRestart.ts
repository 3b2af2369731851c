/**
 * Begins a new log over the events that are stored, when the old one cannot go on: after a restored backup, or after events or hashes
 * were lost. The new log has another origin, so its checkpoints do not pass for those of the old one.
 */
import { Context, Effect, Layer, Option } from "effect"
import { bySystem } from "../../../kernel/contract/Caller.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { EventLog } from "../../events/log/EventLog.ts"
import { EventLeaves } from "../../events/log/Leaves.ts"
import { Events } from "../../events/Service.ts"
import { Checkpoints } from "../Checkpoints.ts"
import type { EventCheckpointInconsistent } from "../Errors.ts"
import { AuditRepo } from "../Repo.ts"

/** The last checkpoint of the old log, if it had one, and the first one of the new log. */
interface Restarted {
  readonly last: string | null
  readonly first: string
}

/** Begins new logs. */
export class LogRestart extends Context.Service<
  LogRestart,
  {
    /**
     * Removes the hashes and checkpoints of the log, begins the next one with an event that carries the last checkpoint, and seals all
     * stored events. Behind a gap, it begins with the first event after it.
     */
    readonly restart: (organizationId: OrganizationId) => Effect.Effect<Restarted, EventCheckpointInconsistent>
  }
>()("keyshelf/audit/LogRestart") {
  static readonly layer = Layer.effect(
    LogRestart,
    Effect.gen(function* () {
      const log = yield* EventLog
      const leaves = yield* EventLeaves
      const repo = yield* AuditRepo
      const events = yield* Events
      const checkpoints = yield* Checkpoints
      const transactions = yield* Transactions

      const begin = Effect.fnUntraced(function* (organizationId: OrganizationId) {
        yield* repo.lock(organizationId)
        const newest = yield* repo.newestCheckpoint(organizationId)
        const last = Option.match(newest, { onNone: () => null, onSome: ({ note }) => note })
        yield* repo.deleteLog(organizationId)
        yield* log.lockPlacing(organizationId)
        yield* leaves.beginNextLog(organizationId)
        yield* leaves.beginBehindGaps(organizationId)
        const stream = yield* log.stream(organizationId)
        const source = { ...bySystem, organizationId }
        yield* events.emit(source, "EVENT_LOG_RESTARTED", { log: stream.log, note: last })
        return last
      })

      return LogRestart.of({
        restart: Effect.fn("LogRestart.restart")(function* (organizationId) {
          yield* log.place(organizationId)
          const last = yield* transactions.run(begin(organizationId))
          const { note } = yield* checkpoints.current(organizationId)
          return { last, first: note }
        }),
      })
    }),
  )
}
