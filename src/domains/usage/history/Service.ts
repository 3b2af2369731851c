/** Use cases of the events of an entitlement, and of its history (docs/usage.md). */
import { Context, Effect, Layer } from "effect"
import type { Caller } from "../../../kernel/contract/Caller.ts"
import { Cursors } from "../../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../../kernel/contract/Page.ts"
import type { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import type { EntitlementNotFound } from "../../entitlements/Errors.ts"
import type { InstanceNotFound } from "../../instances/Errors.ts"
import type { UsageEventNotFound } from "../Errors.ts"
import { historyReader } from "./History.ts"
import { meterReader } from "./Meters.ts"
import type { HistoryQuery, UsageBucket, UsageEventFilters, UsageEventRecord } from "./Model.ts"
import { eventOf } from "./Records.ts"
import { UsageEventsRepo } from "./Repo.ts"
import { voiding } from "./Voiding.ts"

/** The events of usage in the caller's organization. */
export class UsageEvents extends Context.Service<
  UsageEvents,
  {
    /** A page of the events of an entitlement, newest first, voided ones included. */
    readonly list: (
      instance: string,
      entitlement: string,
      request: PageRequest & UsageEventFilters,
    ) => Effect.Effect<Page<UsageEventRecord>, InstanceNotFound | EntitlementNotFound | InvalidCursor, Caller>
    /**
     * Voids an event: usage, thresholds and histories are as if it had never been reported. It can be reported again.
     */
    readonly void: (
      instance: string,
      entitlement: string,
      id: string,
    ) => Effect.Effect<void, InstanceNotFound | EntitlementNotFound | UsageEventNotFound, Caller>
    /** The usage in each bucket of a time, and how many events it has. */
    readonly history: (
      instance: string,
      entitlement: string,
      query: HistoryQuery,
    ) => Effect.Effect<
      { readonly items: ReadonlyArray<UsageBucket> },
      ValidationFailed | InstanceNotFound | EntitlementNotFound,
      Caller
    >
  }
>()("keyshelf/usage/history/UsageEvents") {
  static readonly layer = Layer.suspend(() => Layer.effect(UsageEvents, make))
}

const make = Effect.gen(function* () {
  const repo = yield* UsageEventsRepo
  const cursors = yield* Cursors
  const meterOf = yield* meterReader

  const list = Effect.fn("UsageEvents.list")(function* (
    instance: string,
    entitlement: string,
    { since, until, ...request }: PageRequest & UsageEventFilters,
  ) {
    const meter = yield* meterOf(instance, entitlement)
    const { entitlementId, instanceId, organizationId } = meter
    const filters = { ...(since === undefined ? {} : { since }), ...(until === undefined ? {} : { until }) }
    const page = yield* cursors.page(
      { name: "usage-events", organizationId, filters: { instanceId, entitlementId, ...filters } },
      request,
      (after, count) => repo.list(meter, filters, after, count),
      ({ ordinal, periodStart, timestamp }) => [periodStart.getTime(), timestamp.getTime(), ordinal],
    )
    return { ...page, items: page.items.map((row) => eventOf(meter, row)) }
  })

  return { list, void: yield* voiding, history: yield* historyReader }
})
