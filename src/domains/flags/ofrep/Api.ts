/** Endpoints of OFREP, by which OpenFeature providers evaluate flags. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Idempotency, idempotencyHeaders, RequiredScope } from "../../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../../kernel/contract/Example.ts"
import { BulkEvaluation, EvaluationRequest, EvaluationSuccess, failures } from "./Model.ts"

export class OfrepApi extends HttpApiGroup.make("ofrep")
  .add(
    HttpApiEndpoint.post("evaluate", "/ofrep/v1/evaluate/flags/:key", {
      params: { key: Schema.String },
      headers: idempotencyHeaders,
      payload: EvaluationRequest,
      success: EvaluationSuccess,
      error: [failures.evaluation, failures.notFound],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "read:feature_flags")
      .annotateMerge(exampleBody({ context: { targetingKey: "globex-prod", plan: "pro" } }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Evaluate a flag",
          description:
            "Changes nothing. The flag `entitlement.<slug>` is the entitlement of the instance that the targeting key names: access, what is left (-1 when unlimited), or the configuration. An answer without `value` asks for the default in the code.",
        }),
      ),
    HttpApiEndpoint.post("evaluateAll", "/ofrep/v1/evaluate/flags", {
      headers: {
        ...idempotencyHeaders,
        "if-none-match": Schema.optionalKey(Schema.String).annotate({ description: "`ETag` of the answer at hand" }),
      },
      payload: EvaluationRequest,
      success: [
        HttpApiSchema.WithHeaders(BulkEvaluation, { etag: Schema.String }),
        HttpApiSchema.WithHeaders(HttpApiSchema.Empty(304), { etag: Schema.String }),
      ],
      error: failures.bulk,
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "read:feature_flags")
      .annotateMerge(exampleBody({ context: { targetingKey: "globex-prod", plan: "pro" } }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Evaluate all flags",
          description:
            "Changes nothing. By key; a flag that cannot be evaluated carries its own error. The entitlements are among them if the targeting key is the slug of an instance.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Flag evaluation",
      description: "OFREP, the OpenFeature Remote Evaluation Protocol. Its refusals (400, 404) have its own bodies.",
    }),
  ) {}
