/** Which routes each listener serves. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { CoreApi } from "../api/CoreApi.ts"
import { PlatformApi } from "../api/PlatformApi.ts"
import { WebhookApi } from "../api/WebhookApi.ts"
import * as AccessHttp from "../domains/access/Http.ts"
import * as AccessPlatformHttp from "../domains/access/PlatformHttp.ts"
import * as ComponentsHttp from "../domains/components/Http.ts"
import * as ConnectorsHttp from "../domains/connectors/Http.ts"
import * as ConnectorsPlatformHttp from "../domains/connectors/PlatformHttp.ts"
import * as CustomersHttp from "../domains/customers/Http.ts"
import * as EntitlementsHttp from "../domains/entitlements/Http.ts"
import * as EventsHttp from "../domains/events/Http.ts"
import * as FlagsHttp from "../domains/flags/Http.ts"
import * as OfrepHttp from "../domains/flags/ofrep/Http.ts"
import * as OfrepStreamsHttp from "../domains/flags/ofrep/streams/Http.ts"
import * as GroupsHttp from "../domains/groups/Http.ts"
import * as LicenseKeysHttp from "../domains/instances/keys/Http.ts"
import * as ChangesHttp from "../domains/instances/following/Http.ts"
import * as AddOnsHttp from "../domains/instances/addons/Http.ts"
import * as OverridesHttp from "../domains/instances/overrides/Http.ts"
import * as ImportsHttp from "../domains/imports/Http.ts"
import * as InstancesHttp from "../domains/instances/Http.ts"
import * as IntegrationsHttp from "../domains/integrations/Http.ts"
import * as GrantsHttp from "../domains/licenses/grants/Http.ts"
import * as LicensesHttp from "../domains/licenses/Http.ts"
import * as MetadataHttp from "../domains/metadata/Http.ts"
import * as MigrationsHttp from "../domains/licensemoves/Http.ts"
import * as OfflineBundlesHttp from "../domains/offline/bundles/Http.ts"
import * as OfflineLedgersHttp from "../domains/offline/ledgers/Http.ts"
import * as OfflineHttp from "../domains/offline/PublicHttp.ts"
import * as SnapshotsHttp from "../domains/offline/snapshots/Http.ts"
import * as TranchesHttp from "../domains/offline/tranches/Http.ts"
import * as OrganizationsHttp from "../domains/organizations/Http.ts"
import * as OverviewHttp from "../domains/overview/Http.ts"
import * as PeopleHttp from "../domains/people/Http.ts"
import * as PeoplePlatformHttp from "../domains/people/PlatformHttp.ts"
import * as ReleasesHttp from "../domains/releases/Http.ts"
import * as AuditHttp from "../domains/audit/Http.ts"
import * as SigningHttp from "../domains/signing/Http.ts"
import * as CheckHttp from "../domains/usage/check/Http.ts"
import * as UsageEventsHttp from "../domains/usage/history/Http.ts"
import * as LeasesHttp from "../domains/usage/leases/Http.ts"
import * as InstanceReleasesHttp from "../domains/usage/releases/Http.ts"
import * as ReportsHttp from "../domains/usage/reports/Http.ts"
import * as CreditsHttp from "../domains/usage/credits/Http.ts"
import * as ReservationsHttp from "../domains/usage/reservations/Http.ts"
import * as EndpointsHttp from "../domains/webhooks/endpoints/Http.ts"
import * as HistoryHttp from "../domains/webhooks/history/Http.ts"
import * as DeploymentZonesHttp from "../domains/zones/Http.ts"
import * as Authentication from "../http/middleware/Authentication.ts"
import * as BinaryEvents from "../http/middleware/BinaryEvents.ts"
import * as Cors from "../http/middleware/Cors.ts"
import * as DryRuns from "../http/middleware/DryRuns.ts"
import * as Idempotency from "../http/middleware/Idempotency.ts"
import * as MethodNotAllowed from "../http/middleware/MethodNotAllowed.ts"
import * as ProblemResponses from "../http/middleware/ProblemResponses.ts"
import * as RateLimits from "../http/middleware/RateLimits.ts"
import * as RequestValidation from "../http/middleware/RequestValidation.ts"
import * as Console from "../http/routes/console/Console.ts"
import * as Documentation from "../http/routes/documentation/Documentation.ts"
import * as Health from "../http/routes/Health.ts"
import * as SecurityText from "../http/routes/SecurityText.ts"
import * as StartPage from "../http/routes/StartPage.ts"
import * as TokenValidation from "../http/routes/TokenValidation.ts"
import * as Metrics from "../infra/telemetry/Metrics.ts"

const middlewares = Layer.mergeAll(
  RequestValidation.layer,
  RateLimits.layer,
  Idempotency.layer,
  BinaryEvents.layer,
  DryRuns.layer,
)

const coreHandlers = Layer.mergeAll(
  AccessHttp.me,
  OverviewHttp.overview,
  AccessHttp.serviceAccounts,
  PeopleHttp.members,
  ConnectorsHttp.connectors,
  ComponentsHttp.components,
  ReleasesHttp.releases,
  DeploymentZonesHttp.deploymentZones,
  MetadataHttp.metadataFields,
  CustomersHttp.customers,
  InstancesHttp.instances,
  OverridesHttp.overrides,
  AddOnsHttp.addOns,
  InstanceReleasesHttp.instanceReleases,
  LicenseKeysHttp.licenseKeys,
  ChangesHttp.changes,
  IntegrationsHttp.customerIntegrations,
  IntegrationsHttp.instanceIntegrations,
  IntegrationsHttp.integrationUpserts,
  ImportsHttp.imports,
  CheckHttp.check,
  ReportsHttp.usage,
  UsageEventsHttp.usageEvents,
  CreditsHttp.credits,
  ReservationsHttp.reservations,
  LeasesHttp.leases,
  FlagsHttp.featureFlags,
  OfrepHttp.ofrep,
  OfrepStreamsHttp.ofrepStreams,
  EntitlementsHttp.entitlements,
  GroupsHttp.entitlementGroups,
  LicensesHttp.licenses,
  GrantsHttp.licenseEntitlements,
  LicensesHttp.licenseFamilies,
  MigrationsHttp.licenseMigrations,
  EventsHttp.events,
  SigningHttp.signingKeys,
  OfflineBundlesHttp.offlineBundles,
  OfflineLedgersHttp.offlineLedgers,
  SnapshotsHttp.snapshots,
  TranchesHttp.tranches,
  OfflineHttp.offline,
  AuditHttp.eventLog,
)

const core = Layer.mergeAll(
  HttpApiBuilder.layer(CoreApi).pipe(Layer.provide(coreHandlers)),
  MethodNotAllowed.layer(CoreApi),
)

const webhooks = Layer.mergeAll(
  HttpApiBuilder.layer(WebhookApi).pipe(
    Layer.provide(Layer.mergeAll(EndpointsHttp.webhookEndpoints, HistoryHttp.webhookHistory)),
  ),
  MethodNotAllowed.layer(WebhookApi),
)

const forOrganizations = <A, E, R>(routes: Layer.Layer<A, E, R>) =>
  routes.pipe(
    Layer.provide([middlewares, Authentication.organizationAccess, Authentication.publicAccess]),
    Layer.provideMerge(ProblemResponses.layer),
  )

/** What a listener shows to people: the console, and the documentation with the listener's own APIs first. */
const pages = (home: "core" | "platform", ...others: ReadonlyArray<"webhooks">) =>
  Layer.mergeAll(StartPage.layer, Console.layer(home), Documentation.layer(home, ...others))

const forBrowsers = <A, E, R>(routes: Layer.Layer<A, E, R>) => Layer.provideMerge(routes, Cors.layer)

/** Routes of the core listener. */
export const coreRoutes = forBrowsers(
  forOrganizations(Layer.mergeAll(core, webhooks, pages("core", "webhooks"), SecurityText.layer)),
)

/** Routes of the core listener when webhook management has a dedicated listener. */
export const coreRoutesWithoutWebhooks = forBrowsers(
  forOrganizations(Layer.mergeAll(core, pages("core"), SecurityText.layer)),
)

/** Routes of the dedicated webhook listener. */
export const webhookRoutes = forBrowsers(forOrganizations(webhooks))

const platformHandlers = Layer.mergeAll(
  AccessPlatformHttp.platformMe,
  Health.platformHealth,
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
  pages("platform"),
).pipe(
  Layer.provide([middlewares, Authentication.platformAccess]),
  // Outermost, so that it completes the responses of all other layers.
  Layer.provideMerge(ProblemResponses.platformLayer),
)

/** Routes of the internal listener. */
export const internalRoutes = Layer.mergeAll(
  Health.routes,
  Metrics.layer,
  MethodNotAllowed.readOnly("/health/live", "/health/ready", "/metrics"),
).pipe(Layer.provideMerge(TokenValidation.layer), Layer.provideMerge(ProblemResponses.layer))
