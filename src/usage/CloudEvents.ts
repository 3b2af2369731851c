/** Usage as CloudEvents 1.0: each event is judged by itself, and counted once (contract sections 5 and 9, "Usage"). */
import { Context, Effect, Layer, Option } from "effect"
import { Caller } from "../kernel/Caller.ts"
import type { ActorReference } from "../kernel/Caller.ts"
import { now } from "../kernel/Timestamp.ts"
import { Transaction, Transactions } from "../kernel/Transaction.ts"
import { accountName, meterName, post } from "./Account.ts"
import type { Account } from "./Account.ts"
import { identityOf, readEvent, rejected, verdictOn } from "./EventReading.ts"
import type { Judged, ReadEvent, Verdict } from "./EventReading.ts"
import { ledgers } from "./Ledgers.ts"
import type { Ledger } from "./Ledgers.ts"
import { MeterRepo } from "./MeterRepo.ts"
import type { CloudEventResult, Meter } from "./Model.ts"
import { KEPT_FOR, refusalText } from "./Reporting.ts"

const DUPLICATE: Verdict = { status: "duplicate" }

/** The first item of each name. */
const firsts = <A>(items: ReadonlyArray<A>, nameOf: (item: A) => string): ReadonlyMap<string, A> => {
  const byName = new Map<string, A>()
  for (const item of items) {
    const name = nameOf(item)
    if (!byName.has(name)) byName.set(name, item)
  }
  return byName
}

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
    const pairs = Array.from(firsts(events, ({ meter }) => meter).values(), ({ entitlement, instance }) => ({
      instance,
      entitlement,
    }))
    const found = yield* ledger.meters(organizationId, pairs, at)
    const meters = new Map<string, Meter>(found.map((meter) => [meterName(meter), meter] as const))
    const instances =
      found.length === pairs.length
        ? []
        : yield* repo.instancesAmong(organizationId, [...new Set(pairs.map(({ instance }) => instance))])
    return { meters, instances: new Set(instances.map(({ slug }) => slug)) }
  })

  /** The verdicts on events that can count. Their ids are taken before any total is touched. */
  const count = Effect.fnUntraced(function* (ledger: Ledger, candidates: ReadonlyArray<Judged>, at: Date) {
    const caller = yield* Caller
    const verdicts = new Map<Judged, Verdict>()
    if (candidates.length === 0) return verdicts
    const expiresAt = new Date(at.getTime() + KEPT_FOR)
    const ids = candidates.map(({ id, source }) => ({ source, id }))
    const taken = yield* repo.takeEventIds(caller.organizationId, ids, at, expiresAt)
    const fresh = taken.length === ids.length ? null : new Set(taken.map(identityOf))
    const counting = fresh === null ? candidates : candidates.filter(({ identity }) => fresh.has(identity))
    if (counting.length === 0) return verdicts
    const usages = counting.map(({ meter, timestamp, uniqueKey }) => ({ meter, at: timestamp, uniqueKey }))
    const counted = countOn(yield* ledger.open(caller.organizationId, usages), counting, caller.actor)
    for (const [index, event] of counting.entries()) verdicts.set(event, counted.verdicts[index] ?? DUPLICATE)
    const refused = counting.filter((event) => verdicts.get(event)?.status === "rejected")
    if (refused.length > 0) {
      const free = refused.map(({ id, source }) => ({ source, id }))
      yield* repo.releaseEventIds(caller.organizationId, free)
    }
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
        ? verdictOn(event.event, meters.get(event.event.meter), instances.has(event.event.instance), at)
        : event,
    )
    const candidates = firsts(
      judged.flatMap((event) => ("judged" in event ? [event.judged] : [])),
      ({ identity }) => identity,
    )
    const verdicts = yield* count(ledger, [...candidates.values()], at)
    return judged.map((event, index): CloudEventResult => {
      if ("verdict" in event) return { index, id: event.id, ...event.verdict }
      const { judged: own } = event
      const first = candidates.get(own.identity) ?? own
      const verdict = verdicts.get(first) ?? DUPLICATE
      return { index, id: own.id, ...(first !== own && verdict.status === "accepted" ? DUPLICATE : verdict) }
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
