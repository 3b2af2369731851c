/** Endpoints of releases. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Created, Idempotency, idempotencyHeaders, RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { DryRunImpact, DryRunOf, dryRunQuery, DryRuns } from "../../kernel/contract/dryruns/DryRun.ts"
import { DeletionDryRun, ReleaseAccessImpact } from "../../kernel/contract/dryruns/ImpactModels.ts"
import { PathName } from "../../kernel/values/Text.ts"
import { CreateReleaseSlugTaken, DeleteReleaseDeployed, ReleaseNotFound } from "./Errors.ts"
import { CreateRelease, Release, ReleaseAccess, releaseFilters, UpdateReleaseAccess } from "./Model.ts"

const release = { releaseSlug: PathName }

const ReleaseAccessDryRun = DryRunOf("ReleaseAccess", {
  status: 200,
  body: ReleaseAccess,
  impact: ReleaseAccessImpact,
})

export class ReleasesApi extends HttpApiGroup.make("releases")
  .add(
    HttpApiEndpoint.get("list", "/releases", {
      query: { ...pageQuery, ...releaseFilters },
      success: Page(Release),
      error: InvalidCursor,
    })
      .annotate(RequiredScope, "read:releases")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List releases",
          description:
            "Those created last first. A filter that matches no record returns an empty page. What an instance may have is `GET /instances/{instanceSlug}/releases`.",
        }),
      ),
    HttpApiEndpoint.post("create", "/releases", {
      headers: idempotencyHeaders,
      payload: CreateRelease,
      success: Created(Release),
      error: [CreateReleaseSlugTaken, ValidationFailed],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:releases")
      .annotateMerge(
        exampleBody({
          version: "2026.1",
          description: "January",
          componentIds: ["01a1fe56-aaf8-74c8-a331-6d16e44e9843"],
          access: { offered: true },
        }),
      )
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a release",
          description:
            "Links up to 200 different components in the order of `componentIds` or `componentSlugs`. A release is immutable: to correct one, delete it and create another. Only who may have it can change: `access`, by default not offered to customers. If `slug` is omitted, it is generated from the version.",
        }),
      ),
    HttpApiEndpoint.get("get", "/releases/:releaseSlug", {
      params: release,
      success: Release,
      error: ReleaseNotFound,
    })
      .annotate(RequiredScope, "read:releases")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a release",
          description: "Returns the release with its components in their order.",
        }),
      ),
    HttpApiEndpoint.put("updateAccess", "/releases/:releaseSlug/access", {
      params: release,
      payload: UpdateReleaseAccess,
      query: dryRunQuery,
      success: [ReleaseAccess, ReleaseAccessDryRun],
      error: [ReleaseNotFound, ValidationFailed],
    })
      .middleware(DryRuns)
      .annotate(RequiredScope, "write:releases")
      .annotate(DryRunImpact, "release-access")
      .annotateMerge(exampleBody({ withdrawn: true, withdrawnReason: "Loses data on ARM. Use 2026.2." }))
      .annotateMerge(
        OpenApi.annotations({
          identifier: "updateReleaseAccess",
          summary: "Change who may have a release",
          description:
            "Omitted properties stay unchanged. `offered` makes the release known to customers. `entitlements` replaces what a license must grant. `withdrawn` with a reason stops everybody from getting it from now on, and `false` undoes that. Use a dry run to see for which instances the decision turns.",
        }),
      ),
    HttpApiEndpoint.delete("delete", "/releases/:releaseSlug", {
      params: release,
      query: dryRunQuery,
      success: [HttpApiSchema.NoContent, DeletionDryRun],
      error: [ReleaseNotFound, DeleteReleaseDeployed],
    })
      .middleware(DryRuns)
      .annotate(RequiredScope, "write:releases")
      .annotate(DryRunImpact, "deletion")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Delete a release",
          description:
            "Rejected with 409 while a deployment zone runs it. Past deployments do not prevent deletion: the deployment history retains the slug and the version.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Releases", description: "Immutable sets of components that are deployed together." }),
  ) {}
