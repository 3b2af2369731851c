/** The service's layers: domains on their repositories, and the listeners that a process opens by its roles. */
import { Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import * as AccessHttp from "./access/Http.ts"
import { Issuing } from "./access/Issuing.ts"
import { OrganizationTokens } from "./access/OrganizationTokens.ts"
import { PlatformCredentials } from "./access/PlatformCredentials.ts"
import * as AccessPlatformHttp from "./access/PlatformHttp.ts"
import { AccessRepo } from "./access/Repo.ts"
import { Credentials } from "./access/Service.ts"
import { ServiceAccounts } from "./access/ServiceAccounts.ts"
import { TokenHasher } from "./access/TokenHasher.ts"
import * as ComponentsHttp from "./components/Http.ts"
import { ComponentsRepo } from "./components/Repo.ts"
import { Components } from "./components/Service.ts"
import { CoreApi } from "./CoreApi.ts"
import * as CustomersHttp from "./customers/Http.ts"
import { CustomersRepo } from "./customers/Repo.ts"
import { Customers } from "./customers/Service.ts"
import * as EntitlementsHttp from "./entitlements/Http.ts"
import { EntitlementsRepo } from "./entitlements/Repo.ts"
import { Entitlements } from "./entitlements/Service.ts"
import * as EventsHttp from "./events/Http.ts"
import { EventsRepo } from "./events/Repo.ts"
import { Events } from "./events/Service.ts"
import * as InstancesHttp from "./instances/Http.ts"
import { InstancesRepo } from "./instances/Repo.ts"
import { Instances } from "./instances/Service.ts"
import { LicenseFamilies } from "./licenses/Families.ts"
import { LicenseGrants } from "./licenses/Grants.ts"
import { LicenseGrantsRepo } from "./licenses/GrantsRepo.ts"
import * as LicensesHttp from "./licenses/Http.ts"
import { LicenseLifecycle } from "./licenses/Lifecycle.ts"
import { LicensesRepo } from "./licenses/Repo.ts"
import { Licenses } from "./licenses/Service.ts"
import * as OrganizationsHttp from "./organizations/Http.ts"
import { OrganizationsRepo } from "./organizations/Repo.ts"
import { Organizations } from "./organizations/Service.ts"
import { PlatformApi } from "./PlatformApi.ts"
import * as ReleasesHttp from "./releases/Http.ts"
import { ReleasesRepo } from "./releases/Repo.ts"
import { Releases } from "./releases/Service.ts"
import * as Authentication from "./runtime/Authentication.ts"
import * as Database from "./runtime/Database.ts"
import * as Documentation from "./runtime/Documentation.ts"
import * as Health from "./runtime/Health.ts"
import * as MethodNotAllowed from "./runtime/MethodNotAllowed.ts"
import * as ProblemFallback from "./runtime/ProblemFallback.ts"
import * as RequestValidation from "./runtime/RequestValidation.ts"
import * as SealedCursors from "./runtime/SealedCursors.ts"
import * as StoredAnswers from "./runtime/StoredAnswers.ts"
import * as UsageHttp from "./usage/Http.ts"
import { UsageRepo } from "./usage/Repo.ts"
import { Usage } from "./usage/Service.ts"
import * as DeploymentZonesHttp from "./zones/Http.ts"
import { DeploymentZonesRepo } from "./zones/Repo.ts"
import { DeploymentZones } from "./zones/Service.ts"

const repositories = Layer.mergeAll(
  AccessRepo.layer,
  ComponentsRepo.layer,
  CustomersRepo.layer,
  InstancesRepo.layer,
  UsageRepo.layer,
  EntitlementsRepo.layer,
  EventsRepo.layer,
  LicenseGrantsRepo.layer,
  LicensesRepo.layer,
  OrganizationsRepo.layer,
  ReleasesRepo.layer,
  DeploymentZonesRepo.layer,
)

// Each line may use what the lines below it provide: the fixed order of the domains.
const domains = Layer.mergeAll(
  Releases.layer,
  DeploymentZones.layer,
  Components.layer,
  ServiceAccounts.layer,
  OrganizationTokens.layer,
).pipe(
  Layer.provideMerge(Usage.layer),
  Layer.provideMerge(Instances.layer),
  Layer.provideMerge(Customers.layer),
  Layer.provideMerge(
    Layer.mergeAll(Licenses.layer, LicenseFamilies.layer, LicenseGrants.layer, LicenseLifecycle.layer),
  ),
  Layer.provideMerge(Entitlements.layer),
  Layer.provideMerge(PlatformCredentials.layer),
  Layer.provideMerge(Layer.mergeAll(Credentials.layer, Issuing.layer)),
  Layer.provideMerge(Organizations.layer),
  Layer.provideMerge(Events.layer),
)

/** Every use case of the service, on a migrated database, a clock and the installation's keys. */
export const services = domains.pipe(
  Layer.provideMerge(repositories),
  Layer.provideMerge(Layer.mergeAll(Database.transactions, SealedCursors.layer, TokenHasher.layer)),
)

const middlewares = Layer.mergeAll(RequestValidation.layer, StoredAnswers.layer)

const coreHandlers = Layer.mergeAll(
  AccessHttp.me,
  AccessHttp.serviceAccounts,
  ComponentsHttp.components,
  ReleasesHttp.releases,
  DeploymentZonesHttp.deploymentZones,
  CustomersHttp.customers,
  InstancesHttp.instances,
  UsageHttp.check,
  EntitlementsHttp.entitlements,
  LicensesHttp.licenses,
  LicensesHttp.licenseEntitlements,
  LicensesHttp.licenseFamilies,
  EventsHttp.events,
)

/** Routes of the core listener. */
export const coreRoutes = Layer.mergeAll(
  HttpApiBuilder.layer(CoreApi).pipe(Layer.provide(coreHandlers)),
  MethodNotAllowed.layer(CoreApi),
  Documentation.layer,
).pipe(Layer.provide([middlewares, Authentication.organizationAccess]), Layer.provideMerge(ProblemFallback.layer))

const platformHandlers = Layer.mergeAll(
  AccessPlatformHttp.platformMe,
  AccessPlatformHttp.organizationTokens,
  AccessPlatformHttp.platformCredentials,
  OrganizationsHttp.organizations,
)

/** Routes of the platform listener. */
export const platformRoutes = Layer.mergeAll(
  HttpApiBuilder.layer(PlatformApi).pipe(Layer.provide(platformHandlers)),
  MethodNotAllowed.layer(PlatformApi),
).pipe(
  Layer.provide([middlewares, Authentication.platformAccess]),
  Layer.provideMerge(Authentication.platformCredentialsOnly),
  // Outermost, so that it completes the answers of all others.
  Layer.provideMerge(ProblemFallback.layer),
)

/** Routes of the internal listener. */
export const internalRoutes = Layer.mergeAll(
  HttpRouter.add("GET", "/health/live", HttpServerResponse.jsonUnsafe({ status: "alive" })),
  Health.readiness,
).pipe(Layer.provideMerge(ProblemFallback.layer))
