/** The Core API, called by vendors' products, tools and pipelines. Every call belongs to one organization. */
import { Context } from "effect"
import { HttpApi, OpenApi } from "effect/http-api"
import { MeApi, ServiceAccountsApi } from "./access/Api.ts"
import { ComponentsApi } from "./components/Api.ts"
import { ConnectorsApi } from "./connectors/Api.ts"
import { CustomersApi } from "./customers/Api.ts"
import { EntitlementsApi } from "./entitlements/Api.ts"
import { EventsApi } from "./events/Api.ts"
import { FeatureFlagsApi } from "./flags/Api.ts"
import { OfrepApi } from "./flags/OfrepApi.ts"
import { EntitlementGroupsApi } from "./groups/Api.ts"
import { InstancesApi } from "./instances/Api.ts"
import { CustomerIntegrationsApi, InstanceIntegrationsApi, IntegrationUpsertsApi } from "./integrations/Api.ts"
import { OrganizationAccess, RateLimits, RequestValidation } from "./kernel/Endpoint.ts"
import { LicensesApi } from "./licenses/Api.ts"
import { LicenseFamiliesApi } from "./licenses/FamiliesApi.ts"
import { LicenseEntitlementsApi } from "./licenses/GrantsApi.ts"
import { MetadataFieldsApi } from "./metadata/Api.ts"
import { ReleasesApi } from "./releases/Api.ts"
import { CheckApi } from "./usage/Api.ts"
import { UsageApi } from "./usage/ReportsApi.ts"
import { ReservationsApi } from "./usage/ReservationsApi.ts"
import { DeploymentZonesApi } from "./zones/Api.ts"

/**
 * Bodies reject unknown properties and report all validation errors at once. Queries and headers ignore unknown names.
 */
export const strictBodies = Context.make(HttpApi.PayloadParseOptions, {
  onExcessProperty: "error",
  errors: "all",
})

export class CoreApi extends HttpApi.make("core")
  .add(
    MeApi,
    EventsApi,
    ServiceAccountsApi,
    ConnectorsApi,
    ComponentsApi,
    EntitlementsApi,
    EntitlementGroupsApi,
    LicensesApi,
    LicenseEntitlementsApi,
    LicenseFamiliesApi,
    ReleasesApi,
    DeploymentZonesApi,
    MetadataFieldsApi,
    CustomersApi,
    InstancesApi,
    CustomerIntegrationsApi,
    InstanceIntegrationsApi,
    IntegrationUpsertsApi,
    CheckApi,
    UsageApi,
    ReservationsApi,
    FeatureFlagsApi,
    OfrepApi,
  )
  .prefix("/api")
  .middleware(RequestValidation)
  .middleware(RateLimits)
  .middleware(OrganizationAccess)
  .annotateMerge(strictBodies)
  .annotateMerge(
    OpenApi.annotations({
      title: "Keyshelf Core API",
      version: "0.1.0",
      description:
        "Manage the customers, instances, licenses, entitlements, usage, releases and deployments of one organization.",
      servers: [{ url: "http://127.0.0.1:8080", description: "Core listener on this machine" }],
    }),
  ) {}
