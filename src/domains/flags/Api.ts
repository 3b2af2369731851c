/** Endpoints for feature flags and the flag manifest. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Created, Idempotency, idempotencyHeaders, ReadsMany, RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
import { rewritable } from "../../kernel/contract/Rewritable.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { PathName } from "../../kernel/values/Text.ts"
import { CreateFeatureFlagKeyTaken, FeatureFlagNotFound } from "./Errors.ts"
import { CreateFeatureFlag, FeatureFlag, Manifest, UpdateFeatureFlag } from "./Model.ts"

const flag = { key: PathName.annotate({ description: "Key of the flag" }) }

export class FeatureFlagsApi extends HttpApiGroup.make("featureFlags")
  .add(
    HttpApiEndpoint.get("list", "/feature-flags", {
      query: pageQuery,
      success: Page(FeatureFlag),
      error: InvalidCursor,
    })
      .annotate(RequiredScope, "read:feature_flags")
      .annotateMerge(OpenApi.annotations({ summary: "List feature flags", description: "Newest first." })),
    HttpApiEndpoint.post("create", "/feature-flags", {
      headers: idempotencyHeaders,
      payload: CreateFeatureFlag,
      success: Created(FeatureFlag),
      error: [CreateFeatureFlagKeyTaken, ValidationFailed],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:feature_flags")
      .annotateMerge(
        exampleBody({
          key: "new-checkout",
          name: "New checkout",
          type: "boolean",
          enabled: true,
          metadata: { fallback_value: false },
          variants: [
            { name: "on", value: true },
            { name: "off", value: false },
          ],
          defaultVariant: "off",
          targetings: [
            {
              name: "beta",
              conditions: [{ attribute: "plan", operator: "IN", values: ["pro", "enterprise"] }],
              variant: "on",
              percentage: 25,
            },
          ],
        }),
      )
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a feature flag",
          description:
            "All variant values and `metadata.fallback_value` must have the flag's type. Keys that begin with `entitlement.` are reserved for entitlements, which are also served as flags.",
        }),
      ),
    HttpApiEndpoint.get("get", "/feature-flags/:key", {
      params: flag,
      success: FeatureFlag,
      error: FeatureFlagNotFound,
    })
      .annotate(RequiredScope, "read:feature_flags")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a feature flag",
          description:
            "Returns the definition of the flag with its variants and targetings. To get its value for a context, evaluate it.",
        }),
      ),
    HttpApiEndpoint.put("update", "/feature-flags/:key", {
      params: flag,
      payload: rewritable(FeatureFlag, UpdateFeatureFlag),
      success: HttpApiSchema.NoContent,
      error: [FeatureFlagNotFound, ValidationFailed],
    })
      .annotate(RequiredScope, "write:feature_flags")
      .annotateMerge(exampleBody({ enabled: false }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Update a feature flag",
          description:
            "Omitted properties stay unchanged. `null` clears a property or resets it to its default. Lists are replaced as a whole. `key` and `type` cannot be changed.",
        }),
      ),
    HttpApiEndpoint.delete("delete", "/feature-flags/:key", {
      params: flag,
      success: HttpApiSchema.NoContent,
      error: FeatureFlagNotFound,
    })
      .annotate(RequiredScope, "write:feature_flags")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Delete a feature flag",
          description: "Evaluations no longer find the flag, so clients use the default in their code.",
        }),
      ),
    HttpApiEndpoint.get("manifest", "/openfeature/v0/manifest", {
      headers: {
        "if-none-match": Schema.optionalKey(Schema.String).annotate({ description: "`ETag` of the cached manifest" }),
      },
      success: [
        HttpApiSchema.WithHeaders(Manifest, { etag: Schema.String, "x-manifest-capabilities": Schema.String }),
        HttpApiSchema.WithHeaders(HttpApiSchema.Empty(304), { etag: Schema.String }),
      ],
    })
      .annotate(RequiredScope, "read:feature_flags")
      .annotate(ReadsMany, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getFeatureFlagManifest",
          summary: "Read the flag manifest",
          description:
            "Returns the OpenFeature manifest for `openfeature pull`: all flags with a `metadata.fallback_value`, sorted by key. Send the cached `ETag` in `If-None-Match` to get 304 if nothing has changed.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Feature flags",
      description: "Values that products read at run time, with variants and targeting rules.",
    }),
  ) {}
