/** Endpoints of grants. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { EntitlementNotFound } from "../../entitlements/Errors.ts"
import { Created, Idempotency, idempotencyHeaders, RequiredScope } from "../../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../../kernel/contract/Example.ts"
import { rewritable } from "../../../kernel/contract/Rewritable.ts"
import { Page, pageQuery } from "../../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { DryRunImpact, DryRunOf, DryRuns, dryRunQuery } from "../../../kernel/contract/dryruns/DryRun.ts"
import { ChangingImpact } from "../../../kernel/contract/dryruns/ImpactModels.ts"
import { PathName } from "../../../kernel/values/Text.ts"
import { AssignLicenseEntitlementAlreadyAssigned, LicenseNotFound } from "../Errors.ts"
import { CreateGrant, Grant, UpdateGrant } from "../Model.ts"

const license = { licenseSlug: PathName }
const grant = { ...license, entitlementSlug: PathName }

const AssignGrantDryRun = DryRunOf("AssignGrant", { status: 201, body: Grant, impact: ChangingImpact })
const GrantChangeDryRun = DryRunOf("GrantChange", { status: 204, body: Schema.Null, impact: ChangingImpact })

export class LicenseEntitlementsApi extends HttpApiGroup.make("licenseEntitlements")
  .add(
    HttpApiEndpoint.get("list", "/licenses/:licenseSlug/entitlements", {
      params: license,
      query: pageQuery,
      success: Page(Grant),
      error: [LicenseNotFound, InvalidCursor],
    })
      .annotate(RequiredScope, "read:licenses")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List the grants of a license",
          description: "Sorted by `displayOrder` of the entitlement, then oldest entitlement first.",
        }),
      ),
    HttpApiEndpoint.post("assign", "/licenses/:licenseSlug/entitlements", {
      headers: idempotencyHeaders,
      params: license,
      payload: CreateGrant,
      query: dryRunQuery,
      success: [Created(Grant), AssignGrantDryRun],
      error: [LicenseNotFound, AssignLicenseEntitlementAlreadyAssigned, ValidationFailed],
    })
      .middleware(Idempotency)
      .middleware(DryRuns)
      .annotate(RequiredScope, "write:licenses")
      .annotate(DryRunImpact, "grant")
      .annotateMerge(exampleBody({ entitlementSlug: "api-calls", value: 1000, overagePercent: 10 }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Grant an entitlement",
          description:
            "`value` must match the entitlement type: a number of at most 18 digits (`-1` is unlimited), a boolean or an object. Only numbers can have an overage. Grants can be changed in any lifecycle state. A change applies to all instances of the license.",
        }),
      ),
    HttpApiEndpoint.put("update", "/licenses/:licenseSlug/entitlements/:entitlementSlug", {
      params: grant,
      payload: rewritable(Grant, UpdateGrant),
      query: dryRunQuery,
      success: [HttpApiSchema.NoContent, GrantChangeDryRun],
      error: [LicenseNotFound, EntitlementNotFound, ValidationFailed],
    })
      .middleware(DryRuns)
      .annotate(RequiredScope, "write:licenses")
      .annotate(DryRunImpact, "grant")
      .annotateMerge(exampleBody({ value: 2000 }))
      .annotateMerge(
        OpenApi.annotations({ summary: "Update a grant", description: "Omitted properties stay unchanged." }),
      ),
    HttpApiEndpoint.delete("unassign", "/licenses/:licenseSlug/entitlements/:entitlementSlug", {
      params: grant,
      query: dryRunQuery,
      success: [HttpApiSchema.NoContent, GrantChangeDryRun],
      error: [LicenseNotFound, EntitlementNotFound],
    })
      .middleware(DryRuns)
      .annotate(RequiredScope, "write:licenses")
      .annotate(DryRunImpact, "grant")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Remove an entitlement from a license",
          description:
            "Checks of all instances of the license deny the entitlement at once, unless an override grants it. Their usage is retained.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "License entitlements",
      description: "The entitlements that a license grants, with their values.",
    }),
  ) {}
