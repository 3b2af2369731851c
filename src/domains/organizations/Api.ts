/** Platform endpoints of organizations. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Created, Idempotency, idempotencyHeaders, RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
import { rewritable } from "../../kernel/contract/Rewritable.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import {
  CreateOrganizationExternalIdTaken,
  CreateOrganizationSlugTaken,
  OrganizationNotFound,
  UpdateOrganizationExternalIdTaken,
} from "./Errors.ts"
import { CreateOrganization, Organization, UpdateOrganization } from "./Model.ts"

const organization = { orgId: Uuid }

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
      success: Created(Organization),
      error: [CreateOrganizationSlugTaken, CreateOrganizationExternalIdTaken],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:organizations")
      .annotateMerge(exampleBody({ name: "Acme", slug: "acme", externalId: "crm-1017" }))
      .annotateMerge(OpenApi.annotations({ summary: "Create an organization" })),
    HttpApiEndpoint.get("get", "/platform/organizations/:orgId", {
      params: organization,
      success: Organization,
      error: OrganizationNotFound,
    })
      .annotate(RequiredScope, "read:organizations")
      .annotateMerge(OpenApi.annotations({ summary: "Read an organization" })),
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
  )
  .annotateMerge(OpenApi.annotations({ title: "Organizations", description: "The tenants of this installation." })) {}
