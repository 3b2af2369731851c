/** Plain reports, by far the most frequent ones: they append at a time of no consequence to others, so they are served together. */
import { Effect, Exit, Option } from "effect"
import type { EntitlementNotFound } from "../../entitlements/Errors.ts"
import type { InstanceNotFound } from "../../instances/Errors.ts"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { invalid } from "../../../kernel/contract/Problem.ts"
import type { ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { accountName, entryOf, meterName, methodOf, post } from "../ledger/Account.ts"
import type { Account, ReportedEvent } from "../ledger/Account.ts"
import type { ReportUsageThresholdExceeded } from "../Errors.ts"
import { LockedLedger } from "../ledger/LockedLedger.ts"
import { LedgerRepo } from "../ledger/LedgerRepo.ts"
import type { Meter, UsageEntry } from "../ledger/Model.ts"
import type { ReportUsage } from "./Model.ts"
import { eventOf, reportValidationError, rejectionProblem } from "./Rules.ts"
import { timestampError } from "../ledger/Acceptance.ts"
import type { UsageValidationError } from "../ledger/Acceptance.ts"
import { callerGroupCommit } from "../ledger/CallerGroupCommit.ts"
import { OptimisticLedger } from "../ledger/OptimisticLedger.ts"
import type { Posting } from "../ledger/OptimisticLedger.ts"

/** A report of an instance for an entitlement. */
export interface Report {
  readonly instance: string
  readonly entitlement: string
  readonly report: ReportUsage
}

/** Whether nothing but the counter decides on it: no id to look up, no total to fold anew. */
export const isPlain = ({ behavior = "append", transactionId }: ReportUsage): boolean =>
  behavior === "append" && transactionId === undefined

type Missing = InstanceNotFound | EntitlementNotFound
type Refused = Missing | ValidationFailed | ReportUsageThresholdExceeded

interface ReadableReport {
  readonly meter: Meter
  readonly event: ReportedEvent
  readonly report: ReportUsage
}

/** What a report is answered with, and the account after it. */
const answerOn = ({ event, meter, report }: ReadableReport, account: Account) => {
  const posted = post(account, event)
  const answer: Exit.Exit<UsageEntry, Refused> =
    posted.refusal === undefined
      ? Exit.succeed(entryOf(meter, posted.account.period, posted.account.total))
      : Exit.fail(rejectionProblem(posted.refusal, posted.account, report))
  return { answer, account: posted.account }
}

/** What is wrong with a plain report at an instant. */
const faultIn = (meter: Meter, report: ReportUsage, timestamp: Date, at: Date): UsageValidationError | undefined => {
  const wrongTime = timestampError(meter, timestamp, at)
  return (
    reportValidationError(meter, report) ??
    (wrongTime === undefined ? undefined : { location: "body.timestamp", message: wrongTime, value: report.timestamp })
  )
}

/** Counts plain reports. `refuseMissing` says which of the two does not exist. */
export const appends = Effect.fnUntraced(function* (
  refuseMissing: (organizationId: string, instance: string, entitlement: string) => Effect.Effect<never, Missing>,
) {
  const repo = yield* LedgerRepo
  const ledger = yield* LockedLedger
  const unlocked = yield* OptimisticLedger

  const read = Effect.fnUntraced(function* (
    { actor, organizationId }: Caller["Service"],
    { entitlement, instance, report }: Report,
    meter: Meter | undefined,
    at: Date,
  ) {
    if (meter === undefined) return yield* refuseMissing(organizationId, instance, entitlement)
    const timestamp = report.timestamp ?? at
    const fault = faultIn(meter, report, timestamp, at)
    if (fault !== undefined) return yield* invalid(fault.location, fault.message, fault.value)
    const readable: ReadableReport = { meter, report, event: eventOf(report, timestamp, actor) }
    return readable
  })

  const appended = yield* callerGroupCommit(
    Effect.fnUntraced(function* (reports: ReadonlyArray<Report>) {
      const caller = yield* Caller
      const { organizationId } = caller
      const pairs = new Map(
        reports.map(
          ({ entitlement, instance }) => [meterName({ instance, entitlement }), { instance, entitlement }] as const,
        ),
      )
      const found = yield* repo.keep(organizationId, [...pairs.values()])
      const meters = new Map(found.map((meter) => [meterName(meter), meter] as const))
      const at = yield* now
      const readable = yield* Effect.forEach(reports, (report) =>
        Effect.exit(read(caller, report, meters.get(meterName(report)), at)),
      )
      const usages = readable.flatMap((exit) =>
        Exit.isSuccess(exit)
          ? [{ meter: exit.value.meter, at: exit.value.event.timestamp, uniqueKey: exit.value.event.uniqueKey }]
          : [],
      )
      const accounts = new Map(usages.length === 0 ? [] : yield* ledger.open(organizationId, usages))
      const answers = readable.map((exit): Exit.Exit<UsageEntry, Refused> => {
        if (Exit.isFailure(exit)) return Exit.failCause(exit.cause)
        const name = accountName({ meter: exit.value.meter, at: exit.value.event.timestamp })
        const account = accounts.get(name)
        if (account === undefined) return Exit.die(new Error("A locked total is missing"))
        const answered = answerOn(exit.value, account)
        accounts.set(name, answered.account)
        return answered.answer
      })
      yield* ledger.close(caller, [...accounts.values()])
      return answers
    }),
  )

  /** The same for one report, as far as it can do without locks. */
  const postingOf = (
    { actor, organizationId }: Caller["Service"],
    { entitlement, instance, report }: Report,
  ): Posting<Exit.Exit<UsageEntry, Refused>> => ({
    organizationId,
    names: [{ instance, entitlement }],
    decide: ([meter], accounts, at) => {
      const timestamp = report.timestamp ?? at
      if (meter === undefined || methodOf(meter) === "UNIQUE_COUNT") return undefined
      const name = accountName({ meter, at: timestamp })
      const account = accounts.get(name)
      if (account === undefined || faultIn(meter, report, timestamp, at) !== undefined) return undefined
      const answered = answerOn({ meter, report, event: eventOf(report, timestamp, actor) }, account)
      return { answer: answered.answer, accounts: new Map([[name, answered.account]]) }
    },
  })

  return Effect.fnUntraced(function* (report: Report) {
    const counted = yield* unlocked.post(postingOf(yield* Caller, report))
    return yield* Option.isSome(counted) ? counted.value : appended(report)
  })
})
