/** Endpoints of deployment zones. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Created, Idempotency, idempotencyHeaders, RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
import { rewritable } from "../../kernel/contract/Rewritable.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { DryRunImpact, DryRunOf, dryRunQuery, DryRuns } from "../../kernel/contract/dryruns/DryRun.ts"
import { DeploymentImpact } from "../../kernel/contract/dryruns/Impact.ts"
import { DeletionDryRun } from "../../kernel/contract/dryruns/ImpactModels.ts"
import { PathName } from "../../kernel/values/Text.ts"
import {
  CreateDeploymentZoneSlugTaken,
  DeleteDeploymentZoneInUse,
  DeploymentZoneNotFound,
  UpdateDeploymentZoneReleaseNotAllowed,
} from "./Errors.ts"
import { CreateDeploymentZone, Deployment, DeploymentZone, UpdateDeploymentZone, zoneFilters } from "./Model.ts"

const zone = { deploymentZoneSlug: PathName }

const DeploymentZoneChangeDryRun = DryRunOf("DeploymentZoneChange", {
  status: 204,
  body: Schema.Null,
  impact: DeploymentImpact,
})

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
            "A zone is a place where a customer runs a release. `releaseId` or `releaseSlug` records the first deployment. Each key of `metadata` must be the key of a metadata field for deployment zones.",
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
      query: dryRunQuery,
      success: [HttpApiSchema.NoContent, DeploymentZoneChangeDryRun],
      error: [DeploymentZoneNotFound, UpdateDeploymentZoneReleaseNotAllowed, ValidationFailed],
    })
      .middleware(DryRuns)
      .annotate(RequiredScope, "write:deployment_zones")
      .annotate(DryRunImpact, "deployment")
      .annotateMerge(exampleBody({ releaseId: "01a1fe56-aaf8-74c8-a331-6d16e44e9843" }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Update a deployment zone",
          description:
            "Omitted properties stay unchanged. `metadata` is replaced as a whole. `null` clears `description`, `metadata` or `releaseId`. A different `releaseId` or `releaseSlug` records a deployment in the zone's history, including a rollback. The current release and `null` record none. If instances of the zone may not have an offered release, its event `RELEASE_DEPLOYED` names them; with `releaseAccess` `REFUSE` the deployment is rejected with 409 instead.",
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
