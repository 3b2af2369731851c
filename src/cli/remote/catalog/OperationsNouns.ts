/** The commands about operation: organizations, people, tokens, releases, flags and webhooks. */
import { list, tokenColumns } from "./Entries.ts"
import type { Noun } from "./Entries.ts"

export const OPERATIONS_NOUNS: ReadonlyArray<Noun> = [
  {
    name: "installation",
    about: "The installation itself; needs a platform credential",
    commands: { health: "getPlatformHealth" },
  },
  {
    name: "overview",
    about: "How many customers and instances there are, and whose access ends",
    commands: { get: "getOverview" },
  },
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
    name: "members",
    about: "People of the organization",
    commands: { list: list("listMembers", "user", "role", "createdAt") },
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
    name: "offline-bundles",
    about: "Offline bundles of an instance, and what verifies them",
    commands: {
      list: list("listOfflineBundles", "id", "sequence", "keyId", "issuedAt", "renewAt", "expiresAt", "revokedAt"),
      get: "getOfflineBundle",
      issue: "issueOfflineBundle",
      revoke: "revokeOfflineBundle",
      keys: "getOfflineKeys",
      revocations: "getOfflineRevocations",
    },
  },
  {
    name: "snapshots",
    about: "What an instance is granted now, signed for its product",
    commands: { get: "getSnapshot" },
  },
  {
    name: "offline-usage",
    about: "Usage that sites without a network wrote down in ledgers",
    commands: {
      list: list("listOfflineLedgers", "source", "lines", "closedAt", "forkedAt", "updatedAt"),
      upload: "uploadOfflineUsage",
    },
  },
  {
    name: "tranches",
    about: "What products may spend of hard limits without a request",
    commands: {
      list: list("listTranches", "holder", "entitlement", "periodStart", "unspent", "spendUntil", "heldUntil"),
      refill: "refillTranches",
      end: "endTranches",
    },
  },
  {
    name: "event-log",
    about: "The tamper-evident event log: its signed checkpoint, and proofs",
    commands: {
      checkpoint: "getEventCheckpoint",
      proof: "getEventProof",
      consistency: "getEventConsistency",
    },
  },
  {
    name: "signing-keys",
    about: "Keys that sign offline bundles and the event log",
    commands: {
      list: list("listSigningKeys", "kid", "purpose", "state", "createdAt", "activatedAt", "revokedAt"),
      create: "createSigningKey",
      activate: "activateSigningKey",
      revoke: "revokeSigningKey",
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
      images: "setComponentImages",
      delete: "deleteComponent",
    },
  },
  {
    name: "releases",
    about: "Releases",
    commands: {
      list: list("listReleases", "id", "slug", "version", "releasedAt", "createdAt"),
      get: "getRelease",
      create: "createRelease",
      access: "updateReleaseAccess",
      delete: "deleteRelease",
    },
  },
  {
    name: "zones",
    about: "Deployment zones, and the releases that run in them",
    commands: {
      list: list("listDeploymentZones", "id", "slug", "type", "releaseSlug", "releaseId", "name"),
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
      list: list("listWebhookEndpoints", "id", "url", "eventNames", "pausedAt", "disabledAt", "disabledReason"),
      get: "getWebhookEndpoint",
      create: "createWebhookEndpoint",
      update: "updateWebhookEndpoint",
      delete: "deleteWebhookEndpoint",
      "rotate-secret": "rotateWebhookEndpointSecret",
      test: "testWebhookEndpoint",
      enable: "enableWebhookEndpoint",
      pause: "pauseWebhookEndpoint",
      resume: "resumeWebhookEndpoint",
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
      recoverable: "countRecoverableWebhookDeliveries",
      recover: "recoverWebhookDeliveries",
    },
  },
]
