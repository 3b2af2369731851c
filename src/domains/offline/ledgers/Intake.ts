/** Takes the lines of a ledger: stores and counts those that are new. */
import { Effect } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Events } from "../../events/Service.ts"
import { Instances } from "../../instances/Service.ts"
import { Allowances } from "../../usage/allowances/Service.ts"
import { OfflineUsage } from "../../usage/offline/Service.ts"
import { UploadOfflineUsageLedgerClosed, UploadOfflineUsageLedgerGap } from "../Errors.ts"
import { makeForkFailure } from "./Forks.ts"
import { makeLineCounting } from "./LineCounting.ts"
import type { OfflineUsageUpload, UploadOfflineUsage } from "./Model.ts"
import { ledgerOf, LedgersRepo } from "./Repo.ts"
import type { LedgerKey, LedgerRow } from "./Repo.ts"
import { follow, hashOf, newestOf } from "./Rules.ts"
import type { Continuation, LedgerLine } from "./Rules.ts"

const DUPLICATE = { status: "duplicate" } as const

const gap = ({ index, next }: Extract<Continuation, { status: "GAP" }>) =>
  new UploadOfflineUsageLedgerGap({
    detail: `The line ${next} is missing before body.lines[${index}]. Upload the lines from ${next} on.`,
  })

const closed = ({ source }: LedgerRow, at: Date) =>
  new UploadOfflineUsageLedgerClosed({
    detail: `The ledger "${source}" was closed on ${at.toISOString()}. Begin a new one with a new source.`,
  })

/** Stores the end of a ledger after new lines, and ends allowances if it is closed now. */
const ledgerStore = Effect.gen(function* () {
  const repo = yield* LedgersRepo
  const allowances = yield* Allowances

  return Effect.fnUntraced(function* (stored: LedgerRow, key: LedgerKey, change: Parameters<typeof repo.update>[2]) {
    const { organizationId } = yield* Caller
    if (stored.closedAt === null && change.closedAt !== null && change.bundleSequence !== null) {
      yield* allowances.endUpTo(organizationId, key.instanceId, change.bundleSequence, key.at)
    }
    return yield* repo.update(organizationId, key, change)
  })
})

/** Runs in a transaction, and locks the ledger until it ends. */
export const intake = Effect.gen(function* () {
  const repo = yield* LedgersRepo
  const count = yield* makeLineCounting
  const failForked = yield* makeForkFailure
  const store = yield* ledgerStore
  const instances = yield* Instances
  const usage = yield* OfflineUsage
  const events = yield* Events

  return Effect.fnUntraced(function* (
    instanceSlug: string,
    { close = false, source }: UploadOfflineUsage,
    lines: ReadonlyArray<LedgerLine>,
  ) {
    const caller = yield* Caller
    const { organizationId } = caller
    const instance = yield* instances.lockShared(instanceSlug)
    const key = { instanceId: instance.id, source, start: hashOf(source), at: yield* now }
    const stored = yield* repo.lock(organizationId, key)
    const followed = follow(stored, lines)
    if (followed.status === "FORKED") return yield* failForked(instance, source, followed.line)
    if (followed.status === "GAP") return yield* gap(followed)
    const { added, position } = followed
    if (stored.closedAt !== null && added.length > 0) return yield* closed(stored, stored.closedAt)

    const { named, outcomes } = yield* count(instance, added)
    const isNews = added.length > 0 || (close && stored.closedAt === null)
    const bundleSequence = newestOf([stored.bundleSequence, named])
    const closedAt = stored.closedAt ?? (close ? key.at : null)
    const row = isNews ? yield* store(stored, key, { ...position, bundleSequence, closedAt }) : stored
    const overAllowance = yield* usage.overAllowance(
      instance,
      lines.map(({ event }) => event),
    )
    const accepted = added.filter((line) => outcomes.get(line)?.status === "accepted").length
    if (isNews) {
      yield* events.emit(caller, "OFFLINE_USAGE_UPLOADED", {
        ...ledgerOf(row, instanceSlug),
        instanceId: instance.id,
        accepted,
        rejected: added.length - accepted,
        overAllowance,
      })
    }
    const upload: OfflineUsageUpload = {
      source,
      accepted,
      duplicates: lines.length - added.length,
      lines: row.lines,
      head: row.head,
      closed: row.closedAt !== null,
      overAllowance,
      results: lines.map((line) => ({
        index: line.index,
        id: String(line.number),
        ...(outcomes.get(line) ?? DUPLICATE),
      })),
    }
    return upload
  })
})
