/** The commands that ask a service, by the noun that they are about. Each stands for one operation of the API. */

/** A command: its operation, and what it prints. */
export interface Entry {
  readonly operation: string
  /** The columns of a list. Without them, the response is one record. */
  readonly columns?: ReadonlyArray<string>
}

/** The commands of one noun. */
export interface Noun {
  readonly name: string
  readonly about: string
  readonly commands: Readonly<Record<string, string | Entry>>
}

const list = (operation: string, ...columns: ReadonlyArray<string>): Entry => ({ operation, columns })

const tokenColumns = ["slug", "name", "scopes", "lastFour", "lastUsedAt", "expiresAt", "revokedAt"]

export const NOUNS: ReadonlyArray<Noun> = [
  {
    name: "organizations",
    about: "Organizations of the installation; needs a platform credential",
    commands: {
      list: list("listOrganizations", "id", "slug", "name", "externalId", "createdAt"),
      get: "getOrganization",
      create: "createOrganization",
      update: "updateOrganization",
      delete: "deleteOrganization",
    },
  },
  {
    name: "organization-tokens",
    about: "Tokens that the operator mints for an organization; needs a platform credential",
    commands: {
      list: list("listOrganizationTokens", ...tokenColumns),
      mint: "mintOrganizationToken",
      revoke: "revokeOrganizationToken",
    },
  },
  {
    name: "users",
    about: "People who sign in through the identity provider; needs a platform credential",
    commands: {
      list: list("listUsers", "id", "name", "email", "issuer", "createdAt"),
      get: "getUser",
      create: "createUser",
      delete: "deleteUser",
    },
  },
  {
    name: "memberships",
    about: "Members of an organization and their roles; needs a platform credential",
    commands: {
      list: list("listMemberships", "userId", "userName", "role", "createdAt", "removedAt"),
      add: "createMembership",
      update: "updateMembership",
      remove: "removeMembership",
    },
  },
  {
    name: "service-accounts",
    about: "Service accounts, which own access tokens",
    commands: {
      list: list("listServiceAccounts", "slug", "name", "externalId", "createdAt"),
      get: "getServiceAccount",
      create: "createServiceAccount",
      update: "updateServiceAccount",
      delete: "deleteServiceAccount",
    },
  },
  {
    name: "tokens",
    about: "Access tokens of a service account",
    commands: {
      list: list("listServiceAccountTokens", ...tokenColumns),
      issue: "issueServiceAccountToken",
      rotate: "rotateServiceAccountToken",
      revoke: "revokeServiceAccountToken",
    },
  },
  {
    name: "customers",
    about: "Customers",
    commands: {
      list: list("listCustomers", "slug", "name", "domain", "externalCustomerId", "createdAt"),
      get: "getCustomer",
      create: "createCustomer",
      update: "updateCustomer",
      delete: "deleteCustomer",
    },
  },
  {
    name: "instances",
    about: "Instances: what a customer runs, under a license for a term",
    commands: {
      list: list("listInstances", "slug", "customerSlug", "licenseSlug", "startLicenseDate", "endLicenseDate", "name"),
      get: "getInstance",
      create: "createInstance",
      update: "updateInstance",
      delete: "deleteInstance",
    },
  },
  {
    name: "overrides",
    about: "Other terms of an instance than those of its license",
    commands: {
      list: list("listOverrides", "entitlement", "mode", "value", "overagePercent", "startsAt", "endsAt", "reason"),
      get: "getOverride",
      put: "putOverride",
      remove: "deleteOverride",
    },
  },
  {
    name: "licenses",
    about: "License versions",
    commands: {
      list: list("listLicenses", "slug", "familySlug", "version", "lifecycleState", "type", "isDefault", "name"),
      get: "getLicense",
      create: "createLicense",
      update: "updateLicense",
      delete: "deleteLicense",
      publish: "publishLicense",
      archive: "archiveLicense",
      unarchive: "unarchiveLicense",
    },
  },
  {
    name: "license-families",
    about: "License families, each with a current version",
    commands: {
      list: list("listLicenseFamilies", "slug", "currentVersion", "createdAt"),
      get: "getLicenseFamily",
    },
  },
  {
    name: "grants",
    about: "Entitlements that a license version grants",
    commands: {
      list: list("listLicenseEntitlements", "entitlementSlug", "value", "overagePercent"),
      add: "assignLicenseEntitlement",
      update: "updateLicenseEntitlement",
      remove: "unassignLicenseEntitlement",
    },
  },
  {
    name: "entitlements",
    about: "Entitlements: features, limits and configurations",
    commands: {
      list: list("listEntitlements", "slug", "type", "aggregationMethod", "resetPeriod", "unitPlural", "name"),
      get: "getEntitlement",
      create: "createEntitlement",
      update: "updateEntitlement",
      delete: "deleteEntitlement",
    },
  },
  {
    name: "entitlement-groups",
    about: "Groups of entitlements, whose usage can be read together",
    commands: {
      list: list("listEntitlementGroups", "slug", "name", "entitlementSlugs"),
      get: "getEntitlementGroup",
      create: "createEntitlementGroup",
      update: "updateEntitlementGroup",
      delete: "deleteEntitlementGroup",
      add: "addEntitlementToGroup",
      remove: "removeEntitlementFromGroup",
      usage: "getEntitlementGroupUsage",
    },
  },
  {
    name: "usage",
    about: "Usage of an instance",
    commands: {
      list: list(
        "listUsage",
        "entitlementSlug",
        "entitlementType",
        "licenseValue",
        "usageValue",
        "currentPeriodStart",
        "currentPeriodEnd",
      ),
      get: "getUsage",
      report: "reportUsage",
    },
  },
  {
    name: "leases",
    about: "Seats of an instance that are held now",
    commands: {
      list: list("listLeases", "id", "holder", "acquiredAt", "renewedAt", "expiresAt"),
      acquire: "acquireLease",
      release: "releaseLease",
    },
  },
  {
    name: "reservations",
    about: "Reserved quantities of an entitlement",
    commands: {
      create: "createReservation",
      get: "getReservation",
      commit: "commitReservation",
      release: "releaseReservation",
    },
  },
  {
    name: "flags",
    about: "Feature flags",
    commands: {
      list: list("listFeatureFlags", "key", "type", "enabled", "defaultVariant", "name"),
      get: "getFeatureFlag",
      create: "createFeatureFlag",
      update: "updateFeatureFlag",
      delete: "deleteFeatureFlag",
    },
  },
  {
    name: "components",
    about: "Versions of the components that releases consist of",
    commands: {
      list: list("listComponents", "id", "slug", "name", "version", "createdAt"),
      get: "getComponent",
      create: "createComponent",
      delete: "deleteComponent",
    },
  },
  {
    name: "releases",
    about: "Releases",
    commands: {
      list: list("listReleases", "id", "slug", "version", "createdAt"),
      get: "getRelease",
      create: "createRelease",
      delete: "deleteRelease",
    },
  },
  {
    name: "zones",
    about: "Deployment zones, and the releases that run in them",
    commands: {
      list: list("listDeploymentZones", "id", "slug", "type", "releaseId", "name"),
      get: "getDeploymentZone",
      create: "createDeploymentZone",
      update: "updateDeploymentZone",
      delete: "deleteDeploymentZone",
      deployments: list("listDeployments", "releaseSlug", "releaseVersion", "deployedAt", "deployedBy"),
    },
  },
  {
    name: "metadata-fields",
    about: "Fields that the metadata of instances and zones can have",
    commands: {
      list: list("listMetadataFields", "id", "key", "resourceType", "label", "archivedAt"),
      create: "createMetadataField",
      update: "updateMetadataField",
      archive: "archiveMetadataField",
      unarchive: "unarchiveMetadataField",
      "dry-run": "dryRunMetadataField",
    },
  },
  {
    name: "webhooks",
    about: "Webhook endpoints and their deliveries",
    commands: {
      list: list("listWebhookEndpoints", "id", "url", "eventNames", "disabledAt", "disabledReason"),
      get: "getWebhookEndpoint",
      create: "createWebhookEndpoint",
      update: "updateWebhookEndpoint",
      delete: "deleteWebhookEndpoint",
      "rotate-secret": "rotateWebhookEndpointSecret",
      test: "testWebhookEndpoint",
      enable: "enableWebhookEndpoint",
      history: list(
        "listWebhookAttempts",
        "timestamp",
        "deliveryId",
        "eventName",
        "endpointUrl",
        "attempt",
        "state",
        "statusCode",
        "nextAttemptAt",
        "error",
      ),
      retry: "retryWebhookDelivery",
      recover: "recoverWebhookDeliveries",
    },
  },
]

/** The list of the events, to which `events` adds `tail`. */
export const EVENTS = list("listEvents", "timestamp", "type", "actor", "data")
