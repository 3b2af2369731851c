/** The kinds of records with one request each. */
import type { EntitlementType } from "../../../../domains/entitlements/Model.ts"
import { defaults as entitlementDefaults, measurementOf } from "../../../../domains/entitlements/Rules.ts"
import { defaultsOf as flagDefaultsOf } from "../../../../domains/flags/Rules.ts"
import { canonicalUrl } from "../../../../domains/webhooks/endpoints/Rules.ts"
import type { Properties } from "../Plan.ts"
import { isProperties, textOf } from "../Values.ts"
import type { RecordKind } from "./Records.ts"

const bySlug = {
  keyOf: (record: Properties) => textOf(record, "slug"),
  idOf: (record: Properties) => textOf(record, "slug"),
  method: "PUT",
} as const

const deletion = { action: "delete", method: "DELETE", suffix: "" } as const

export const entitlements: RecordKind = {
  ...bySlug,
  section: "entitlements",
  noun: "entitlement",
  path: "/api/entitlements",
  required: ["slug", "name", "type"],
  defaultsOf: ({ type }) => ({
    ...measurementOf({ name: "", type: type as EntitlementType }),
    ...entitlementDefaults,
  }),
  immutable: ["type", "aggregationMethod", "resetPeriod", "resetAnchor"],
  removal: deletion,
  hasDryRun: { update: false, removal: true },
}

export const entitlementGroups: RecordKind = {
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

export const metadataFields: RecordKind = {
  section: "metadataFields",
  noun: "metadata field",
  path: "/api/metadata-fields",
  keyOf: (record) => `${textOf(record, "resourceType")} ${textOf(record, "key")}`,
  idOf: (record) => textOf(record, "id"),
  method: "PATCH",
  required: ["key", "resourceType", "label", "jsonSchema"],
  defaultsOf: () => ({ displayOrder: 0 }),
  immutable: [],
  removal: { action: "archive", method: "POST", suffix: "/archive" },
  hasDryRun: { update: true, removal: true },
  isGone: ({ archivedAt }) => archivedAt !== undefined,
}

/** A targeting without what is the default. */
const targeting = (value: unknown): unknown => {
  if (!isProperties(value)) return value
  const { percentage = null, ...rest } = value
  return percentage === null ? rest : { ...rest, percentage }
}

export const featureFlags: RecordKind = {
  section: "featureFlags",
  noun: "feature flag",
  path: "/api/feature-flags",
  keyOf: (record) => textOf(record, "key"),
  idOf: (record) => textOf(record, "key"),
  method: "PUT",
  required: ["key", "type"],
  defaultsOf: (record) => ({ ...flagDefaultsOf(textOf(record, "key")) }),
  immutable: ["type"],
  removal: deletion,
  hasDryRun: { update: false, removal: false },
  canonical: ({ targetings, ...flag }) => ({
    ...flag,
    targetings: Array.isArray(targetings) ? targetings.map(targeting) : targetings,
  }),
}

/** The URL as the service stores it. The service rejects what is no URL. */
const urlOf = (record: Properties): string => {
  const url = textOf(record, "url")
  return URL.canParse(url) ? canonicalUrl(url) : url
}

export const webhooks: RecordKind = {
  section: "webhooks",
  noun: "webhook endpoint",
  path: "/api/webhooks",
  keyOf: urlOf,
  idOf: (record) => textOf(record, "id"),
  method: "PUT",
  required: ["url", "eventNames"],
  defaultsOf: () => ({ description: null }),
  immutable: [],
  removal: deletion,
  hasDryRun: { update: false, removal: false },
  canonical: ({ eventNames, ...endpoint }) => ({
    ...endpoint,
    url: urlOf(endpoint),
    eventNames: Array.isArray(eventNames) ? eventNames.map(String).toSorted() : eventNames,
  }),
}
