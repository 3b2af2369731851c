/** The kinds of records with one request each. */
import { defaults as entitlementDefaults, measurementOf } from "../../../../domains/entitlements/Rules.ts"
import type { Targeting } from "../../../../domains/flags/Model.ts"
import { defaultsOf as flagDefaultsOf } from "../../../../domains/flags/Rules.ts"
import { canonicalUrl } from "../../../../domains/webhooks/endpoints/Rules.ts"
import type { RecordKind } from "./Records.ts"

const bySlug = {
  keyOf: ({ slug }: { readonly slug: string }) => slug,
  idOf: ({ slug }: { readonly slug: string }) => slug,
  method: "PUT",
} as const

const deletion = { action: "delete", method: "DELETE", suffix: "" } as const

export const entitlements: RecordKind<"entitlements"> = {
  ...bySlug,
  section: "entitlements",
  noun: "entitlement",
  path: "/api/entitlements",
  required: ["slug", "name", "type"],
  defaultsOf: ({ type }) => ({
    ...measurementOf({ name: "", type }),
    ...entitlementDefaults,
  }),
  immutable: ["type", "aggregationMethod", "resetPeriod", "resetAnchor"],
  removal: deletion,
  hasDryRun: { update: false, removal: true },
}

export const entitlementGroups: RecordKind<"entitlementGroups"> = {
  ...bySlug,
  section: "entitlementGroups",
  noun: "entitlement group",
  path: "/api/entitlement-groups",
  required: ["slug", "name"],
  defaultsOf: () => ({ description: null }),
  immutable: [],
  removal: deletion,
  hasDryRun: { update: false, removal: false },
}

export const metadataFields: RecordKind<"metadataFields"> = {
  section: "metadataFields",
  noun: "metadata field",
  path: "/api/metadata-fields",
  keyOf: ({ key, resourceType }) => `${resourceType} ${key}`,
  idOf: ({ id }) => id,
  method: "PATCH",
  required: ["key", "resourceType", "label", "jsonSchema"],
  defaultsOf: () => ({ displayOrder: 0 }),
  immutable: [],
  removal: { action: "archive", method: "POST", suffix: "/archive" },
  hasDryRun: { update: true, removal: true },
  isGone: ({ archivedAt }) => archivedAt !== undefined,
}

/** A targeting without what is the default. */
const targeting = ({ percentage = null, ...rest }: Targeting): Targeting =>
  percentage === null ? rest : { ...rest, percentage }

export const featureFlags: RecordKind<"featureFlags"> = {
  section: "featureFlags",
  noun: "feature flag",
  path: "/api/feature-flags",
  keyOf: ({ key }) => key,
  idOf: ({ key }) => key,
  method: "PUT",
  required: ["key", "type"],
  defaultsOf: ({ key }) => flagDefaultsOf(key),
  immutable: ["type"],
  removal: deletion,
  hasDryRun: { update: false, removal: false },
  canonical: ({ targetings, ...flag }) => ({
    ...flag,
    targetings: targetings?.map(targeting) ?? null,
  }),
}

/** The URL as the service stores it. The service rejects a text that is not a URL. */
const urlOf = ({ url }: { readonly url: string }): string => (URL.canParse(url) ? canonicalUrl(url) : url)

export const webhooks: RecordKind<"webhooks"> = {
  section: "webhooks",
  noun: "webhook endpoint",
  path: "/api/webhooks",
  keyOf: urlOf,
  idOf: ({ id }) => id,
  method: "PUT",
  required: ["url", "eventNames"],
  defaultsOf: () => ({ description: null }),
  immutable: [],
  removal: deletion,
  hasDryRun: { update: false, removal: false },
  canonical: ({ eventNames, ...endpoint }) => ({
    ...endpoint,
    url: urlOf(endpoint),
    eventNames: eventNames.toSorted(),
  }),
}
