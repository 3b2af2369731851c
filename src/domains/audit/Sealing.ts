/**
 * Seals events: places them with their hashes, and adds these to their log's tree (docs/adr/0012-event-log-tree.md). Writers do not
 * wait for it. A batch is one transaction under the log's own lock. So a killed process leaves whole batches, and of two nodes one
 * continues where the other stopped.
 */
import { Context, Effect, Layer, Option } from "effect"
import { Transactions } from "../../kernel/database/Transactions.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { EventLog } from "../events/log/EventLog.ts"
import { EventLeaves } from "../events/log/Leaves.ts"
import type { Sealed } from "../events/log/Leaves.ts"
import type { PlacedStream } from "../events/log/EventLog.ts"
import { inconsistent } from "./Inconsistency.ts"
import type { EventCheckpointInconsistent } from "./Errors.ts"
import { AuditRepo } from "./Repo.ts"
import { completedRanges, nodeAbove } from "./rules/Tree.ts"
import type { NodeRange, TreeNode } from "./rules/Tree.ts"

/** The most events per transaction. */
const SEAL_BATCH = 1_000

const MISSING_HASHES = "Hashes of events are missing."

/** The most events per transaction of several logs. Readers of these streams wait for it. */
const TOGETHER_BATCH = 10_000

const isWhole = ({ head, sealedTo }: PlacedStream): boolean => sealedTo === head

/** How far a log is sealed. */
export interface SealedLog {
  /** The position of its last event that has a hash. */
  readonly head: number
  /** Whether there may be more to seal. */
  readonly hasMore: boolean
}

/** Seals the events of a log. */
export class Sealing extends Context.Service<
  Sealing,
  {
    /** Places new events and seals all that have a position. Fails if one is missing: nothing after it can be sealed. */
    readonly seal: (organizationId: OrganizationId) => Effect.Effect<void, EventCheckpointInconsistent>
    /** Places new events and seals up to {@link SEAL_BATCH}. */
    readonly sealSome: (organizationId: OrganizationId) => Effect.Effect<SealedLog, EventCheckpointInconsistent>
    /**
     * Places and seals new events of up to `maxTogether` logs in one transaction, some of each. Returns what was sealed. Logs that
     * others work on, that have no new events, or that need more than placing, are left for `sealSome`.
     */
    readonly sealTogether: (
      organizationIds: ReadonlyArray<OrganizationId>,
    ) => Effect.Effect<ReadonlyMap<OrganizationId, SealedLog>, EventCheckpointInconsistent>
    /** How many logs `sealTogether` takes at a time. */
    readonly maxTogether: number
  }
>()("keyshelf/audit/Sealing") {
  static readonly layer = Layer.suspend(() => Layer.effect(Sealing, make))
}

/** Returns what adds the nodes that are complete when a tree grows. */
const growth = (repo: AuditRepo["Service"]) => {
  const addNodes = Effect.fnUntraced(function* (organizationId: OrganizationId, range: NodeRange) {
    const nodes: Array<TreeNode> = []
    for (const { below, index } of yield* repo.hashesBelow(organizationId, range)) {
      const hash = nodeAbove(below)
      if (hash === undefined) return yield* inconsistent(organizationId, MISSING_HASHES)
      nodes.push({ level: range.level, index, hash })
    }
    yield* repo.insertNodes(organizationId, nodes)
  })

  return Effect.fnUntraced(function* (organizationId: OrganizationId, size: number, grown: number) {
    for (const range of completedRanges(size, grown)) yield* addNodes(organizationId, range)
  })
}

/**
 * Returns what adds leaves to a tree, after those that are missing were stored: placing stores none for a log that
 * was restarted.
 */
const leafAddition = (leaves: EventLeaves["Service"], repo: AuditRepo["Service"]) => {
  const advance = (organizationId: OrganizationId, isWhole: boolean) =>
    Effect.map(
      leaves.advance(organizationId, SEAL_BATCH, { isWhole }),
      Option.getOrElse((): Sealed => ({ head: 0, base: 0, sealed: 0, reach: 0, follow: 0 })),
    )

  return Effect.fnUntraced(function* (organizationId: OrganizationId) {
    const next = yield* advance(organizationId, true)
    if (next.follow === next.reach) return next
    yield* leaves.fill(organizationId, SEAL_BATCH)
    const filled = yield* advance(organizationId, true)
    if (filled.follow === filled.reach) return filled
    const isNew = filled.sealed === filled.base && Option.isNone(yield* repo.newestCheckpoint(organizationId))
    if (isNew) {
      yield* leaves.beginBehindGaps(organizationId)
      yield* leaves.fill(organizationId, SEAL_BATCH)
    }
    return yield* advance(organizationId, false)
  })
}

const make = Effect.gen(function* () {
  const log = yield* EventLog
  const repo = yield* AuditRepo
  const transactions = yield* Transactions

  const grow = growth(repo)
  const addLeaves = leafAddition(yield* EventLeaves, repo)

  /** Adds the nodes above leaves that placing has added to the tree. */
  const sealedNow = Effect.fnUntraced(function* ({ base, head, organizationId, placed }: PlacedStream, count: number) {
    yield* grow(organizationId, head - base - placed, head - base)
    const result: SealedLog = { head, hasMore: placed >= count }
    return result
  })

  const sealBatch = Effect.fnUntraced(function* (organizationId: OrganizationId) {
    yield* repo.lock(organizationId)
    yield* log.lockPlacing(organizationId)
    const [stream] = yield* log.placeSome([organizationId], SEAL_BATCH)
    if (stream !== undefined && isWhole(stream)) return yield* sealedNow(stream, SEAL_BATCH)
    const { base, follow, head, reach, sealed } = yield* addLeaves(organizationId)
    if (follow === 0 && reach > 0) {
      const reason = `The event at position ${sealed + 1} is missing, and nothing after it can be sealed.`
      return yield* inconsistent(organizationId, reason)
    }
    yield* grow(organizationId, sealed - base - follow, sealed - base)
    const result: SealedLog = { head: sealed, hasMore: sealed < head || (stream?.placed ?? 0) >= SEAL_BATCH }
    return result
  })

  const sealSome = Effect.fn("Sealing.sealSome")(function* (organizationId: OrganizationId) {
    return yield* transactions.run(sealBatch(organizationId))
  })

  const sealTogether = Effect.fnUntraced(function* (organizationIds: ReadonlyArray<OrganizationId>) {
    const locked = yield* log.lockFree(organizationIds, repo.lockName)
    if (locked.length === 0) return new Map<OrganizationId, SealedLog>()
    const count = Math.min(SEAL_BATCH, Math.ceil(TOGETHER_BATCH / locked.length))
    const streams = yield* log.placeSome(locked, count)
    const sealed = yield* Effect.forEach(streams.filter(isWhole), (stream) =>
      Effect.map(sealedNow(stream, count), (result) => [stream.organizationId, result] as const),
    )
    return new Map(sealed)
  })

  return Sealing.of({
    sealSome,
    sealTogether: Effect.fn("Sealing.sealTogether")(function* (organizationIds: ReadonlyArray<OrganizationId>) {
      return yield* transactions.run(sealTogether(organizationIds))
    }),
    maxTogether: log.maxTogether,
    seal: (organizationId) =>
      Effect.asVoid(Effect.repeat(sealSome(organizationId), { while: ({ hasMore }) => hasMore })).pipe(
        Effect.withSpan("Sealing.seal"),
      ),
  })
})
