/** Takes the lines of a ledger: stores and counts those that are new. */
import { Effect } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { Events } from "../../events/Service.ts"
import { Allowances } from "../../usage/allowances/Service.ts"
import { OfflineUsage } from "../../usage/siteusage/Service.ts"
import {
  UploadOfflineUsageLedgerClosed,
  UploadOfflineUsageLedgerForked,
  UploadOfflineUsageLedgerGap,
} from "../Errors.ts"
import { ledgerFollowing } from "./Following.ts"
import { makeLineCounting } from "./LineCounting.ts"
import type { OfflineUsageUpload, UploadOfflineUsage } from "./Model.ts"
import { ledgerOf, LedgersRepo } from "./Repo.ts"
import type { LedgerKey, LedgerRow } from "./Repo.ts"
import { lineResults, newestOf } from "./Rules.ts"
import type { LedgerLine } from "./Rules.ts"

const problems = {
  forked: (detail: string) => new UploadOfflineUsageLedgerForked({ detail }),
  gap: (detail: string) => new UploadOfflineUsageLedgerGap({ detail }),
  closed: (detail: string) => new UploadOfflineUsageLedgerClosed({ detail }),
}

/** Stores the end of a ledger after new lines, and ends allowances if it is closed now. */
export const ledgerStore = Effect.gen(function* () {
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
  const count = yield* makeLineCounting
  const followLines = yield* ledgerFollowing
  const store = yield* ledgerStore
  const usage = yield* OfflineUsage
  const events = yield* Events

  return Effect.fnUntraced(function* (
    instanceSlug: string,
    { close = false, source }: UploadOfflineUsage,
    lines: ReadonlyArray<LedgerLine>,
  ) {
    const caller = yield* Caller
    const { added, instance, key, position, stored } = yield* followLines(problems, { instanceSlug, source, lines })
    const { named, outcomes } = yield* count(instance, added)
    const isNews = added.length > 0 || (close && stored.closedAt === null)
    const bundleSequence = newestOf([stored.bundleSequence, named])
    const closedAt = stored.closedAt ?? (close ? key.at : null)
    const row = isNews ? yield* store(stored, key, { ...position, bundleSequence, closedAt }) : stored
    const overAllowance = yield* usage.overAllowance(
      instance,
      lines.map(({ event }) => event),
    )
    const { accepted, duplicates, results } = lineResults(lines, outcomes)
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
      duplicates,
      lines: row.lines,
      head: row.head,
      closed: row.closedAt !== null,
      overAllowance,
      results,
    }
    return upload
  })
})
