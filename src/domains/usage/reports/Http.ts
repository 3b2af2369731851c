/** Handlers of usage reports and CloudEvents. */
import { Effect } from "effect"
import * as Apis from "../../../kernel/contract/Apis.ts"
import { handlersOf } from "../../../kernel/contract/Handlers.ts"
import { withSentDigits } from "../../../kernel/values/Decimal.ts"
import { CloudEvents } from "../cloudevents/Service.ts"
import { UsageApi } from "./Api.ts"
import { UsageReports } from "./Service.ts"

export const usage = handlersOf(
  Apis.core(UsageApi),
  "usage",
  Effect.fn(function* (handlers) {
    const reports = yield* UsageReports
    const cloudEvents = yield* CloudEvents
    return handlers.handleAll({
      list: ({ params, query }) => reports.list(params.instanceSlug, query),
      get: ({ params }) => reports.get(params.instanceSlug, params.entitlementSlug),
      report: ({ params, payload }) =>
        Effect.flatMap(withSentDigits(payload, ["value"], ["value", "value"]), (report) =>
          reports.report(params.instanceSlug, params.entitlementSlug, report),
        ),
      ofGroup: ({ params, query }) => reports.ofGroup(params.entitlementGroupSlug, query.instance),
      reportEvents: ({ payload }) =>
        Effect.flatMap(withSentDigits(payload, ["data", "value"]), (sent) =>
          Array.isArray(sent) ? cloudEvents.report(sent) : cloudEvents.reportOne(sent),
        ),
    })
  }),
)
