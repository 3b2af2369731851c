/**
 * Seals events: places them, and stores their hashes as leaves of their log's tree (docs/adr/0012-event-log-tree.md). Writers do not
 * wait for it. A batch is one transaction under the log's own lock. So a killed process leaves whole batches, and of two nodes one
 * continues where the other stopped.
 */
import { Context, Effect, Layer, Option } from "effect"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { EventLog } from "../events/log/EventLog.ts"
import { inconsistent } from "./Inconsistency.ts"
import type { EventCheckpointInconsistent } from "./Errors.ts"
import { AuditRepo } from "./Repo.ts"
import { completedRanges, nodeAbove, openNodes } from "./rules/Tree.ts"
import type { NodeRange, TreeNode } from "./rules/Tree.ts"

/** The most events per transaction. */
const SEAL_BATCH = 1_000

const MISSING_HASHES = "Hashes of events are missing."

/** How far a log is sealed. */
interface SealedLog {
  /** The position of its last event that has a hash. */
  readonly head: number
  /** Whether there may be more to seal. */
  readonly hasMore: boolean
}

/** Seals the events of a log. */
export class Sealing extends Context.Service<
  Sealing,
  {
    /** Places new events and seals all that have a position. Fails if an event or a hash is missing: nothing after it can be sealed. */
    readonly seal: (organizationId: string) => Effect.Effect<void, EventCheckpointInconsistent>
    /** Places new events and seals up to {@link SEAL_BATCH}. */
    readonly sealSome: (organizationId: string) => Effect.Effect<SealedLog, EventCheckpointInconsistent>
  }
>()("keyshelf/audit/Sealing") {
  static readonly layer = Layer.effect(
    Sealing,
    Effect.gen(function* () {
      const log = yield* EventLog
      const repo = yield* AuditRepo
      const transactions = yield* Transactions

      const addNodes = Effect.fnUntraced(function* (organizationId: string, range: NodeRange) {
        const nodes: Array<TreeNode> = []
        for (const { below, index } of yield* repo.hashesBelow(organizationId, range)) {
          const hash = nodeAbove(below)
          if (hash === undefined) return yield* inconsistent(organizationId, MISSING_HASHES)
          nodes.push({ level: range.level, index, hash })
        }
        yield* repo.insertNodes(organizationId, nodes)
      })

      const sealNext = Effect.fnUntraced(function* (organizationId: string) {
        const next = yield* repo.sealNext(organizationId, SEAL_BATCH, true)
        const isRefused = next.size === 0 && next.added === 0 && next.found > 0
        if (!isRefused) return next
        const isNew = Option.isNone(yield* repo.newestCheckpoint(organizationId))
        if (isNew) yield* log.beginBehindGaps(organizationId)
        return yield* repo.sealNext(organizationId, SEAL_BATCH, false)
      })

      const sealBatch = Effect.fnUntraced(function* (organizationId: string) {
        yield* repo.lock(organizationId)
        yield* log.lockPlacing(organizationId)
        const { added, base, found, open, size } = yield* sealNext(organizationId)
        if (open !== openNodes(size)) return yield* inconsistent(organizationId, MISSING_HASHES)
        const head = base + size + added
        if (added === 0 && found > 0) {
          const reason = `The event at position ${head + 1} is missing, and nothing after it can be sealed.`
          return yield* inconsistent(organizationId, reason)
        }
        for (const range of completedRanges(size, size + added)) yield* addNodes(organizationId, range)
        const sealed: SealedLog = { head, hasMore: found >= SEAL_BATCH || added < found }
        return sealed
      })

      const sealSome = Effect.fn("Sealing.sealSome")(function* (organizationId: string) {
        return yield* transactions.run(sealBatch(organizationId))
      })

      return Sealing.of({
        sealSome,
        seal: (organizationId) =>
          Effect.asVoid(Effect.repeat(sealSome(organizationId), { while: ({ hasMore }) => hasMore })).pipe(
            Effect.withSpan("Sealing.seal"),
          ),
      })
    }),
  )
}
