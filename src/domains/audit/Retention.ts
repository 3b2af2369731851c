/**
 * Retention of events, by default forever. It deletes whole days in UTC from the start of a log, only sealed events, and only those
 * that wait for no delivery. The hashes stay. One transaction deletes, and says so by a signed and sealed event: without it, the
 * missing events would look like removed ones. Positions are not reused, so cursors stay valid.
 */
import { Context, Effect, Layer, Option } from "effect"
import { bySystem } from "../../kernel/contract/Caller.ts"
import type { RetentionJob } from "../../kernel/database/ExpiredRows.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { CurrentRetentionPeriods, endedBefore } from "../../kernel/ports/RetentionPeriods.ts"
import { DAY_MS } from "../../kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { EventLog } from "../events/log/EventLog.ts"
import { Events } from "../events/Service.ts"
import { logOrigin } from "../signing/VerifierKey.ts"
import { Checkpoints } from "./Checkpoints.ts"
import { prunedOriginOf, prunedText } from "./rules/Notes.ts"
import { Sealing } from "./Sealing.ts"

/** The most events that one transaction deletes, unless a single day has more. */
const MAX_PRUNED = 10_000

const startOfDay = (at: Date): Date => new Date(Math.floor(at.getTime() / DAY_MS) * DAY_MS)

const nextDay = (at: Date): Date => new Date(startOfDay(at).getTime() + DAY_MS)

const earlier = (left: Date, right: Date): Date => (left.getTime() < right.getTime() ? left : right)

const make = Effect.gen(function* () {
  const log = yield* EventLog
  const sealing = yield* Sealing
  const checkpoints = yield* Checkpoints
  const events = yield* Events
  const transactions = yield* Transactions
  const { events: retained } = yield* CurrentRetentionPeriods

  /** Deletes what is old enough, or the first day of it if that is much. Returns how many events. */
  const pruneSome = Effect.fnUntraced(function* (organizationId: OrganizationId, oldest: Date, end: Date) {
    const size = yield* checkpoints.confirm(organizationId)
    const { base } = yield* log.stream(organizationId)
    const prefixBefore = Effect.fnUntraced(function* (before: Date) {
      return { before, ...(yield* log.prefix(organizationId, before, base + size)) }
    })
    const all = yield* prefixBefore(end)
    const prefix = all.count <= MAX_PRUNED ? all : yield* prefixBefore(earlier(end, nextDay(oldest)))
    // Otherwise the records of a log without other events would be replaced by new ones again and again.
    if (prefix.count === 0 || all.isOnlyRecords) return 0
    const pruned = { upTo: prefix.upTo, before: prefix.before.toISOString() }
    const origin = logOrigin(organizationId)
    const note = yield* checkpoints.signText(organizationId, prunedOriginOf(origin), prunedText(origin, pruned))
    yield* log.deleteUpTo(organizationId, prefix.upTo)
    const source = { ...bySystem, organizationId }
    yield* events.emit(source, "EVENTS_PRUNED", { ...pruned, count: prefix.count, note })
    // Sealed in the same transaction: a verification never sees the gap without its record.
    yield* sealing.seal(organizationId)
    return prefix.count
  })

  const prune = Effect.fn("EventRetention.prune")(function* (organizationId: OrganizationId, end: Date) {
    let total = 0
    for (;;) {
      yield* sealing.seal(organizationId)
      const oldest = yield* log.oldest(organizationId)
      if (Option.isNone(oldest)) return total
      const done = yield* transactions.run(pruneSome(organizationId, oldest.value, end))
      if (done === 0) return total
      total += done
    }
  }, Effect.orDie)

  const step = Effect.fnUntraced(function* (end: Date) {
    yield* Effect.forEach(yield* log.unplaced, log.place, { discard: true })
    const exits = yield* Effect.forEach(yield* log.startingBefore(end), (id) => Effect.exit(prune(id, end)))
    // One organization's failure does not keep the events of others.
    const done = yield* Effect.all(exits)
    return done.reduce((sum, count) => sum + count, 0)
  })

  const jobs: ReadonlyArray<RetentionJob> = Option.match(retained, {
    onNone: () => [],
    onSome: (period) => [{ kind: "events", step: (at) => step(startOfDay(endedBefore(at, period))) }],
  })
  return { jobs }
})

/** Deletes old events. */
export class EventRetention extends Context.Service<EventRetention, { readonly jobs: ReadonlyArray<RetentionJob> }>()(
  "keyshelf/audit/Retention",
) {
  static readonly layer = Layer.effect(EventRetention, make)
}
