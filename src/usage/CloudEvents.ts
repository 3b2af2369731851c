/** Usage as CloudEvents 1.0: each event is judged by itself, and counted once (contract sections 5 and 9, "Usage"). */
import { Context, Effect, Layer } from "effect"
import { Caller } from "../kernel/Caller.ts"
import { now } from "../kernel/Timestamp.ts"
import { Transactions } from "../kernel/Transaction.ts"
import { post } from "./Account.ts"
import { readEvent, rejected, verdictOn } from "./EventReading.ts"
import type { Judged, ReadEvent, Verdict } from "./EventReading.ts"
import { accountName, meterName, Metering } from "./Metering.ts"
import { MeterRepo } from "./MeterRepo.ts"
import type { CloudEventResult, Meter } from "./Model.ts"
import { KEPT_FOR, refusalText } from "./Reporting.ts"

const identityOf = ({ id, source }: Pick<ReadEvent, "id" | "source">): string => JSON.stringify([source, id])

const unique = <A>(items: ReadonlyArray<A>, nameOf: (item: A) => string): ReadonlyArray<A> =>
  Array.from(new Map(items.toReversed().map((item) => [nameOf(item), item] as const)).values()).toReversed()

const make = Effect.gen(function* () {
  const repo = yield* MeterRepo
  const metering = yield* Metering
  const transactions = yield* Transactions

  const metersOf = Effect.fnUntraced(function* (organizationId: string, events: ReadonlyArray<ReadEvent>) {
    const pairs = unique(events, meterName).map(({ entitlement, instance }) => ({ instance, entitlement }))
    const found = yield* repo.keep(organizationId, pairs)
    const meters = new Map<string, Meter>(found.map((meter) => [meterName(meter), meter] as const))
    const instances =
      found.length === pairs.length
        ? []
        : yield* repo.instancesAmong(organizationId, [...new Set(pairs.map(({ instance }) => instance))])
    return { meters, instances: new Set(instances.map(({ slug }) => slug)) }
  })

  /** The verdicts on the events that can count, in order. Their ids are taken before any total is locked. */
  const count = Effect.fnUntraced(function* (candidates: ReadonlyArray<Judged>, at: Date) {
    const caller = yield* Caller
    const verdicts = new Map<string, Verdict>()
    if (candidates.length === 0) return verdicts
    const expiresAt = new Date(at.getTime() + KEPT_FOR)
    const ids = candidates.map(({ id, source }) => ({ source, id }))
    const taken = yield* repo.takeEventIds(caller.organizationId, ids, at, expiresAt)
    const fresh = new Set(taken.map(identityOf))
    for (const event of candidates) {
      if (!fresh.has(identityOf(event))) verdicts.set(identityOf(event), { status: "duplicate" })
    }
    const counting = candidates.filter((event) => fresh.has(identityOf(event)))
    if (counting.length === 0) return verdicts
    const usages = counting.map(({ meter, timestamp, uniqueKey }) => ({ meter, at: timestamp, uniqueKey }))
    const accounts = yield* metering.open(caller.organizationId, usages)
    const refused: Array<Pick<Judged, "source" | "id">> = []
    for (const event of counting) {
      const name = accountName({ meter: event.meter, at: event.timestamp })
      const account = accounts.get(name)
      if (account === undefined) return yield* Effect.die(new Error("A locked total is missing"))
      const { id, source, timestamp, uniqueKey, value } = event
      const posted = post(account, { timestamp, behavior: "append", value, uniqueKey, metadata: null })
      accounts.set(name, posted.account)
      if (posted.refusal === undefined) {
        verdicts.set(identityOf(event), { status: "accepted" })
      } else {
        refused.push({ source, id })
        const code = posted.refusal === "negative" ? "Request.ValidationFailed" : "ReportUsage.ThresholdExceeded"
        const text = refusalText(posted.refusal, posted.account)
        verdicts.set(identityOf(event), rejected(code, text))
      }
    }
    if (refused.length > 0) yield* repo.releaseEventIds(caller.organizationId, refused)
    yield* metering.close(caller, [...accounts.values()])
    return verdicts
  })

  const inTransaction = Effect.fnUntraced(function* (sent: ReadonlyArray<unknown>) {
    const { organizationId } = yield* Caller
    const at = yield* now
    const read = sent.map((event) => readEvent(event, at))
    const { instances, meters } = yield* metersOf(
      organizationId,
      read.flatMap((event) => ("event" in event ? [event.event] : [])),
    )
    const judged = read.map((event) =>
      "event" in event
        ? verdictOn(event.event, meters.get(meterName(event.event)), instances.has(event.event.instance), at)
        : event,
    )
    const candidates = judged.flatMap((event) => ("judged" in event ? [event.judged] : []))
    const verdicts = yield* count(unique(candidates, identityOf), at)
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
    return { results: yield* transactions.run(inTransaction(sent)) }
  })

  return { report }
})

/** Usage that arrives as CloudEvents. */
export class CloudEvents extends Context.Service<CloudEvents, Effect.Success<typeof make>>()(
  "keyshelf/usage/CloudEvents",
) {
  static readonly layer = Layer.effect(CloudEvents, make)
}
