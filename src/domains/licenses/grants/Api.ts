/** Endpoints of grants. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { EntitlementNotFound } from "../../entitlements/Errors.ts"
import { Created, Idempotency, idempotencyHeaders, RequiredScope } from "../../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../../kernel/contract/Example.ts"
import { rewritable } from "../../../kernel/contract/Rewritable.ts"
import { Page, pageQuery } from "../../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { PathName } from "../../../kernel/values/Text.ts"
import { AssignLicenseEntitlementAlreadyAssigned, LicenseNotFound } from "../Errors.ts"
import { CreateGrant, Grant, UpdateGrant } from "../Model.ts"

const license = { licenseSlug: PathName }
const grant = { ...license, entitlementSlug: PathName }

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
      success: Created(Grant),
      error: [LicenseNotFound, AssignLicenseEntitlementAlreadyAssigned, ValidationFailed],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:licenses")
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
      success: HttpApiSchema.NoContent,
      error: [LicenseNotFound, EntitlementNotFound, ValidationFailed],
    })
      .annotate(RequiredScope, "write:licenses")
      .annotateMerge(exampleBody({ value: 2000 }))
      .annotateMerge(
        OpenApi.annotations({ summary: "Update a grant", description: "Omitted properties stay unchanged." }),
      ),
    HttpApiEndpoint.delete("unassign", "/licenses/:licenseSlug/entitlements/:entitlementSlug", {
      params: grant,
      success: HttpApiSchema.NoContent,
      error: [LicenseNotFound, EntitlementNotFound],
    })
      .annotate(RequiredScope, "write:licenses")
      .annotateMerge(OpenApi.annotations({ summary: "Remove an entitlement from a license" })),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "License entitlements",
      description: "The entitlements that a license grants, with their values.",
    }),
  ) {}
