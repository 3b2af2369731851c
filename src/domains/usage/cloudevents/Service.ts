/** Usage as CloudEvents 1.0: each event has its own outcome and is counted once. */
import { Context, Effect, Exit, Layer, Option } from "effect"
import { Caller, mayUseInstance } from "../../../kernel/contract/Caller.ts"
import { MissingScope, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Transaction } from "../../../kernel/database/Transactions.ts"
import {
  UsageEventEntitlementNotFound,
  UsageEventInstanceNotFound,
  UsageEventNotReportable,
  UsageEventThresholdExceeded,
} from "../Errors.ts"
import { Ledger } from "../ledger/Ledger.ts"
import { lockedOperation } from "../ledger/Operation.ts"
import { makeBatchCounting, noOutcomes } from "./BatchCounting.ts"
import type { Outcomes } from "./BatchCounting.ts"
import { parseEvent, checkEvent } from "./Rules.ts"
import type { CountableEvent, ParsedEvent, RejectedEvent } from "./Rules.ts"
import type { CloudEventResult, Outcome } from "./Model.ts"
import type { Terms } from "./Repo.ts"
import { makeGroupCommit } from "../../../kernel/concurrency/GroupCommit.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"

const DUPLICATE: Outcome = { status: "duplicate" }

type Batch = ReadonlyArray<unknown>
type Results = ReadonlyArray<CloudEventResult>

/** Groups of one caller that run at the same time: while PostgreSQL stores one, the next is parsed and added up. */
const MAX_GROUPS_IN_FLIGHT = 2

/** The maximum of batches in one transaction. More would make it long and save nothing. */
const MAX_BATCHES = 8

/** A counting strategy: it finds the terms of events, and counts the valid ones. */
interface Strategy<E, R> {
  readonly terms: (organizationId: OrganizationId, events: ReadonlyArray<ParsedEvent>, at: Date) => Effect.Effect<Terms>
  readonly count: (events: ReadonlyArray<CountableEvent>, at: Date) => Effect.Effect<Outcomes, E, R>
}

const isEvent = <Event extends ParsedEvent | CountableEvent>(event: Event | RejectedEvent): event is Event =>
  !("outcome" in event)

/** The first event of each identity. Only that can count. */
const firstByIdentity = (events: ReadonlyArray<CountableEvent>): ReadonlyMap<string, CountableEvent> => {
  const byIdentity = new Map<string, CountableEvent>()
  for (const event of events) if (!byIdentity.has(event.identity)) byIdentity.set(event.identity, event)
  return byIdentity
}

/** Parses and validates the events of batches. */
const validateBatches = Effect.fnUntraced(function* <E, R>(
  { terms }: Strategy<E, R>,
  sent: ReadonlyArray<Batch>,
  at: Date,
) {
  const caller = yield* Caller
  const { organizationId } = caller
  const read = sent.map((batch) => batch.map((event) => parseEvent(event, at)))
  const { instances, meterOf } = yield* terms(organizationId, read.flat().filter(isEvent), at)
  return read.map((batch) =>
    batch.map((event) =>
      isEvent(event)
        ? mayUseInstance(caller, event.instance)
          ? checkEvent(event, meterOf(event.instance, event.entitlement), instances.has(event.instance), at)
          : checkEvent(event, undefined, false, at)
        : event,
    ),
  )
})

/** Counts the valid events of batches, and returns the results of each batch in order. */
const countBatches = Effect.fnUntraced(function* <E, R>(strategy: Strategy<E, R>, sent: ReadonlyArray<Batch>) {
  const at = yield* now
  const batches = yield* validateBatches(strategy, sent, at)
  const candidates = firstByIdentity(batches.flat().filter(isEvent))
  const outcomeOf = candidates.size === 0 ? noOutcomes : yield* strategy.count([...candidates.values()], at)
  return batches.map((batch) =>
    batch.map((event, index): CloudEventResult => {
      if (!isEvent(event)) return { index, id: event.id, ...event.outcome }
      const first = candidates.get(event.identity) ?? event
      const outcome = outcomeOf(first) ?? DUPLICATE
      return { index, id: event.id, ...(first !== event && outcome.status === "accepted" ? DUPLICATE : outcome) }
    }),
  )
})

/** The problem of an event that was sent alone. */
const rejectionOf = ({ code, message: detail = "The event cannot be counted." }: CloudEventResult) => {
  switch (code) {
    case "Instance.NotFound":
      return new UsageEventInstanceNotFound({ detail })
    case "Entitlement.NotFound":
      return new UsageEventEntitlementNotFound({ detail })
    case "ReportUsage.ThresholdExceeded":
      return new UsageEventThresholdExceeded({ detail })
    case "Auth.MissingScope":
      return new MissingScope({ detail })
    case "ReportUsage.NotReportable":
      return new UsageEventNotReportable({ detail })
    default:
      return new ValidationFailed({ detail, errors: [{ location: "body", message: detail }] })
  }
}

/** Usage that arrives as CloudEvents. */
export class CloudEvents extends Context.Service<
  CloudEvents,
  {
    /** Counts the valid events of a batch, and returns the result of each in order. */
    readonly report: (sent: Batch) => Effect.Effect<{ readonly results: Results }, never, Caller>
    /** The same for one event. Fails with the code of its problem if it is rejected. */
    readonly reportOne: (
      sent: unknown,
    ) => Effect.Effect<
      { readonly results: Results },
      | ValidationFailed
      | MissingScope
      | UsageEventInstanceNotFound
      | UsageEventEntitlementNotFound
      | UsageEventThresholdExceeded
      | UsageEventNotReportable,
      Caller
    >
  }
>()("keyshelf/usage/cloudevents/CloudEvents") {
  static readonly layer = Layer.suspend(() => Layer.effect(CloudEvents, make))
}

const make = Effect.gen(function* () {
  const { setWise, underLocks } = yield* makeBatchCounting
  const ledger = yield* Ledger

  const countUnderLocks = (batch: Batch) =>
    ledger.apply(
      lockedOperation({
        decide: (accounts) => countBatches(underLocks(accounts), [batch]),
        answer: ([results = []]) => Effect.succeed<Results>(results),
      }),
    )

  /** Counts batches of one caller: all set-wise, or each by itself under locks. */
  const serve = (sent: ReadonlyArray<Batch>) =>
    countBatches(setWise, sent).pipe(
      Effect.map((results) => results.map((result) => Exit.succeed<Results>(result))),
      Effect.catchTag("NeedsLocks", () =>
        // The failure of one batch must not affect the others.
        Effect.forEach(sent, (batch) => Effect.exit(countUnderLocks(batch))),
      ),
    )
  const grouped = makeGroupCommit(serve, { maxBatch: MAX_BATCHES })
  let arrived = 0

  const report = Effect.fn("CloudEvents.report")(function* (sent: Batch) {
    // The transaction of an idempotency key must contain the events, and cannot be rolled back for a second try.
    if (Option.isSome(yield* Effect.serviceOption(Transaction))) {
      return { results: yield* countUnderLocks(sent) }
    }
    const { credentialId, organizationId } = yield* Caller
    const group = arrived++ % MAX_GROUPS_IN_FLIGHT
    return { results: yield* grouped(`${organizationId} ${credentialId} ${group}`, sent) }
  })

  const reportOne = Effect.fn("CloudEvents.reportOne")(function* (sent: unknown) {
    const reported = yield* report([sent])
    const [result] = reported.results
    const problem = result?.status === "rejected" ? rejectionOf(result) : undefined
    return problem === undefined ? reported : yield* problem
  })

  return { report, reportOne }
})
