/** Endpoints of entitlement groups. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { EntitlementNotFound } from "../entitlements/Errors.ts"
import { Created, Idempotency, idempotencyHeaders, RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
import { rewritable } from "../../kernel/contract/Rewritable.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { PathName } from "../../kernel/values/Text.ts"
import { CreateEntitlementGroupSlugTaken, EntitlementGroupNotFound } from "./Errors.ts"
import { AttachEntitlement, CreateEntitlementGroup, EntitlementGroup, UpdateEntitlementGroup } from "./Model.ts"

const group = { entitlementGroupSlug: PathName }

export class EntitlementGroupsApi extends HttpApiGroup.make("entitlementGroups")
  .add(
    HttpApiEndpoint.get("list", "/entitlement-groups", {
      query: pageQuery,
      success: Page(EntitlementGroup),
      error: InvalidCursor,
    })
      .annotate(RequiredScope, "read:entitlements")
      .annotateMerge(OpenApi.annotations({ summary: "List entitlement groups", description: "Newest first." })),
    HttpApiEndpoint.post("create", "/entitlement-groups", {
      headers: idempotencyHeaders,
      payload: CreateEntitlementGroup,
      success: Created(EntitlementGroup),
      error: CreateEntitlementGroupSlugTaken,
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:entitlements")
      .annotateMerge(exampleBody({ name: "Team features" }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create an entitlement group",
          description: "Creates a group without entitlements. If `slug` is omitted, it is generated from the name.",
        }),
      ),
    HttpApiEndpoint.get("get", "/entitlement-groups/:entitlementGroupSlug", {
      params: group,
      success: EntitlementGroup,
      error: EntitlementGroupNotFound,
    })
      .annotate(RequiredScope, "read:entitlements")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read an entitlement group",
          description: "Returns the group with the slugs of its entitlements, by display order.",
        }),
      ),
    HttpApiEndpoint.put("update", "/entitlement-groups/:entitlementGroupSlug", {
      params: group,
      payload: rewritable(EntitlementGroup, UpdateEntitlementGroup),
      success: HttpApiSchema.NoContent,
      error: [EntitlementGroupNotFound, ValidationFailed],
    })
      .annotate(RequiredScope, "write:entitlements")
      .annotateMerge(exampleBody({ description: "Features for teams" }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Update an entitlement group",
          description: "Omitted properties stay unchanged.",
        }),
      ),
    HttpApiEndpoint.delete("delete", "/entitlement-groups/:entitlementGroupSlug", {
      params: group,
      success: HttpApiSchema.NoContent,
      error: EntitlementGroupNotFound,
    })
      .annotate(RequiredScope, "write:entitlements")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Delete an entitlement group",
          description: "Its entitlements are not deleted.",
        }),
      ),
    HttpApiEndpoint.post("attach", "/entitlement-groups/:entitlementGroupSlug/entitlements", {
      params: group,
      headers: idempotencyHeaders,
      payload: AttachEntitlement,
      success: HttpApiSchema.NoContent,
      error: [EntitlementGroupNotFound, ValidationFailed],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:entitlements")
      .annotateMerge(exampleBody({ entitlementSlug: "api-calls" }))
      .annotateMerge(
        OpenApi.annotations({
          identifier: "addEntitlementToGroup",
          summary: "Add an entitlement to a group",
          description: "An entitlement can be in any number of groups. Adding it again has no effect.",
        }),
      ),
    HttpApiEndpoint.delete("detach", "/entitlement-groups/:entitlementGroupSlug/entitlements/:entitlementSlug", {
      params: { ...group, entitlementSlug: PathName },
      success: HttpApiSchema.NoContent,
      error: [EntitlementGroupNotFound, EntitlementNotFound],
    })
      .annotate(RequiredScope, "write:entitlements")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "removeEntitlementFromGroup",
          summary: "Remove an entitlement from a group",
          description: "Has no effect if the entitlement is not in the group.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Entitlement groups",
      description: "Sets of entitlements whose usage is read in one request.",
    }),
  ) {}
