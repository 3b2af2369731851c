/** Usage as CloudEvents 1.0: each event is judged by itself, and counted once (contract sections 5 and 9, "Usage"). */
import { Context, Effect, Exit, Layer, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Transaction, Transactions } from "../../../kernel/database/Transactions.ts"
import { makeBatchCounting, noOutcomes } from "./BatchCounting.ts"
import type { Outcomes } from "./BatchCounting.ts"
import { parseEvent, checkEvent } from "./Rules.ts"
import type { CountableEvent, ParsedEvent, RejectedEvent, Outcome } from "./Rules.ts"
import type { CloudEventResult } from "./Model.ts"
import type { Terms } from "./Repo.ts"
import { makeGroupCommit } from "../../../kernel/concurrency/GroupCommit.ts"

const DUPLICATE: Outcome = { status: "duplicate" }

type Batch = ReadonlyArray<unknown>
type Results = ReadonlyArray<CloudEventResult>

/** While PostgreSQL counts some batches of a caller, others are read and added up. */
const TURNS_AT_ONCE = 2

/** How many batches are counted together at most: more would make one transaction long, and save nothing more. */
const MOST_TOGETHER = 8

/** A way of counting: where it finds the terms of events, and how it counts those that the terms allow. */
interface Way<E, R> {
  readonly terms: (organizationId: string, events: ReadonlyArray<ParsedEvent>) => Effect.Effect<Terms>
  readonly count: (events: ReadonlyArray<CountableEvent>, at: Date) => Effect.Effect<Outcomes, E, R>
}

const isEvent = <Event extends ParsedEvent | CountableEvent>(event: Event | RejectedEvent): event is Event =>
  !("outcome" in event)

/** The first event of each identity: the only one that can count. */
const firsts = (events: ReadonlyArray<CountableEvent>): ReadonlyMap<string, CountableEvent> => {
  const byIdentity = new Map<string, CountableEvent>()
  for (const event of events) if (!byIdentity.has(event.identity)) byIdentity.set(event.identity, event)
  return byIdentity
}

/** The events of batches that can count, and why the others cannot. What is only needed for that is let go of. */
const judged = Effect.fnUntraced(function* <E, R>({ terms }: Way<E, R>, sent: ReadonlyArray<Batch>, at: Date) {
  const { organizationId } = yield* Caller
  const read = sent.map((batch) => batch.map((event) => parseEvent(event, at)))
  const { instances, meterOf } = yield* terms(organizationId, read.flat().filter(isEvent))
  return read.map((batch) =>
    batch.map((event) =>
      isEvent(event)
        ? checkEvent(event, meterOf(event.instance, event.entitlement), instances.has(event.instance), at)
        : event,
    ),
  )
})

/** Counts the events of batches that can be, and tells of each batch what became of its events, in order. */
const counted = Effect.fnUntraced(function* <E, R>(way: Way<E, R>, sent: ReadonlyArray<Batch>) {
  const at = yield* now
  const batches = yield* judged(way, sent, at)
  const candidates = firsts(batches.flat().filter(isEvent))
  const verdictOf = candidates.size === 0 ? noOutcomes : yield* way.count([...candidates.values()], at)
  return batches.map((batch) =>
    batch.map((event, index): CloudEventResult => {
      if (!isEvent(event)) return { index, id: event.id, ...event.outcome }
      const first = candidates.get(event.identity) ?? event
      const verdict = verdictOf(first) ?? DUPLICATE
      return { index, id: event.id, ...(first !== event && verdict.status === "accepted" ? DUPLICATE : verdict) }
    }),
  )
})

const make = Effect.gen(function* () {
  const { simply, underLocks } = yield* makeBatchCounting
  const transactions = yield* Transactions

  const countUnderLocks = (batch: Batch) =>
    Effect.map(counted(underLocks, [batch]), ([results = []]): Results => results)

  /** Counts batches of one caller: all at once if they are simple, else each by itself. */
  const serve = (sent: ReadonlyArray<Batch>) =>
    counted(simply, sent).pipe(
      Effect.map((results) => results.map((own) => Exit.succeed<Results>(own))),
      Effect.catchTag("NotSimple", () =>
        // What becomes of one is no matter of the others.
        Effect.forEach(sent, (batch) => Effect.exit(transactions.run(countUnderLocks(batch)))),
      ),
    )
  const queued = makeGroupCommit(serve, { maxBatch: MOST_TOGETHER })
  let arrived = 0

  /** Counts the events that can be, all in one transaction, and tells what became of each, in order. */
  const report = Effect.fn("CloudEvents.report")(function* (sent: Batch) {
    // An idempotency key's transaction has to hold what it answers, and cannot be taken back for a second try.
    if (Option.isSome(yield* Effect.serviceOption(Transaction))) {
      return { results: yield* transactions.run(countUnderLocks(sent)) }
    }
    const { credentialId, organizationId } = yield* Caller
    const turns = arrived++ % TURNS_AT_ONCE
    return { results: yield* queued(`${organizationId} ${credentialId} ${turns}`, sent) }
  })

  return { report }
})

/** Usage that arrives as CloudEvents. */
export class CloudEvents extends Context.Service<CloudEvents, Effect.Success<typeof make>>()(
  "keyshelf/usage/cloudevents/CloudEvents",
) {
  static readonly layer = Layer.effect(CloudEvents, make)
}
