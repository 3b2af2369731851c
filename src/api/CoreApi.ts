/** The Core API, called by vendors' products, tools and pipelines. Every call belongs to one organization. */
import { OpenApi } from "effect/http-api"
import { MeApi, ServiceAccountsApi } from "../domains/access/Api.ts"
import { EventLogApi } from "../domains/audit/Api.ts"
import { ComponentsApi } from "../domains/components/Api.ts"
import { ConnectorsApi } from "../domains/connectors/Api.ts"
import { CustomersApi } from "../domains/customers/Api.ts"
import { EntitlementsApi } from "../domains/entitlements/Api.ts"
import { EventsApi } from "../domains/events/Api.ts"
import { FeatureFlagsApi } from "../domains/flags/Api.ts"
import { OfrepStreamsApi } from "../domains/flags/ofrep/streams/Api.ts"
import { OfrepApi } from "../domains/flags/ofrep/Api.ts"
import { EntitlementGroupsApi } from "../domains/groups/Api.ts"
import { ImportsApi } from "../domains/imports/Api.ts"
import { InstancesApi } from "../domains/instances/Api.ts"
import { LicenseKeysApi } from "../domains/instances/keys/Api.ts"
import { ChangesApi } from "../domains/instances/following/Api.ts"
import { AddOnsApi } from "../domains/instances/addons/Api.ts"
import { OverridesApi } from "../domains/instances/overrides/Api.ts"
import { CustomerIntegrationsApi, InstanceIntegrationsApi, IntegrationUpsertsApi } from "../domains/integrations/Api.ts"
import { LicensesApi } from "../domains/licenses/Api.ts"
import { LicenseFamiliesApi } from "../domains/licenses/FamiliesApi.ts"
import { LicenseEntitlementsApi } from "../domains/licenses/grants/Api.ts"
import { MetadataFieldsApi } from "../domains/metadata/Api.ts"
import { LicenseMigrationsApi } from "../domains/licensemoves/Api.ts"
import { OfflineBundlesApi } from "../domains/offline/bundles/Api.ts"
import { OfflineLedgersApi } from "../domains/offline/ledgers/Api.ts"
import { OfflineApi } from "../domains/offline/PublicApi.ts"
import { SnapshotsApi } from "../domains/offline/snapshots/Api.ts"
import { TranchesApi } from "../domains/offline/tranches/Api.ts"
import { OverviewApi } from "../domains/overview/Api.ts"
import { MembersApi } from "../domains/people/Api.ts"
import { ReleasesApi } from "../domains/releases/Api.ts"
import { SigningKeysApi } from "../domains/signing/Api.ts"
import { CheckApi } from "../domains/usage/check/Api.ts"
import { UsageEventsApi } from "../domains/usage/history/Api.ts"
import { LeasesApi } from "../domains/usage/leases/Api.ts"
import { InstanceReleasesApi } from "../domains/usage/releases/Api.ts"
import { UsageApi } from "../domains/usage/reports/Api.ts"
import { CreditsApi } from "../domains/usage/credits/Api.ts"
import { ReservationsApi } from "../domains/usage/reservations/Api.ts"
import { DeploymentZonesApi } from "../domains/zones/Api.ts"
import * as Apis from "../kernel/contract/Apis.ts"

export class CoreApi extends Apis.core(
  MeApi,
  OverviewApi,
  EventsApi,
  EventLogApi,
  ServiceAccountsApi,
  MembersApi,
  ConnectorsApi,
  ComponentsApi,
  EntitlementsApi,
  EntitlementGroupsApi,
  LicensesApi,
  LicenseEntitlementsApi,
  LicenseFamiliesApi,
  LicenseMigrationsApi,
  ReleasesApi,
  DeploymentZonesApi,
  MetadataFieldsApi,
  CustomersApi,
  InstancesApi,
  CustomerIntegrationsApi,
  InstanceIntegrationsApi,
  IntegrationUpsertsApi,
  ImportsApi,
  OverridesApi,
  AddOnsApi,
  InstanceReleasesApi,
  LicenseKeysApi,
  ChangesApi,
  CheckApi,
  UsageApi,
  UsageEventsApi,
  CreditsApi,
  ReservationsApi,
  LeasesApi,
  FeatureFlagsApi,
  OfrepApi,
  SigningKeysApi,
  OfflineBundlesApi,
  OfflineLedgersApi,
  SnapshotsApi,
  TranchesApi,
)
  .addHttpApi(Apis.open(OfflineApi, OfrepStreamsApi))
  .annotateMerge(
    OpenApi.annotations({
      title: "Keyshelf Core API",
      description:
        "Manage the customers, instances, licenses, entitlements, usage, releases and deployments of one organization.",
      servers: [{ url: "/", description: "The listener of this API" }],
    }),
  ) {}
