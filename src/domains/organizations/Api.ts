/** Platform endpoints of organizations. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Created, Idempotency, idempotencyHeaders, RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
import { rewritable } from "../../kernel/contract/Rewritable.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { CreateOrganizationSlugTaken, OrganizationNotFound, UpdateOrganizationExternalIdTaken } from "./Errors.ts"
import { CreateOrganization, Organization, removalConfirmation, UpdateOrganization } from "./Model.ts"

const organization = { orgId: Uuid.annotate({ description: "Id of the organization" }) }

export class OrganizationsApi extends HttpApiGroup.make("organizations")
  .add(
    HttpApiEndpoint.get("list", "/platform/organizations", {
      query: pageQuery,
      success: Page(Organization),
      error: InvalidCursor,
    })
      .annotate(RequiredScope, "read:organizations")
      .annotateMerge(OpenApi.annotations({ summary: "List organizations", description: "Newest first." })),
    HttpApiEndpoint.post("create", "/platform/organizations", {
      headers: idempotencyHeaders,
      payload: CreateOrganization,
      success: [Created(Organization), Organization],
      error: CreateOrganizationSlugTaken,
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:organizations")
      .annotateMerge(exampleBody({ name: "Acme", slug: "acme", externalId: "crm-1017" }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create an organization",
          description:
            "Returns 201 for a new organization. If an organization has this `externalId`, returns it unchanged with 200, so that the request is safe to repeat.",
        }),
      ),
    HttpApiEndpoint.get("get", "/platform/organizations/:orgId", {
      params: organization,
      success: Organization,
      error: OrganizationNotFound,
    })
      .annotate(RequiredScope, "read:organizations")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read an organization",
          description:
            "A removed organization is 404 from the moment of its removal, also while its rows are being deleted.",
        }),
      ),
    HttpApiEndpoint.patch("update", "/platform/organizations/:orgId", {
      params: organization,
      payload: rewritable(Organization, UpdateOrganization),
      success: Organization,
      error: [OrganizationNotFound, UpdateOrganizationExternalIdTaken, ValidationFailed],
    })
      .annotate(RequiredScope, "write:organizations")
      .annotateMerge(exampleBody({ name: "Acme Inc." }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Update an organization",
          description: "Omitted properties stay unchanged; `externalId: null` clears it. The slug is immutable.",
        }),
      ),
    HttpApiEndpoint.delete("delete", "/platform/organizations/:orgId", {
      params: organization,
      query: removalConfirmation,
      success: HttpApiSchema.NoContent,
      error: [OrganizationNotFound, ValidationFailed],
    })
      .annotate(RequiredScope, "delete:organizations")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Remove an organization",
          description:
            "Cannot be undone. All credentials of the organization stop working with their next request, on every node, its webhooks are no longer sent, and it answers like an organization that does not exist. Its records are deleted afterwards, in batches. Its slug and external id can be used again at once.",
        }),
      ),
  )
  .annotateMerge(OpenApi.annotations({ title: "Organizations", description: "The tenants of this installation." })) {}
