/** The endpoint of snapshots. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { component } from "../../../kernel/contract/Component.ts"
import { OpenToLicenseKeys, RequiredScope } from "../../../kernel/contract/Endpoint.ts"
import { ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { PathName } from "../../../kernel/values/Text.ts"
import { InstanceNotFound } from "../../instances/Errors.ts"

const cached = { etag: Schema.String, "cache-control": Schema.String }

const Token = Schema.String.annotate({
  ...component("InstanceSnapshot", "eyJ0eXAiOiJrZXlzaGVsZi1idW5kbGUrand0..."),
  description: "A signed JWT with the claims of an offline bundle, and what a connected product needs beside them",
}).pipe(HttpApiSchema.asText({ contentType: "application/jwt" }))

export class SnapshotsApi extends HttpApiGroup.make("snapshots")
  .add(
    HttpApiEndpoint.get("get", "/instances/:instanceSlug/snapshot", {
      params: { instanceSlug: PathName },
      headers: {
        "if-none-match": Schema.optionalKey(Schema.String).annotate({ description: "`ETag` of the snapshot at hand" }),
      },
      success: [HttpApiSchema.WithHeaders(Token, cached), HttpApiSchema.WithHeaders(HttpApiSchema.Empty(304), cached)],
      error: [InstanceNotFound, ValidationFailed],
    })
      .annotate(RequiredScope, "read:instances")
      .annotate(OpenToLicenseKeys, "by-path")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getSnapshot",
          summary: "Read what an instance is granted, signed",
          description:
            "A product decides by it without further requests. It is as new as the request, lives for `away.staleSeconds` of the license version, and has the number of the newest offline bundle. With the scope `read:feature_flags` it has the rules of the feature flags, unless they are longer than 64 KiB. 304 if the snapshot of `if-none-match` says the same and is less than 300 seconds old; changes of usage alone count only where they change an answer. `max-age` says how soon to ask again. Nothing is stored, but the first one creates the organization's signing key. 422 if it would have more than 262,144 characters.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Snapshots",
      description: "What a product needs to decide by itself, also while the service is away.",
    }),
  ) {}
