/** Plain reports, by far the most frequent ones: they append at a time of no consequence to others, so they are served together. */
import { Effect, Exit } from "effect"
import type { EntitlementNotFound } from "../entitlements/Errors.ts"
import type { InstanceNotFound } from "../instances/Errors.ts"
import { Caller } from "../kernel/Caller.ts"
import { invalid } from "../kernel/Problem.ts"
import type { ValidationFailed } from "../kernel/Problem.ts"
import { now } from "../kernel/Timestamp.ts"
import { entryOf, post } from "./Account.ts"
import type { PostedEvent } from "./Account.ts"
import type { ReportUsageThresholdExceeded } from "./Errors.ts"
import { accountName, meterName, Metering } from "./Metering.ts"
import { MeterRepo } from "./MeterRepo.ts"
import type { Meter, ReportUsage, UsageEntry } from "./Model.ts"
import { eventOf, faultOfReport, faultOfTimestamp, refusalFor } from "./Reporting.ts"
import { together } from "./Together.ts"

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

interface Readable {
  readonly meter: Meter
  readonly event: Omit<PostedEvent, "ordinal">
  readonly report: ReportUsage
}

/** Counts plain reports. `refuseMissing` says which of the two does not exist. */
export const appends = Effect.fnUntraced(function* (
  refuseMissing: (organizationId: string, instance: string, entitlement: string) => Effect.Effect<never, Missing>,
) {
  const repo = yield* MeterRepo
  const metering = yield* Metering

  const read = Effect.fnUntraced(function* (
    organizationId: string,
    { entitlement, instance, report }: Report,
    meter: Meter | undefined,
    at: Date,
  ) {
    if (meter === undefined) return yield* refuseMissing(organizationId, instance, entitlement)
    const fault = faultOfReport(meter, report)
    if (fault !== undefined) return yield* invalid(fault.location, fault.message, fault.value)
    const timestamp = report.timestamp ?? at
    const wrongTime = faultOfTimestamp(meter, timestamp, at)
    if (wrongTime !== undefined) return yield* invalid("body.timestamp", wrongTime, report.timestamp)
    const readable: Readable = { meter, report, event: eventOf(report, timestamp) }
    return readable
  })

  return yield* together(
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
        Effect.exit(read(organizationId, report, meters.get(meterName(report)), at)),
      )
      const usages = readable.flatMap((exit) =>
        Exit.isSuccess(exit)
          ? [{ meter: exit.value.meter, at: exit.value.event.timestamp, uniqueKey: exit.value.event.uniqueKey }]
          : [],
      )
      const accounts = new Map(usages.length === 0 ? [] : yield* metering.open(organizationId, usages))
      const answers = readable.map((exit): Exit.Exit<UsageEntry, Refused> => {
        if (Exit.isFailure(exit)) return Exit.failCause(exit.cause)
        const { event, meter, report } = exit.value
        const name = accountName({ meter, at: event.timestamp })
        const account = accounts.get(name)
        if (account === undefined) return Exit.die(new Error("A locked total is missing"))
        const posted = post(account, event)
        accounts.set(name, posted.account)
        return posted.refusal === undefined
          ? Exit.succeed(entryOf(meter, posted.account.period, posted.account.total))
          : Exit.fail(refusalFor(posted.refusal, posted.account, report))
      })
      yield* metering.close(caller, [...accounts.values()])
      return answers
    }),
  )
})
