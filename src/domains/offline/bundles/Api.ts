/** Endpoints of offline bundles. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  Created,
  Idempotency,
  idempotencyHeaders,
  OpenToLicenseKeys,
  RequiredScope,
} from "../../../kernel/contract/Endpoint.ts"
import { DryRunImpact, DryRunOf, dryRunQuery, DryRuns } from "../../../kernel/contract/dryruns/DryRun.ts"
import { RevocationImpact } from "../../../kernel/contract/dryruns/ImpactModels.ts"
import { exampleBody } from "../../../kernel/contract/Example.ts"
import { Page, pageQuery } from "../../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { Uuid } from "../../../kernel/values/Identifiers.ts"
import { PathName } from "../../../kernel/values/Text.ts"
import { InstanceNotFound } from "../../instances/Errors.ts"
import { IssueOfflineBundleLicenseEnded, IssueOfflineBundleLimitReached, OfflineBundleNotFound } from "../Errors.ts"
import { IssuedOfflineBundle, IssueOfflineBundle, OfflineBundle } from "./Model.ts"

const instance = { instanceSlug: PathName }
const bundle = { ...instance, bundleId: Uuid.annotate({ description: "Id of the offline bundle" }) }

const RevocationDryRun = DryRunOf("OfflineBundleRevocation", {
  status: 204,
  body: Schema.Null,
  impact: RevocationImpact,
})

export class OfflineBundlesApi extends HttpApiGroup.make("offlineBundles")
  .add(
    HttpApiEndpoint.post("issue", "/instances/:instanceSlug/offline-bundles", {
      params: instance,
      headers: idempotencyHeaders,
      payload: [IssueOfflineBundle, Schema.Undefined],
      success: Created(IssuedOfflineBundle),
      error: [InstanceNotFound, IssueOfflineBundleLicenseEnded, IssueOfflineBundleLimitReached, ValidationFailed],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:licenses")
      .annotateMerge(exampleBody({ ttlSeconds: 2_592_000, graceSeconds: 604_800, context: { region: "eu" } }))
      .annotateMerge(
        OpenApi.annotations({
          identifier: "issueOfflineBundle",
          summary: "Issue an offline bundle",
          description:
            "Signs what the instance is granted, for a product without a network. It replaces the bundle before. It is valid until `ttlSeconds` and `graceSeconds` have passed, at most until the license and its grace period end, and allows no more than checks of that time would, by what is known now: of an override that begins or ends meanwhile, the lower limit counts. Seats (`CONCURRENT`) are not in it. An allowance reserves units for the site in each period that the life of the bundle touches: nothing else can use them until the usage was uploaded, the bundle is released or `usageUntil` has passed. Of several open allowances of an entitlement, the greatest counts. It must fit beside what is used and reserved in this period, and reserved in the next one. 422 if the bundle would have more than 262,144 characters. The body is optional.",
        }),
      ),
    HttpApiEndpoint.get("list", "/instances/:instanceSlug/offline-bundles", {
      params: instance,
      query: pageQuery,
      success: Page(OfflineBundle),
      error: [InstanceNotFound, InvalidCursor],
    })
      .annotate(RequiredScope, "read:licenses")
      .annotate(OpenToLicenseKeys, "by-path")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listOfflineBundles",
          summary: "List the offline bundles of an instance",
          description:
            "Newest first, without the bundles' texts. They stay until their usage can no longer be uploaded.",
        }),
      ),
    HttpApiEndpoint.get("get", "/instances/:instanceSlug/offline-bundles/:bundleId", {
      params: bundle,
      success: IssuedOfflineBundle,
      error: [InstanceNotFound, OfflineBundleNotFound],
    })
      .annotate(RequiredScope, "read:licenses")
      .annotate(OpenToLicenseKeys, "by-path")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getOfflineBundle",
          summary: "Read an offline bundle",
          description: "With its text. A license key reads those of its own instance.",
        }),
      ),
    HttpApiEndpoint.delete("revoke", "/instances/:instanceSlug/offline-bundles/:bundleId", {
      params: bundle,
      query: {
        ...dryRunQuery,
        release: Schema.optionalKey(
          Schema.Literals(["true", "false"]).annotate({
            description: "Whether its allowances end at once: only if the site can use them no more",
          }),
        ),
      },
      success: [HttpApiSchema.NoContent, RevocationDryRun],
      error: [InstanceNotFound, OfflineBundleNotFound],
    })
      .middleware(DryRuns)
      .annotate(DryRunImpact, "revocation")
      .annotate(RequiredScope, "write:licenses")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "revokeOfflineBundle",
          summary: "Revoke an offline bundle",
          description:
            "Voids it and all bundles of the instance before it: they are on the revocation list until they have expired. Sites learn it when they read the list. The record stays. Its allowances stay reserved, because the site may have used them, unless `release` is `true`: that ends those of this bundle. Revoking a revoked bundle has no effect, releasing one has.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Offline bundles",
      description: "Signed snapshots of instances, for products without a network.",
    }),
  ) {}
