/** Endpoints of the events of usage, and of its history. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { OpenToLicenseKeys, ReadsMany, RequiredScope } from "../../../kernel/contract/Endpoint.ts"
import { Page, pageQuery } from "../../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { PathName } from "../../../kernel/values/Text.ts"
import { EntitlementNotFound } from "../../entitlements/Errors.ts"
import { InstanceNotFound } from "../../instances/Errors.ts"
import { UsageEventNotFound } from "../Errors.ts"
import { historyQuery, usageEventFilters, UsageEventRecord, UsageHistory } from "./Model.ts"

const meter = { instanceSlug: PathName, entitlementSlug: PathName }
const PATH = "/instances/:instanceSlug/entitlements/:entitlementSlug/usage"

export class UsageEventsApi extends HttpApiGroup.make("usageEvents")
  .add(
    HttpApiEndpoint.get("list", `${PATH}/events`, {
      params: meter,
      query: { ...pageQuery, ...usageEventFilters },
      success: Page(UsageEventRecord),
      error: [InstanceNotFound, EntitlementNotFound, InvalidCursor],
    })
      .annotate(RequiredScope, "read:instances")
      .annotate(OpenToLicenseKeys, "by-path")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List the events of usage",
          description:
            "What was reported, consumed and committed, newest first, with voided events. Events of months that the installation no longer stores are not in it.",
        }),
      ),
    HttpApiEndpoint.delete("void", `${PATH}/events/:eventId`, {
      params: { ...meter, eventId: Schema.String },
      success: HttpApiSchema.NoContent,
      error: [InstanceNotFound, EntitlementNotFound, UsageEventNotFound],
    })
      .annotate(RequiredScope, "write:licenses")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "voidUsageEvent",
          summary: "Void an event of usage",
          description:
            "The event no longer counts. The usage of its period is recomputed without it, for every aggregation. The event stays in the list with `voidedAt` and `voidedBy`, and its transaction id cannot be used again. An event of a month that is no longer stored is not found (404).",
        }),
      ),
    HttpApiEndpoint.get("history", `${PATH}/history`, {
      params: meter,
      query: historyQuery,
      success: UsageHistory,
      error: [InstanceNotFound, EntitlementNotFound, ValidationFailed],
    })
      .annotate(RequiredScope, "read:instances")
      .annotate(OpenToLicenseKeys, "by-path")
      .annotate(ReadsMany, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getUsageHistory",
          summary: "Read the history of usage",
          description:
            "Usage in buckets of an hour, a day or a month in UTC. A bucket is the aggregation of its own events: for `AVERAGE` the mean, for `LATEST` the last value, for `UNIQUE_COUNT` the distinct keys. Of a `SUM` or a `COUNT`, the buckets of a period add up to its total: what a later `set` replaced counts as 0. Of months whose events are no longer stored, `DAY` and `MONTH` are answered from sums of days; `HOUR` is 422 at `query.bucket`.",
        }),
      ),
  )
  .annotateMerge(OpenApi.annotations({ title: "Usage events", description: "Usage that can be seen and mended." })) {}
