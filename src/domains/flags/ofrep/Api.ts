/** OFREP endpoints, through which OpenFeature providers evaluate flags. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  Idempotency,
  idempotencyHeaders,
  ReadsMany,
  OpenToLicenseKeys,
  RequiredScope,
} from "../../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../../kernel/contract/Example.ts"
import { BulkEvaluation, EvaluationRequest, EvaluationSuccess, errorResponses } from "./Model.ts"

// OFREP lets providers send what a notice of a change said. Every response is fresh, so the values are not used.
const changeNotice = {
  flagConfigEtag: Schema.optionalKey(
    Schema.String.annotate({ description: "Accepted for OFREP and not used: `if-none-match` decides" }),
  ),
  flagConfigLastModified: Schema.optionalKey(
    Schema.String.annotate({ description: "Accepted for OFREP and not used: every response is fresh" }),
  ),
}

export class OfrepApi extends HttpApiGroup.make("ofrep")
  .add(
    HttpApiEndpoint.post("evaluate", "/ofrep/v1/evaluate/flags/:key", {
      params: { key: Schema.String.annotate({ description: "Key of the flag" }) },
      headers: idempotencyHeaders,
      payload: EvaluationRequest,
      success: EvaluationSuccess,
      error: [errorResponses.evaluation, errorResponses.notFound],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "read:feature_flags")
      .annotate(OpenToLicenseKeys, "by-service")
      .annotateMerge(exampleBody({ context: { targetingKey: "globex-prod", plan: "pro" } }))
      .annotateMerge(
        OpenApi.annotations({
          identifier: "evaluateFlag",
          summary: "Evaluate a flag",
          description:
            "Evaluates a flag for a context and changes nothing. The flag `entitlement.<slug>` returns an entitlement of the instance: access, the remaining amount (-1 if unlimited) or the configuration. The instance is that of the license key, otherwise the one whose slug is `targetingKey`; conditions on `keyshelf` compare its facts. If the response has no `value`, clients use the default in their code.",
        }),
      ),
    HttpApiEndpoint.post("evaluateAll", "/ofrep/v1/evaluate/flags", {
      headers: {
        ...idempotencyHeaders,
        "if-none-match": Schema.optionalKey(Schema.String).annotate({ description: "`ETag` of the cached response" }),
      },
      query: changeNotice,
      payload: EvaluationRequest,
      success: [
        HttpApiSchema.WithHeaders(BulkEvaluation, { etag: Schema.String }),
        HttpApiSchema.WithHeaders(HttpApiSchema.Empty(304), { etag: Schema.String }),
      ],
      error: [errorResponses.bulk],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "read:feature_flags")
      .annotate(OpenToLicenseKeys, "by-service")
      .annotate(ReadsMany, true)
      .annotateMerge(exampleBody({ context: { targetingKey: "globex-prod", plan: "pro" } }))
      .annotateMerge(
        OpenApi.annotations({
          identifier: "evaluateFlags",
          summary: "Evaluate all flags",
          description:
            "Evaluates all flags for a context, sorted by key, and changes nothing. A flag that cannot be evaluated has its own error. The entitlements of the instance are included: that of the license key, otherwise the one whose slug is `targetingKey`, if any.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Flag evaluation",
      description:
        "Evaluation over OFREP, the OpenFeature Remote Evaluation Protocol. Errors with status 400 and 404 have the bodies that OFREP defines.",
    }),
  ) {}
