/** Usage as CloudEvents 1.0: each event is judged by itself, and counted once (contract sections 5 and 9, "Usage"). */
import { Context, Effect, Layer, Option } from "effect"
import { Caller } from "../kernel/Caller.ts"
import type { ActorReference } from "../kernel/Caller.ts"
import { now } from "../kernel/Timestamp.ts"
import { Transaction, Transactions } from "../kernel/Transaction.ts"
import { accountName, post } from "./Account.ts"
import type { Account } from "./Account.ts"
import { readEvent, rejected, verdictOn } from "./EventReading.ts"
import type { Judged, ReadEvent, Verdict } from "./EventReading.ts"
import { ledgers } from "./Ledgers.ts"
import type { Ledger } from "./Ledgers.ts"
import { meterName } from "./Metering.ts"
import { MeterRepo } from "./MeterRepo.ts"
import type { CloudEventResult, Meter } from "./Model.ts"
import { KEPT_FOR, refusalText } from "./Reporting.ts"

const identityOf = ({ id, source }: Pick<ReadEvent, "id" | "source">): string => JSON.stringify([source, id])

const unique = <A>(items: ReadonlyArray<A>, nameOf: (item: A) => string): ReadonlyArray<A> =>
  Array.from(new Map(items.toReversed().map((item) => [nameOf(item), item] as const)).values()).toReversed()

/** What becomes of events that are counted for the first time, in order, and the accounts after them. */
const countOn = (
  opened: ReadonlyMap<string, Account>,
  events: ReadonlyArray<Judged>,
  reportedBy: ActorReference,
): { readonly accounts: ReadonlyMap<string, Account>; readonly verdicts: ReadonlyArray<Verdict> } => {
  const accounts = new Map(opened)
  const verdicts = events.map(({ meter, timestamp, uniqueKey, value }): Verdict => {
    const name = accountName({ meter, at: timestamp })
    const account = accounts.get(name)
    if (account === undefined) throw new Error("A total is missing")
    const event = { timestamp, behavior: "append" as const, value, uniqueKey, metadata: null, reportedBy }
    const posted = post(account, event)
    accounts.set(name, posted.account)
    if (posted.refusal === undefined) return { status: "accepted" }
    const code = posted.refusal === "negative" ? "Request.ValidationFailed" : "ReportUsage.ThresholdExceeded"
    return rejected(code, refusalText(posted.refusal, posted.account))
  })
  return { accounts, verdicts }
}

const make = Effect.gen(function* () {
  const repo = yield* MeterRepo
  const { locked, unlocked } = yield* ledgers
  const transactions = yield* Transactions

  const metersOf = Effect.fnUntraced(function* (ledger: Ledger, events: ReadonlyArray<ReadEvent>, at: Date) {
    const { organizationId } = yield* Caller
    const pairs = unique(events, meterName).map(({ entitlement, instance }) => ({ instance, entitlement }))
    const found = yield* ledger.meters(organizationId, pairs, at)
    const meters = new Map<string, Meter>(found.map((meter) => [meterName(meter), meter] as const))
    const instances =
      found.length === pairs.length
        ? []
        : yield* repo.instancesAmong(organizationId, [...new Set(pairs.map(({ instance }) => instance))])
    return { meters, instances: new Set(instances.map(({ slug }) => slug)) }
  })

  /** The verdicts on the events that can count. Their ids are taken before any total is touched. */
  const count = Effect.fnUntraced(function* (ledger: Ledger, candidates: ReadonlyArray<Judged>, at: Date) {
    const caller = yield* Caller
    const verdicts = new Map<string, Verdict>()
    if (candidates.length === 0) return verdicts
    const expiresAt = new Date(at.getTime() + KEPT_FOR)
    const ids = candidates.map(({ id, source }) => ({ source, id }))
    const taken = yield* repo.takeEventIds(caller.organizationId, ids, at, expiresAt)
    const fresh = new Set(taken.map(identityOf))
    const counting = candidates.filter((event) => fresh.has(identityOf(event)))
    for (const event of candidates) verdicts.set(identityOf(event), { status: "duplicate" })
    if (counting.length === 0) return verdicts
    const usages = counting.map(({ meter, timestamp, uniqueKey }) => ({ meter, at: timestamp, uniqueKey }))
    const counted = countOn(yield* ledger.open(caller.organizationId, usages), counting, caller.actor)
    const refused: Array<Pick<Judged, "source" | "id">> = []
    for (const [index, event] of counting.entries()) {
      const verdict = counted.verdicts[index] ?? { status: "duplicate" }
      verdicts.set(identityOf(event), verdict)
      if (verdict.status === "rejected") refused.push({ source: event.source, id: event.id })
    }
    if (refused.length > 0) yield* repo.releaseEventIds(caller.organizationId, refused)
    yield* ledger.close(caller, [...counted.accounts.values()])
    return verdicts
  })

  const countAll = Effect.fnUntraced(function* (ledger: Ledger, sent: ReadonlyArray<unknown>) {
    const at = yield* now
    const read = sent.map((event) => readEvent(event, at))
    const readable = read.flatMap((event) => ("event" in event ? [event.event] : []))
    const { instances, meters } = yield* metersOf(ledger, readable, at)
    const judged = read.map((event) =>
      "event" in event
        ? verdictOn(event.event, meters.get(meterName(event.event)), instances.has(event.event.instance), at)
        : event,
    )
    const candidates = judged.flatMap((event) => ("judged" in event ? [event.judged] : []))
    const verdicts = yield* count(ledger, unique(candidates, identityOf), at)
    const seen = new Set<string>()
    return judged.map((event, index): CloudEventResult => {
      if ("verdict" in event) return { index, id: event.id, ...event.verdict }
      const identity = identityOf(event.judged)
      const verdict = verdicts.get(identity) ?? { status: "duplicate" }
      const isRepeated = seen.has(identity) && verdict.status === "accepted"
      seen.add(identity)
      return { index, id: event.judged.id, ...(isRepeated ? { status: "duplicate" } : verdict) }
    })
  })

  /** Counts the events that can be, all in one transaction, and tells what became of each, in order. */
  const report = Effect.fn("CloudEvents.report")(function* (sent: ReadonlyArray<unknown>) {
    const underLocks = Effect.orDie(transactions.run(countAll(locked, sent)))
    // An idempotency key's transaction cannot be taken back for a second try.
    const isKeyed = Option.isSome(yield* Effect.serviceOption(Transaction))
    const results = isKeyed
      ? yield* underLocks
      : yield* Effect.catchTag(transactions.run(countAll(unlocked(), sent)), "Overtaken", () => underLocks)
    return { results }
  })

  return { report }
})

/** Usage that arrives as CloudEvents. */
export class CloudEvents extends Context.Service<CloudEvents, Effect.Success<typeof make>>()(
  "keyshelf/usage/CloudEvents",
) {
  static readonly layer = Layer.effect(CloudEvents, make)
}
