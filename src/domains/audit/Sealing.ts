/**
 * Seals events: stores the hashes of placed events as leaves of their log's tree (docs/adr/0012-event-log-tree.md). Writers do not
 * wait for it. A batch is one transaction under the log's own lock. So a killed process leaves whole batches, and of two nodes one
 * continues where the other stopped.
 */
import { Context, Effect, Layer, Option } from "effect"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { EventLog } from "../events/log/EventLog.ts"
import type { LogEvent } from "../events/log/EventLog.ts"
import { eventText } from "../events/log/EventText.ts"
import { inconsistent } from "./Inconsistency.ts"
import type { EventCheckpointInconsistent } from "./Errors.ts"
import { AuditRepo } from "./Repo.ts"
import { grown, leafHash, openRanges } from "./rules/Tree.ts"

/** The most events per transaction. */
export const SEAL_BATCH = 1_000

/** The events that follow a position without a gap. */
const contiguous = (events: ReadonlyArray<LogEvent>, after: number): ReadonlyArray<LogEvent> => {
  const gap = events.findIndex(({ position }, at) => position !== after + 1 + at)
  return gap < 0 ? events : events.slice(0, gap)
}

/** Seals the events of a log. */
export class Sealing extends Context.Service<
  Sealing,
  {
    /** Places new events and seals all that have a position. Fails if an event or a hash is missing: nothing after it can be sealed. */
    readonly seal: (organizationId: string) => Effect.Effect<void, EventCheckpointInconsistent>
    /** Seals up to {@link SEAL_BATCH} placed events. Returns whether there may be more. */
    readonly sealSome: (organizationId: string) => Effect.Effect<boolean, EventCheckpointInconsistent>
  }
>()("keyshelf/audit/Sealing") {
  static readonly layer = Layer.effect(
    Sealing,
    Effect.gen(function* () {
      const log = yield* EventLog
      const repo = yield* AuditRepo
      const transactions = yield* Transactions

      const insert = Effect.fnUntraced(function* (
        organizationId: string,
        size: number,
        events: ReadonlyArray<LogEvent>,
      ) {
        const open = yield* repo.nodes(organizationId, openRanges(size))
        const leaves = events.map((event) => leafHash(eventText(event)))
        const nodes = grown(size, leaves, open)
        if (nodes === undefined) return yield* inconsistent(organizationId, "Hashes of events are missing.")
        yield* repo.insertNodes(organizationId, nodes)
      })

      const sealBatch = Effect.fnUntraced(function* (organizationId: string) {
        yield* repo.lock(organizationId)
        const size = yield* repo.size(organizationId)
        const read = Effect.gen(function* () {
          const { base } = yield* log.stream(organizationId)
          const after = base + size
          const found = yield* log.readAfter(organizationId, after, SEAL_BATCH)
          return { after, found, next: contiguous(found, after) }
        })
        let batch = yield* read
        const isNew = size === 0 && Option.isNone(yield* repo.newestCheckpoint(organizationId))
        if (isNew && batch.next.length < batch.found.length) {
          yield* log.beginBehindGaps(organizationId)
          batch = yield* read
        }
        const { after, found, next } = batch
        if (next.length > 0) yield* insert(organizationId, size, next)
        else if (found.length > 0) {
          return yield* inconsistent(
            organizationId,
            `The event at position ${after + 1} is missing, and nothing after it can be sealed.`,
          )
        }
        return found.length === SEAL_BATCH || next.length < found.length
      })

      const sealSome = Effect.fn("Sealing.sealSome")(function* (organizationId: string) {
        return yield* transactions.run(sealBatch(organizationId))
      })

      return Sealing.of({
        sealSome,
        seal: Effect.fn("Sealing.seal")(function* (organizationId) {
          yield* log.place(organizationId)
          yield* Effect.repeat(sealSome(organizationId), { while: (more) => more })
        }),
      })
    }),
  )
}
