/** Endpoints of customers. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ConnectorNotActive } from "../connectors/Errors.ts"
import { Created, Idempotency, idempotencyHeaders, RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
import { rewritable } from "../../kernel/contract/Rewritable.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { DryRunImpact, dryRunQuery, DryRuns } from "../../kernel/contract/dryruns/DryRun.ts"
import { DeletionDryRun } from "../../kernel/contract/dryruns/ImpactModels.ts"
import { PathName } from "../../kernel/values/Text.ts"
import {
  CreateCustomerExternalIdTaken,
  CreateCustomerSlugTaken,
  CreateIntegrationExternalIdTaken,
  CustomerNotFound,
  DeleteCustomerInUse,
  UpdateCustomerExternalIdTaken,
} from "./Errors.ts"
import { CreateCustomer, Customer, customerFilters, UpdateCustomer } from "./Model.ts"

const customer = { customerSlug: PathName }

export class CustomersApi extends HttpApiGroup.make("customers")
  .add(
    HttpApiEndpoint.get("list", "/customers", {
      query: { ...pageQuery, ...customerFilters },
      success: Page(Customer),
      error: InvalidCursor,
    })
      .annotate(RequiredScope, "read:customers")
      .annotateMerge(OpenApi.annotations({ summary: "List customers", description: "Newest first." })),
    HttpApiEndpoint.post("create", "/customers", {
      headers: idempotencyHeaders,
      payload: CreateCustomer,
      success: Created(Customer),
      error: [
        CreateCustomerSlugTaken,
        CreateCustomerExternalIdTaken,
        ConnectorNotActive,
        CreateIntegrationExternalIdTaken,
        ValidationFailed,
      ],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:customers")
      .annotateMerge(exampleBody({ name: "Globex", slug: "globex", domain: "globex.example" }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a customer",
          description:
            "`externalCustomerId` must be unique in the organization. If `slug` is omitted, it is generated from the name. `integrations` creates integration records with it, all or none; their connectors must be registered and active.",
        }),
      ),
    HttpApiEndpoint.get("get", "/customers/:customerSlug", {
      params: customer,
      success: Customer,
      error: CustomerNotFound,
    })
      .annotate(RequiredScope, "read:customers")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a customer",
          description: "Returns the customer with its integration records by connector.",
        }),
      ),
    HttpApiEndpoint.patch("update", "/customers/:customerSlug", {
      params: customer,
      payload: rewritable(Customer, UpdateCustomer),
      success: Customer,
      error: [CustomerNotFound, UpdateCustomerExternalIdTaken, ValidationFailed],
    })
      .annotate(RequiredScope, "write:customers")
      .annotateMerge(exampleBody({ domain: null, externalCustomerId: "crm-4711" }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Update a customer",
          description:
            "Omitted properties stay unchanged; `null` clears `domain` or `externalCustomerId`. The slug is immutable.",
        }),
      ),
    HttpApiEndpoint.delete("delete", "/customers/:customerSlug", {
      params: customer,
      query: dryRunQuery,
      success: [HttpApiSchema.NoContent, DeletionDryRun],
      error: [CustomerNotFound, DeleteCustomerInUse],
    })
      .middleware(DryRuns)
      .annotate(RequiredScope, "write:customers")
      .annotate(DryRunImpact, "deletion")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Delete a customer",
          description: "Rejected with 409 while the customer has instances.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Customers",
      description: "The customers of your organization, to whom you issue licenses.",
    }),
  ) {}
