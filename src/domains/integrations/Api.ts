/** Endpoints of integration records and of upserts by external id. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ConnectorNotActive, ConnectorNotFound } from "../connectors/Errors.ts"
import { ConnectorName } from "../connectors/Model.ts"
import { CreateIntegrationExternalIdTaken, CustomerNotFound } from "../customers/Errors.ts"
import { ExternalId, IntegrationRecord, WriteIntegration } from "../customers/Model.ts"
import { InstanceNotFound } from "../instances/Errors.ts"
import { Created, Idempotency, idempotencyHeaders, RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { PathName } from "../../kernel/values/Text.ts"
import {
  CreateIntegrationAlreadyExists,
  IntegrationRecordNotFound,
  UpdateIntegrationExternalIdTaken,
  UpsertCustomerSlugTaken,
  UpsertInstanceLicenseArchived,
  UpsertInstanceSlugTaken,
} from "./Errors.ts"
import {
  Adapter,
  CustomerUpsertResult,
  InstanceUpsertResult,
  NamedIntegrationRecord,
  UpsertCustomer,
  UpsertInstance,
} from "./Model.ts"

const created = Created(IntegrationRecord)
const connectorRule = "The connector must be registered and active to write; reading and deleting do not require it."
const creation = `${connectorRule} An external id is unique per connector and kind of resource.`
const replacement = `Creates the record or changes it. Omitted properties stay unchanged; \`null\` clears an optional property. \`metadata\` is replaced as a whole. ${creation}`
const listing = "Newest first."
const removal = "Deletes only the record, not the resource that it belongs to."

const ofCustomer = { customerSlug: PathName }
const customerRecord = { ...ofCustomer, integrationName: ConnectorName }

export class CustomerIntegrationsApi extends HttpApiGroup.make("customerIntegrations")
  .add(
    HttpApiEndpoint.get("list", "/customers/:customerSlug/integrations", {
      params: ofCustomer,
      query: pageQuery,
      success: Page(NamedIntegrationRecord),
      error: [CustomerNotFound, InvalidCursor],
    })
      .annotate(RequiredScope, "read:customers")
      .annotateMerge(OpenApi.annotations({ summary: "List a customer's integration records", description: listing })),
    HttpApiEndpoint.get("get", "/customers/:customerSlug/integrations/:integrationName", {
      params: customerRecord,
      success: IntegrationRecord,
      error: [CustomerNotFound, IntegrationRecordNotFound],
    })
      .annotate(RequiredScope, "read:customers")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read an integration record of a customer",
          description:
            "Returns the external id of the customer in the connected system, and when it was last synchronized.",
        }),
      ),
    HttpApiEndpoint.post("create", "/customers/:customerSlug/integrations/:integrationName", {
      headers: idempotencyHeaders,
      params: customerRecord,
      payload: WriteIntegration,
      success: created,
      error: [
        CustomerNotFound,
        ConnectorNotFound,
        ConnectorNotActive,
        CreateIntegrationAlreadyExists,
        CreateIntegrationExternalIdTaken,
      ],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:customers")
      .annotateMerge(exampleBody({ external_id: "0015g00000XyZ12AAB" }))
      .annotateMerge(
        OpenApi.annotations({ summary: "Create an integration record of a customer", description: creation }),
      ),
    HttpApiEndpoint.put("put", "/customers/:customerSlug/integrations/:integrationName", {
      params: customerRecord,
      payload: WriteIntegration,
      success: IntegrationRecord,
      error: [CustomerNotFound, ConnectorNotFound, ConnectorNotActive, UpdateIntegrationExternalIdTaken],
    })
      .annotate(RequiredScope, "write:customers")
      .annotateMerge(exampleBody({ external_id: "0015g00000XyZ12AAB" }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create or update an integration record of a customer",
          description: replacement,
        }),
      ),
    HttpApiEndpoint.delete("delete", "/customers/:customerSlug/integrations/:integrationName", {
      params: customerRecord,
      success: HttpApiSchema.NoContent,
      error: [CustomerNotFound, IntegrationRecordNotFound],
    })
      .annotate(RequiredScope, "write:customers")
      .annotateMerge(
        OpenApi.annotations({ summary: "Delete an integration record of a customer", description: removal }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Integration records of customers",
      description: "Links from customers to their records in third-party systems.",
    }),
  ) {}

const ofInstance = { instanceSlug: PathName }
const instanceRecord = { ...ofInstance, integrationName: ConnectorName }

export class InstanceIntegrationsApi extends HttpApiGroup.make("instanceIntegrations")
  .add(
    HttpApiEndpoint.get("list", "/instances/:instanceSlug/integrations", {
      params: ofInstance,
      query: pageQuery,
      success: Page(NamedIntegrationRecord),
      error: [InstanceNotFound, InvalidCursor],
    })
      .annotate(RequiredScope, "read:instances")
      .annotateMerge(OpenApi.annotations({ summary: "List an instance's integration records", description: listing })),
    HttpApiEndpoint.get("get", "/instances/:instanceSlug/integrations/:integrationName", {
      params: instanceRecord,
      success: IntegrationRecord,
      error: [InstanceNotFound, IntegrationRecordNotFound],
    })
      .annotate(RequiredScope, "read:instances")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read an integration record of an instance",
          description:
            "Returns the external id of the instance in the connected system, and when it was last synchronized.",
        }),
      ),
    HttpApiEndpoint.post("create", "/instances/:instanceSlug/integrations/:integrationName", {
      headers: idempotencyHeaders,
      params: instanceRecord,
      payload: WriteIntegration,
      success: created,
      error: [
        InstanceNotFound,
        ConnectorNotFound,
        ConnectorNotActive,
        CreateIntegrationAlreadyExists,
        CreateIntegrationExternalIdTaken,
      ],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:instances")
      .annotateMerge(exampleBody({ external_id: "0015g00000XyZ12AAB" }))
      .annotateMerge(
        OpenApi.annotations({ summary: "Create an integration record of an instance", description: creation }),
      ),
    HttpApiEndpoint.put("put", "/instances/:instanceSlug/integrations/:integrationName", {
      params: instanceRecord,
      payload: WriteIntegration,
      success: IntegrationRecord,
      error: [InstanceNotFound, ConnectorNotFound, ConnectorNotActive, UpdateIntegrationExternalIdTaken],
    })
      .annotate(RequiredScope, "write:instances")
      .annotateMerge(exampleBody({ external_id: "0015g00000XyZ12AAB" }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create or update an integration record of an instance",
          description: replacement,
        }),
      ),
    HttpApiEndpoint.delete("delete", "/instances/:instanceSlug/integrations/:integrationName", {
      params: instanceRecord,
      success: HttpApiSchema.NoContent,
      error: [InstanceNotFound, IntegrationRecordNotFound],
    })
      .annotate(RequiredScope, "write:instances")
      .annotateMerge(
        OpenApi.annotations({ summary: "Delete an integration record of an instance", description: removal }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Integration records of instances",
      description: "Links from instances to their records in third-party systems.",
    }),
  ) {}

const upsertRules =
  "Omitted properties stay unchanged; `null` clears an optional property. The slug is immutable: sending a different one is rejected with 422. `integrationMetadata` is merged into the `metadata` of the record, `webUrl` replaces its `web_url`, and `synced_at` is set. `error` replaces its `last_error`. The connector must be registered and active."
const upserted = { adapter: Adapter, externalId: ExternalId }
const reading = "The same result as of the upsert. The connector does not have to be active."

export class IntegrationUpsertsApi extends HttpApiGroup.make("integrationUpserts")
  .add(
    HttpApiEndpoint.get("getCustomer", "/integration/:adapter/customer/:externalId", {
      params: upserted,
      success: CustomerUpsertResult,
      error: [IntegrationRecordNotFound, ValidationFailed],
    })
      .annotate(RequiredScope, "read:customers")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getCustomerByExternalId",
          summary: "Read the customer with an external id",
          description: reading,
        }),
      ),
    HttpApiEndpoint.get("getInstance", "/integration/:adapter/instance/:externalId", {
      params: upserted,
      success: InstanceUpsertResult,
      error: [IntegrationRecordNotFound, ValidationFailed],
    })
      .annotate(RequiredScope, "read:instances")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getInstanceByExternalId",
          summary: "Read the instance with an external id",
          description: reading,
        }),
      ),
    HttpApiEndpoint.patch("customer", "/integration/:adapter/customer/:externalId", {
      params: upserted,
      payload: UpsertCustomer,
      success: CustomerUpsertResult,
      error: [ConnectorNotFound, ConnectorNotActive, UpsertCustomerSlugTaken, ValidationFailed],
    })
      .annotate(RequiredScope, "write:customers")
      .annotateMerge(
        exampleBody({ name: "Globex", domain: "globex.example", webUrl: "https://crm.example/accounts/4711" }),
      )
      .annotateMerge(
        OpenApi.annotations({
          identifier: "upsertCustomer",
          summary: "Create or update the customer with an external id",
          description: `An unknown external id creates a customer. Its name defaults to the external id. ${upsertRules}`,
        }),
      ),
    HttpApiEndpoint.patch("instance", "/integration/:adapter/instance/:externalId", {
      params: upserted,
      payload: UpsertInstance,
      success: InstanceUpsertResult,
      error: [
        ConnectorNotFound,
        ConnectorNotActive,
        UpsertInstanceSlugTaken,
        UpsertInstanceLicenseArchived,
        ValidationFailed,
      ],
    })
      .annotate(RequiredScope, "write:instances")
      .annotateMerge(
        exampleBody({
          customerExternalId: "4711",
          licenseId: "01a1fe56-aaf8-74c8-a331-6d16e44e9843",
          name: "Globex production",
        }),
      )
      .annotateMerge(
        OpenApi.annotations({
          identifier: "upsertInstance",
          summary: "Create or update the instance with an external id",
          description: `An unknown external id creates an instance, which requires \`customerExternalId\` and \`licenseId\`. The name defaults to the external id, the start date to now, and the end date to none. ${upsertRules}`,
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Upserts by external id",
      description: "Lets third-party systems create and update customers and instances by their own identifiers.",
    }),
  ) {}
