/** The commands about what is sold: customers, licenses, entitlements and usage. */
import { list, tokenColumns } from "./Entries.ts"
import type { Noun } from "./Entries.ts"

export const SALES_NOUNS: ReadonlyArray<Noun> = [
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
    name: "instance-releases",
    about: "The releases that an instance may have, and why not the others",
    commands: {
      list: list("listInstanceReleases", "allowed", "reason", "explanation"),
      get: "getInstanceRelease",
    },
  },
  {
    name: "license-keys",
    about: "License keys: tokens that are confined to one instance",
    commands: {
      list: list("listLicenseKeys", ...tokenColumns),
      create: "createLicenseKey",
      rotate: "rotateLicenseKey",
      revoke: "revokeLicenseKey",
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
    name: "add-ons",
    about: "What an instance has bought beside its license",
    commands: {
      list: list("listAddOns", "addOn", "license", "quantity", "startsAt", "endsAt", "reason"),
      get: "getAddOn",
      put: "putAddOn",
      remove: "deleteAddOn",
    },
  },
  {
    name: "credits",
    about: "Amounts that an instance can use once, after its limit",
    commands: {
      list: list("listCredits", "id", "amount", "remaining", "state", "priority", "startsAt", "expiresAt", "reason"),
      get: "getCredit",
      create: "createCredit",
      void: "voidCredit",
      usage: list("listCreditUses", "timestamp", "instance", "eventId", "quantity"),
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
    name: "license-migrations",
    about: "Moves of many instances to another license version",
    commands: {
      list: list("listLicenseMigrations", "id", "from", "to", "state", "at", "counts", "finishedAt"),
      get: "getLicenseMigration",
      request: "migrateLicense",
      items: list("listLicenseMigrationItems", "instance", "state", "code"),
      cancel: "cancelLicenseMigration",
      revert: "revertLicenseMigration",
    },
  },
  {
    name: "grants",
    about: "Entitlements that a license version grants",
    commands: {
      list: list("listLicenseEntitlements", "entitlementSlug", "value", "overagePercent", "combine"),
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
      events: list(
        "listUsageEvents",
        "id",
        "timestamp",
        "value",
        "uniqueKey",
        "transactionId",
        "reportedBy",
        "voidedAt",
      ),
      void: "voidUsageEvent",
      history: "getUsageHistory",
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
]
