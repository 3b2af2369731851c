/** Endpoints of usage. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { EntitlementNotFound } from "../../entitlements/Errors.ts"
import { EntitlementGroupNotFound } from "../../groups/Errors.ts"
import { InstanceNotFound } from "../../instances/Errors.ts"
import {
  BinaryEvents,
  Idempotency,
  idempotencyHeaders,
  OpenToLicenseKeys,
  RequiredScope,
} from "../../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../../kernel/contract/Example.ts"
import { Page, pageQuery } from "../../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { PathName } from "../../../kernel/values/Text.ts"
import {
  ReportUsageNotReportable,
  ReportUsageThresholdExceeded,
  ReportUsageTransactionIdReused,
  UsageEventEntitlementNotFound,
  UsageEventInstanceNotFound,
  UsageEventNotReportable,
  UsageEventThresholdExceeded,
} from "../Errors.ts"
import { CloudEvent, CloudEventBatch, CloudEventResults } from "../cloudevents/Model.ts"
import { ReportUsage } from "./Model.ts"
import { UsageEntry } from "../ledger/Model.ts"

const BATCH = "application/cloudevents-batch+json"

const gatewayEvent = {
  specversion: "1.0",
  id: "request-0007",
  source: "/gateways/eu-1",
  subject: "acme-production",
  type: "api-calls",
  time: "2026-11-21T09:30:00Z",
  data: { value: 25 },
}

const instance = { instanceSlug: PathName }
const meter = { ...instance, entitlementSlug: PathName }

export class UsageApi extends HttpApiGroup.make("usage")
  .add(
    HttpApiEndpoint.get("list", "/instances/:instanceSlug/entitlements/usage", {
      params: instance,
      query: pageQuery,
      success: Page(UsageEntry),
      error: [InstanceNotFound, InvalidCursor],
    })
      .annotate(RequiredScope, "read:instances")
      .annotate(OpenToLicenseKeys, "by-path")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List the usage of an instance",
          description: "Returns everything that its license grants, by display order, each in its current period.",
        }),
      ),
    HttpApiEndpoint.get("get", "/instances/:instanceSlug/entitlements/:entitlementSlug/usage", {
      params: meter,
      success: UsageEntry,
      error: [InstanceNotFound, EntitlementNotFound],
    })
      .annotate(RequiredScope, "read:instances")
      .annotate(OpenToLicenseKeys, "by-path")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read the usage of an entitlement",
          description: "Returns the usage in the current period, whether the license grants the entitlement or not.",
        }),
      ),
    HttpApiEndpoint.post("report", "/instances/:instanceSlug/entitlements/:entitlementSlug/usage", {
      params: meter,
      headers: idempotencyHeaders,
      payload: ReportUsage,
      success: UsageEntry,
      error: [
        InstanceNotFound,
        EntitlementNotFound,
        ReportUsageNotReportable,
        ReportUsageThresholdExceeded,
        ReportUsageTransactionIdReused,
        ValidationFailed,
      ],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:instances")
      .annotate(OpenToLicenseKeys, "by-path")
      .annotateMerge(exampleBody({ value: 25, transactionId: "job-2026-11-21-0007" }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Report usage",
          description:
            "Returns the usage of the period of `timestamp`, including this report. Usage above the limit and its overage is rejected and not stored. A report that lowers usage is always accepted, but from a license key it is 403: a negative value, and a `set` to less than what is counted.",
        }),
      ),
    HttpApiEndpoint.get("ofGroup", "/entitlement-groups/:entitlementGroupSlug/usage", {
      params: { entitlementGroupSlug: PathName },
      query: { instance: PathName.annotate({ description: "Slug of the instance" }) },
      success: Schema.Array(UsageEntry),
      error: [EntitlementGroupNotFound, InstanceNotFound],
    })
      .annotate(RequiredScope, "read:entitlements")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getEntitlementGroupUsage",
          summary: "Read the usage of an entitlement group",
          description:
            "Returns all entitlements of the group by display order, granted or not, each in its current period.",
        }),
      ),
    HttpApiEndpoint.post("reportEvents", "/usage-events", {
      headers: idempotencyHeaders,
      payload: [
        CloudEvent.pipe(HttpApiSchema.asJson({ contentType: "application/cloudevents+json" })),
        CloudEventBatch.pipe(HttpApiSchema.asJson({ contentType: BATCH })),
        Schema.Union([CloudEvent, CloudEventBatch]),
      ],
      success: CloudEventResults,
      error: [
        ValidationFailed,
        UsageEventInstanceNotFound,
        UsageEventEntitlementNotFound,
        UsageEventNotReportable,
        UsageEventThresholdExceeded,
      ],
    })
      .middleware(Idempotency)
      .middleware(BinaryEvents)
      .annotate(RequiredScope, "write:instances")
      .annotate(OpenToLicenseKeys, "by-service")
      .annotateMerge(
        exampleBody(gatewayEvent, {
          [BATCH]: [gatewayEvent, { ...gatewayEvent, id: "request-0008", data: { value: 40 } }],
        }),
      )
      .annotateMerge(
        OpenApi.annotations({
          summary: "Report usage as CloudEvents",
          description:
            "Takes one CloudEvent in structured or binary mode, or up to 1,000 in a batch. Each has its own result: `accepted`, `rejected` with the code of its problem, or `duplicate` if an event with the same `source` and `id` was accepted in the last 35 days. An event that is sent alone and rejected is 422 with that code. A negative value from a license key is rejected with `Auth.MissingScope`, alone with 403. In binary mode, `ce-specversion`, `ce-id`, `ce-source`, `ce-type`, `ce-subject` and `ce-time` are headers with percent-encoded values, and the body is `data`.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Usage", description: "What an instance has used of its entitlements." }),
  ) {}
