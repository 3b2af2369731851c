/** Endpoints of entitlements. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Created, Idempotency, idempotencyHeaders, RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
import { rewritable } from "../../kernel/contract/Rewritable.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { DryRunImpact, dryRunQuery, DryRuns } from "../../kernel/contract/dryruns/DryRun.ts"
import { DeletionDryRun } from "../../kernel/contract/dryruns/ImpactModels.ts"
import { PathName } from "../../kernel/values/Text.ts"
import { CreateEntitlementSlugTaken, DeleteEntitlementInUse, EntitlementNotFound } from "./Errors.ts"
import { CreateEntitlement, Entitlement, entitlementFilters, UpdateEntitlement } from "./Model.ts"

const entitlement = { entitlementSlug: PathName }

export class EntitlementsApi extends HttpApiGroup.make("entitlements")
  .add(
    HttpApiEndpoint.get("list", "/entitlements", {
      query: { ...pageQuery, ...entitlementFilters },
      success: Page(Entitlement),
      error: InvalidCursor,
    })
      .annotate(RequiredScope, "read:entitlements")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List entitlements",
          description: "Sorted by `displayOrder`, then oldest first.",
        }),
      ),
    HttpApiEndpoint.post("create", "/entitlements", {
      headers: idempotencyHeaders,
      payload: CreateEntitlement,
      success: Created(Entitlement),
      error: [CreateEntitlementSlugTaken, ValidationFailed],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:entitlements")
      .annotateMerge(
        exampleBody({
          name: "API calls",
          slug: "api-calls",
          type: "NUMBER",
          resetPeriod: "MONTH",
          warningThresholdPercent: 80,
        }),
      )
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create an entitlement",
          description:
            "Only entitlements of the type `NUMBER` are measured. By default they use `SUM`, no reset period and the anchor `CALENDAR`. For other types, `aggregationMethod`, `resetPeriod` and `resetAnchor` are rejected with 422. `CONCURRENT` counts leases, not reports, and has no reset period. `groupSlugs` adds it to groups.",
        }),
      ),
    HttpApiEndpoint.get("get", "/entitlements/:entitlementSlug", {
      params: entitlement,
      success: Entitlement,
      error: EntitlementNotFound,
    })
      .annotate(RequiredScope, "read:entitlements")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read an entitlement",
          description:
            "Returns what can be granted, not who has it: list licenses with the filter `entitlement` to see which grant it.",
        }),
      ),
    HttpApiEndpoint.put("update", "/entitlements/:entitlementSlug", {
      params: entitlement,
      payload: rewritable(Entitlement, UpdateEntitlement),
      success: HttpApiSchema.NoContent,
      error: [EntitlementNotFound, ValidationFailed],
    })
      .annotate(RequiredScope, "write:entitlements")
      .annotateMerge(exampleBody({ name: "API calls", description: "Calls of the public API" }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Update an entitlement",
          description:
            "Omitted properties stay unchanged. `null` resets a property to its default. The slug, the type and the measurement properties are immutable.",
        }),
      ),
    HttpApiEndpoint.delete("delete", "/entitlements/:entitlementSlug", {
      params: entitlement,
      query: dryRunQuery,
      success: [HttpApiSchema.NoContent, DeletionDryRun],
      error: [EntitlementNotFound, DeleteEntitlementInUse],
    })
      .middleware(DryRuns)
      .annotate(RequiredScope, "write:entitlements")
      .annotate(DryRunImpact, "deletion")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Delete an entitlement",
          description:
            "Rejected with 409 while a license grants it, a release requires it or an instance has usage of it.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Entitlements",
      description: "What licenses grant: access, an amount or a configuration.",
    }),
  ) {}
