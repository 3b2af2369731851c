/** The service's layers: domains, their repositories, and the routes of the listeners that the process's roles open. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { GatewayTokens } from "./access/GatewayTokens.ts"
import * as AccessHttp from "./access/Http.ts"
import { Issuing } from "./access/Issuing.ts"
import { OrganizationTokens } from "./access/OrganizationTokens.ts"
import { PlatformCredentials } from "./access/PlatformCredentials.ts"
import * as AccessPlatformHttp from "./access/PlatformHttp.ts"
import { AccessRepo } from "./access/Repo.ts"
import { Credentials } from "./access/Service.ts"
import { TokenRetirement } from "./access/Retirement.ts"
import { TokenRotation } from "./access/Rotation.ts"
import { ServiceAccounts } from "./access/ServiceAccounts.ts"
import { TokenHasher } from "./access/TokenHasher.ts"
import * as ComponentsHttp from "./components/Http.ts"
import { ComponentsRepo } from "./components/Repo.ts"
import { Components } from "./components/Service.ts"
import { ConnectorSettings } from "./connectors/ConnectorSettings.ts"
import * as ConnectorsHttp from "./connectors/Http.ts"
import { ConnectorInclusions } from "./connectors/Inclusion.ts"
import * as ConnectorsPlatformHttp from "./connectors/PlatformHttp.ts"
import { ConnectorRegistry } from "./connectors/Registry.ts"
import { ConnectorsRepo } from "./connectors/Repo.ts"
import { Connectors } from "./connectors/Service.ts"
import { ConnectorVerification } from "./connectors/Verification.ts"
import { CoreApi } from "./CoreApi.ts"
import * as CustomersHttp from "./customers/Http.ts"
import { CustomersRepo } from "./customers/Repo.ts"
import { Customers } from "./customers/Service.ts"
import * as EntitlementsHttp from "./entitlements/Http.ts"
import { EntitlementsRepo } from "./entitlements/Repo.ts"
import { Entitlements } from "./entitlements/Service.ts"
import * as EventsHttp from "./events/Http.ts"
import { EventsRepo } from "./events/Repo.ts"
import { EventFollowers } from "./events/Followers.ts"
import { LiveEvents } from "./events/Live.ts"
import { EventPlacing } from "./events/Placing.ts"
import { EventRetention } from "./events/Retention.ts"
import { Events } from "./events/Service.ts"
import { Evaluations } from "./flags/Evaluations.ts"
import * as FlagsHttp from "./flags/Http.ts"
import { FlagsRepo } from "./flags/Repo.ts"
import { FeatureFlags } from "./flags/Service.ts"
import * as GroupsHttp from "./groups/Http.ts"
import { EntitlementGroupsRepo } from "./groups/Repo.ts"
import { EntitlementGroups } from "./groups/Service.ts"
import * as InstancesHttp from "./instances/Http.ts"
import { InstancesRepo } from "./instances/Repo.ts"
import { Instances } from "./instances/Service.ts"
import * as IntegrationsHttp from "./integrations/Http.ts"
import { IntegrationRecords } from "./integrations/Records.ts"
import { IntegrationsRepo } from "./integrations/Repo.ts"
import { IntegrationUpserts } from "./integrations/Upserts.ts"
import { Draining } from "./kernel/Draining.ts"
import { AttemptEnds, Commits, HotPath } from "./kernel/SharedConnections.ts"
import { LicenseFamilies } from "./licenses/Families.ts"
import { LicenseGrants } from "./licenses/Grants.ts"
import { LicenseGrantsRepo } from "./licenses/GrantsRepo.ts"
import * as LicensesHttp from "./licenses/Http.ts"
import { LicenseLifecycle } from "./licenses/Lifecycle.ts"
import { LicensesRepo } from "./licenses/Repo.ts"
import { Licenses } from "./licenses/Service.ts"
import { MaintenanceRepo } from "./maintenance/Repo.ts"
import { Sweeper } from "./maintenance/Service.ts"
import * as MetadataHttp from "./metadata/Http.ts"
import { MetadataFieldsRepo } from "./metadata/Repo.ts"
import { MetadataFields } from "./metadata/Service.ts"
import { MetadataValues } from "./metadata/Values.ts"
import * as OrganizationsHttp from "./organizations/Http.ts"
import { OrganizationsRepo } from "./organizations/Repo.ts"
import { Organizations } from "./organizations/Service.ts"
import { Memberships } from "./people/Memberships.ts"
import * as PeoplePlatformHttp from "./people/PlatformHttp.ts"
import { PeopleRepo } from "./people/Repo.ts"
import { SignIn } from "./people/SignIn.ts"
import { Users } from "./people/Users.ts"
import { PlatformApi } from "./PlatformApi.ts"
import * as ReleasesHttp from "./releases/Http.ts"
import { ReleasesRepo } from "./releases/Repo.ts"
import { Releases } from "./releases/Service.ts"
import * as Authentication from "./runtime/Authentication.ts"
import * as Database from "./runtime/Database.ts"
import * as Documentation from "./runtime/Documentation.ts"
import * as Health from "./runtime/Health.ts"
import * as Metrics from "./runtime/Metrics.ts"
import * as MethodNotAllowed from "./runtime/MethodNotAllowed.ts"
import * as ProblemFallback from "./runtime/ProblemFallback.ts"
import * as RateLimits from "./runtime/RateLimits.ts"
import * as RequestValidation from "./runtime/RequestValidation.ts"
import * as SealedCursors from "./runtime/SealedCursors.ts"
import * as SecretBox from "./runtime/SecretBox.ts"
import * as StoredAnswers from "./runtime/StoredAnswers.ts"
import { decodeAtOnce } from "./runtime/StrictBodies.ts"
import * as TokenValidation from "./runtime/TokenValidation.ts"
import { CloudEvents } from "./usage/CloudEvents.ts"
import { Consumption } from "./usage/Consume.ts"
import * as UsageHttp from "./usage/Http.ts"
import { Metering } from "./usage/Metering.ts"
import { MeterRepo } from "./usage/MeterRepo.ts"
import { SnapshotRepo } from "./usage/SnapshotRepo.ts"
import { Unlocked } from "./usage/Unlocked.ts"
import { PastRepo } from "./usage/PastRepo.ts"
import { TallyRepo } from "./usage/TallyRepo.ts"
import { CheckRepo } from "./usage/CheckRepo.ts"
import { UsageRepo } from "./usage/Repo.ts"
import { UsageReports } from "./usage/Reports.ts"
import { Reservations } from "./usage/Reservations.ts"
import { ReservationsRepo } from "./usage/ReservationsRepo.ts"
import { ReservationRetention } from "./usage/Retention.ts"
import { Usage } from "./usage/Service.ts"
import * as DeploymentZonesHttp from "./zones/Http.ts"
import { DeploymentZonesRepo } from "./zones/Repo.ts"
import { DeploymentZones } from "./zones/Service.ts"
import { WebhookApi } from "./WebhookApi.ts"
import { WebhookHistory } from "./webhooks/History.ts"
import { HistoryRepo } from "./webhooks/HistoryRepo.ts"
import * as WebhooksHttp from "./webhooks/Http.ts"
import { PendingDeliveries } from "./webhooks/Pending.ts"
import { PendingRepo } from "./webhooks/PendingRepo.ts"
import { WebhookQueue } from "./webhooks/Queue.ts"
import { QueueRepo } from "./webhooks/QueueRepo.ts"
import { WebhooksRepo } from "./webhooks/Repo.ts"
import { WebhookSecrets } from "./webhooks/Secrets.ts"
import { WebhookEndpoints } from "./webhooks/Service.ts"

// Must run before any handlers are built.
decodeAtOnce(CoreApi)
decodeAtOnce(PlatformApi)
decodeAtOnce(WebhookApi)

const repositories = Layer.mergeAll(
  AccessRepo.layer,
  ComponentsRepo.layer,
  ConnectorsRepo.layer,
  CustomersRepo.layer,
  FlagsRepo.layer,
  InstancesRepo.layer,
  IntegrationsRepo.layer,
  UsageRepo.layer,
  CheckRepo.layer,
  MeterRepo.layer,
  SnapshotRepo.layer,
  TallyRepo.layer,
  PastRepo.layer,
  ReservationsRepo.layer,
  EntitlementsRepo.layer,
  EntitlementGroupsRepo.layer,
  EventsRepo.layer,
  LicenseGrantsRepo.layer,
  LicensesRepo.layer,
  MaintenanceRepo.layer,
  OrganizationsRepo.layer,
  PeopleRepo.layer,
  ReleasesRepo.layer,
  DeploymentZonesRepo.layer,
  MetadataFieldsRepo.layer,
  WebhooksRepo.layer,
  HistoryRepo.layer,
  PendingRepo.layer,
  QueueRepo.layer,
)

const eventStream = Layer.merge(Events.layer, LiveEvents.layer).pipe(
  Layer.provideMerge(EventFollowers.layer),
  Layer.provideMerge(EventPlacing.layer),
)

const usageCounting = Layer.mergeAll(Usage.layer, Consumption.layer, CloudEvents.layer, Reservations.layer).pipe(
  Layer.provideMerge(UsageReports.layer),
  Layer.provideMerge(Layer.mergeAll(Metering.layer, Unlocked.layer)),
)

// Each line may use the services that the lines below it provide. This fixes the order of the domains.
const domains = Layer.mergeAll(
  Releases.layer,
  DeploymentZones.layer,
  Components.layer,
  TokenRotation.layer.pipe(Layer.provideMerge(ServiceAccounts.layer)),
  Sweeper.layer.pipe(
    Layer.provideMerge(
      Layer.mergeAll(TokenRetirement.layer, EventRetention.layer, ReservationRetention.layer, PendingDeliveries.layer),
    ),
  ),
  OrganizationTokens.layer,
  FeatureFlags.layer,
  Evaluations.layer,
  Layer.mergeAll(WebhookEndpoints.layer, WebhookHistory.layer).pipe(
    Layer.provideMerge(Layer.mergeAll(WebhookQueue.layer, PendingDeliveries.layer, WebhookSecrets.layer)),
  ),
).pipe(
  Layer.provideMerge(usageCounting),
  Layer.provideMerge(Layer.mergeAll(IntegrationRecords.layer, IntegrationUpserts.layer)),
  Layer.provideMerge(Instances.layer),
  Layer.provideMerge(Customers.layer),
  Layer.provideMerge(
    Layer.mergeAll(Licenses.layer, LicenseFamilies.layer, LicenseGrants.layer, LicenseLifecycle.layer),
  ),
  Layer.provideMerge(EntitlementGroups.layer),
  Layer.provideMerge(Entitlements.layer),
  Layer.provideMerge(ConnectorVerification.layer),
  Layer.provideMerge(Layer.mergeAll(Connectors.layer, ConnectorSettings.layer, ConnectorInclusions.layer)),
  Layer.provideMerge(ConnectorRegistry.layer),
  Layer.provideMerge(Layer.mergeAll(MetadataFields.layer, MetadataValues.layer)),
  Layer.provideMerge(Layer.mergeAll(PlatformCredentials.layer, GatewayTokens.layer)),
  Layer.provideMerge(Layer.mergeAll(Credentials.layer, Issuing.layer)),
  Layer.provideMerge(SignIn.layer),
  Layer.provideMerge(Layer.mergeAll(Users.layer, Memberships.layer)),
  Layer.provideMerge(Organizations.layer),
  Layer.provideMerge(eventStream),
)

/**
 * Every use case of the service. Requires a migrated database, a clock, signals between nodes, the installation's keys
 * and outbound HTTP.
 */
export const services = domains.pipe(
  Layer.provideMerge(repositories),
  Layer.provideMerge(
    Layer.mergeAll(
      Database.transactions,
      HotPath.layer,
      Commits.layer,
      AttemptEnds.layer,
      Draining.layer,
      SealedCursors.layer,
      SecretBox.layer,
      TokenHasher.layer,
    ),
  ),
)

const middlewares = Layer.mergeAll(RequestValidation.layer, RateLimits.layer, StoredAnswers.layer)

const coreHandlers = Layer.mergeAll(
  AccessHttp.me,
  AccessHttp.serviceAccounts,
  ConnectorsHttp.connectors,
  ComponentsHttp.components,
  ReleasesHttp.releases,
  DeploymentZonesHttp.deploymentZones,
  MetadataHttp.metadataFields,
  CustomersHttp.customers,
  InstancesHttp.instances,
  IntegrationsHttp.customerIntegrations,
  IntegrationsHttp.instanceIntegrations,
  IntegrationsHttp.integrationUpserts,
  UsageHttp.check,
  UsageHttp.usage,
  UsageHttp.reservations,
  FlagsHttp.featureFlags,
  FlagsHttp.ofrep,
  EntitlementsHttp.entitlements,
  GroupsHttp.entitlementGroups,
  LicensesHttp.licenses,
  LicensesHttp.licenseEntitlements,
  LicensesHttp.licenseFamilies,
  EventsHttp.events,
)

const core = Layer.mergeAll(
  HttpApiBuilder.layer(CoreApi).pipe(Layer.provide(coreHandlers)),
  MethodNotAllowed.layer(CoreApi),
  Documentation.layer,
)

const webhooks = Layer.mergeAll(
  HttpApiBuilder.layer(WebhookApi).pipe(
    Layer.provide(Layer.mergeAll(WebhooksHttp.webhookEndpoints, WebhooksHttp.webhookHistory)),
  ),
  MethodNotAllowed.layer(WebhookApi),
)

const forOrganizations = <A, E, R>(routes: Layer.Layer<A, E, R>) =>
  routes.pipe(
    Layer.provide([middlewares, Authentication.organizationAccess]),
    Layer.provideMerge(ProblemFallback.layer),
  )

/** Routes of the core listener. */
export const coreRoutes = forOrganizations(Layer.mergeAll(core, webhooks))

/** Routes of the core listener when webhook management has a dedicated listener. */
export const coreRoutesWithoutWebhooks = forOrganizations(core)

/** Routes of the dedicated webhook listener. */
export const webhookRoutes = forOrganizations(webhooks)

const platformHandlers = Layer.mergeAll(
  AccessPlatformHttp.platformMe,
  AccessPlatformHttp.organizationTokens,
  AccessPlatformHttp.platformCredentials,
  ConnectorsPlatformHttp.connectorRegistry,
  ConnectorsPlatformHttp.connectorInclusions,
  OrganizationsHttp.organizations,
  PeoplePlatformHttp.memberships,
  PeoplePlatformHttp.users,
)

/** Routes of the platform listener. */
export const platformRoutes = Layer.mergeAll(
  HttpApiBuilder.layer(PlatformApi).pipe(Layer.provide(platformHandlers)),
  MethodNotAllowed.layer(PlatformApi),
).pipe(
  Layer.provide([middlewares, Authentication.platformAccess]),
  Layer.provideMerge(Authentication.platformCredentialsOnly),
  // Outermost, so that it completes the responses of all other layers.
  Layer.provideMerge(ProblemFallback.layer),
)

/** Routes of the internal listener. */
export const internalRoutes = Layer.mergeAll(
  Health.routes,
  Metrics.layer,
  MethodNotAllowed.readOnly("/health/live", "/health/ready", "/metrics"),
).pipe(Layer.provideMerge(TokenValidation.layer), Layer.provideMerge(ProblemFallback.layer))
