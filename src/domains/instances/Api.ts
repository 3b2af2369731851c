/** Endpoints of instances. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ConnectorNotActive } from "../connectors/Errors.ts"
import { CreateIntegrationExternalIdTaken } from "../customers/Errors.ts"
import {
  Created,
  Idempotency,
  idempotencyHeaders,
  OpenToLicenseKeys,
  RequiredScope,
} from "../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
import { rewritable } from "../../kernel/contract/Rewritable.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { DryRunImpact, DryRunOf, DryRuns, dryRunQuery } from "../../kernel/contract/dryruns/DryRun.ts"
import { InstanceDeletionImpact, ChangingImpact } from "../../kernel/contract/dryruns/ImpactModels.ts"
import { PathName } from "../../kernel/values/Text.ts"
import {
  CreateInstanceLicenseArchived,
  CreateInstanceSlugTaken,
  InstanceNotFound,
  UpdateInstanceLicenseArchived,
} from "./Errors.ts"
import { CreateInstance, Instance, instanceFilters, UpdateInstance } from "./Model.ts"

const instance = { instanceSlug: PathName }

const InstanceChangeDryRun = DryRunOf("InstanceChange", { status: 200, body: Instance, impact: ChangingImpact })
const InstanceDeletionDryRun = DryRunOf("InstanceDeletion", {
  status: 204,
  body: Schema.Null,
  impact: InstanceDeletionImpact,
})

export class InstancesApi extends HttpApiGroup.make("instances")
  .add(
    HttpApiEndpoint.get("list", "/instances", {
      query: { ...pageQuery, ...instanceFilters },
      success: Page(Instance),
      error: InvalidCursor,
    })
      .annotate(RequiredScope, "read:instances")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List instances",
          description: "Newest first. A filter that matches no record returns an empty page.",
        }),
      ),
    HttpApiEndpoint.post("create", "/instances", {
      headers: idempotencyHeaders,
      payload: CreateInstance,
      success: Created(Instance),
      error: [
        CreateInstanceSlugTaken,
        CreateInstanceLicenseArchived,
        ConnectorNotActive,
        CreateIntegrationExternalIdTaken,
        ValidationFailed,
      ],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:instances")
      .annotateMerge(
        exampleBody({
          name: "Globex production",
          customerSlug: "globex",
          licenseFamilySlug: "pro",
          startLicenseDate: "2026-01-01T00:00:00Z",
          endLicenseDate: "2027-01-01T00:00:00Z",
        }),
      )
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create an instance",
          description:
            "Send exactly one of `customerId` and `customerSlug`, and exactly one of `licenseId`, `licenseSlug` and `licenseFamilySlug`. A family resolves to its current version. Draft versions can be assigned, archived versions cannot. `endLicenseDate` must be after `startLicenseDate`. If `slug` is omitted, it is generated from the name. `integrations` creates integration records with it, all or none; their connectors must be registered and active.",
        }),
      ),
    HttpApiEndpoint.get("get", "/instances/:instanceSlug", {
      params: instance,
      success: Instance,
      error: InstanceNotFound,
    })
      .annotate(RequiredScope, "read:instances")
      .annotate(OpenToLicenseKeys, "by-path")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read an instance",
          description:
            "Returns the instance with its license version and its integration records. To see what it may use now, check it.",
        }),
      ),
    HttpApiEndpoint.patch("update", "/instances/:instanceSlug", {
      params: instance,
      payload: rewritable(Instance, UpdateInstance),
      query: dryRunQuery,
      success: [Instance, InstanceChangeDryRun],
      error: [InstanceNotFound, UpdateInstanceLicenseArchived, ValidationFailed],
    })
      .middleware(DryRuns)
      .annotate(RequiredScope, "write:instances")
      .annotate(DryRunImpact, "instance")
      .annotateMerge(exampleBody({ endLicenseDate: "2028-01-01T00:00:00Z" }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Update an instance",
          description:
            "Omitted properties stay unchanged; `null` clears `description`, `deploymentZoneId`, `endMaintenanceDate` or `metadata`. An instance keeps its license version when that version is archived. Assigning another archived version is rejected with 409. The slug is immutable.",
        }),
      ),
    HttpApiEndpoint.delete("delete", "/instances/:instanceSlug", {
      params: instance,
      query: dryRunQuery,
      success: [HttpApiSchema.NoContent, InstanceDeletionDryRun],
      error: InstanceNotFound,
    })
      .middleware(DryRuns)
      .annotate(RequiredScope, "write:instances")
      .annotate(DryRunImpact, "instance-deletion")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Delete an instance",
          description: "Also deletes its usage and its integration records.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Instances",
      description: "What customers run. Each instance has a license version with a start and an end date.",
    }),
  ) {}
