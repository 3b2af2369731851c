/** Endpoints of deployment zones. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Created, Idempotency, idempotencyHeaders, RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
import { rewritable } from "../../kernel/contract/Rewritable.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { DryRunImpact, dryRunQuery, DryRuns } from "../../kernel/contract/dryruns/DryRun.ts"
import { DeletionDryRun } from "../../kernel/contract/dryruns/ImpactModels.ts"
import { PathName } from "../../kernel/values/Text.ts"
import { CreateDeploymentZoneSlugTaken, DeleteDeploymentZoneInUse, DeploymentZoneNotFound } from "./Errors.ts"
import { CreateDeploymentZone, Deployment, DeploymentZone, UpdateDeploymentZone, zoneFilters } from "./Model.ts"

const zone = { deploymentZoneSlug: PathName }

export class DeploymentZonesApi extends HttpApiGroup.make("deploymentZones")
  .add(
    HttpApiEndpoint.get("list", "/deployment-zones", {
      query: { ...pageQuery, ...zoneFilters },
      success: Page(DeploymentZone),
      error: InvalidCursor,
    })
      .annotate(RequiredScope, "read:deployment_zones")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List deployment zones",
          description: "Newest first. A filter that matches no record returns an empty page.",
        }),
      ),
    HttpApiEndpoint.post("create", "/deployment-zones", {
      headers: idempotencyHeaders,
      payload: CreateDeploymentZone,
      success: Created(DeploymentZone),
      error: [CreateDeploymentZoneSlugTaken, ValidationFailed],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:deployment_zones")
      .annotateMerge(
        exampleBody({ name: "Frankfurt", type: "production", releaseId: "01a1fe56-aaf8-74c8-a331-6d16e44e9843" }),
      )
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a deployment zone",
          description:
            "A zone is a place where a customer runs a release. `releaseId` records the first deployment. Each key of `metadata` must be the key of a metadata field for deployment zones.",
        }),
      ),
    HttpApiEndpoint.get("get", "/deployment-zones/:deploymentZoneSlug", {
      params: zone,
      success: DeploymentZone,
      error: DeploymentZoneNotFound,
    })
      .annotate(RequiredScope, "read:deployment_zones")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a deployment zone",
          description:
            "Returns the zone with the id of the release that it runs, `null` if it runs none. Earlier releases are in its deployment history.",
        }),
      ),
    HttpApiEndpoint.put("update", "/deployment-zones/:deploymentZoneSlug", {
      params: zone,
      payload: rewritable(DeploymentZone, UpdateDeploymentZone),
      success: HttpApiSchema.NoContent,
      error: [DeploymentZoneNotFound, ValidationFailed],
    })
      .annotate(RequiredScope, "write:deployment_zones")
      .annotateMerge(exampleBody({ releaseId: "01a1fe56-aaf8-74c8-a331-6d16e44e9843" }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Update a deployment zone",
          description:
            "Omitted properties stay unchanged. `metadata` is replaced as a whole. `null` clears `description`, `metadata` or `releaseId`. A different `releaseId` records a deployment in the zone's history, including a rollback. The current `releaseId` and `null` record none.",
        }),
      ),
    HttpApiEndpoint.delete("delete", "/deployment-zones/:deploymentZoneSlug", {
      params: zone,
      query: dryRunQuery,
      success: [HttpApiSchema.NoContent, DeletionDryRun],
      error: [DeploymentZoneNotFound, DeleteDeploymentZoneInUse],
    })
      .middleware(DryRuns)
      .annotate(RequiredScope, "write:deployment_zones")
      .annotate(DryRunImpact, "deletion")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Delete a deployment zone",
          description: "Also deletes its deployment history. Rejected with 409 while an instance uses the zone.",
        }),
      ),
    HttpApiEndpoint.get("listDeployments", "/deployment-zones/:deploymentZoneSlug/deployments", {
      params: zone,
      query: pageQuery,
      success: Page(Deployment),
      error: [DeploymentZoneNotFound, InvalidCursor],
    })
      .annotate(RequiredScope, "read:deployment_zones")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listDeployments",
          summary: "List deployments to a zone",
          description: "Newest first. Entries remain after their release is deleted.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Deployment zones",
      description: "The places where customers run releases, with their deployment history.",
    }),
  ) {}
