/**
 * The file of `keyshelf apply` and `keyshelf export`: what an organization sells and how it is set up, in the properties of the API's
 * bodies. The JSON Schema for editors is generated from it.
 */
import { Schema } from "effect"
import { ConnectorName } from "../domains/connectors/Model.ts"
import { CreateEntitlement } from "../domains/entitlements/Model.ts"
import { CreateFeatureFlag } from "../domains/flags/Model.ts"
import { CreateEntitlementGroup } from "../domains/groups/Model.ts"
import { CreateGrant, CreateLicense, GrantedValue, LifecycleState } from "../domains/licenses/Model.ts"
import { CreateMetadataField } from "../domains/metadata/Model.ts"
import { CreateWebhookEndpoint } from "../domains/webhooks/Model.ts"
import { component } from "../kernel/contract/Component.ts"
import { Slug } from "../kernel/values/Slug.ts"
import { PathName } from "../kernel/values/Text.ts"

const { groupSlugs: _groups, ...entitlement } = CreateEntitlement.fields

const Entitlement = Schema.Struct({ ...entitlement, slug: Slug }).annotate(component("Entitlement"))

const EntitlementGroup = Schema.Struct({
  ...CreateEntitlementGroup.fields,
  slug: Slug,
  entitlementSlugs: Schema.optionalKey(
    Schema.Array(PathName).annotate({ description: "Slugs of all entitlements in the group; default none" }),
  ),
}).annotate(component("EntitlementGroup"))

const Grant = Schema.Struct({ ...CreateGrant.fields, value: GrantedValue }).annotate(component("Grant"))

const { familyId: _familyId, familySlug: _familySlug, lifecycleState: _initialState, ...version } = CreateLicense.fields

const LicenseVersion = Schema.Struct({
  ...version,
  slug: Slug,
  lifecycleState: Schema.optionalKey(LifecycleState).annotate({
    description: "Default `PUBLISHED`. A new version is created as a draft, and published when its grants are complete",
  }),
  changesAsDraft: Schema.optionalKey(Slug).annotate({
    description:
      "Slug of a new draft version of the family that gets the changes if this version is published. Without it, they are refused",
  }),
  grants: Schema.optionalKey(
    Schema.Array(Grant).annotate({ description: "All entitlements that the version grants; default none" }),
  ),
}).annotate(component("LicenseVersion"))

const LicenseFamily = Schema.Struct({
  slug: Slug.annotate({ description: "Slug of the family, which is that of its first version" }),
  versions: Schema.Array(LicenseVersion)
    .check(Schema.isMinLength(1, { expected: "at least one version" }))
    .annotate({ description: "The versions, oldest first" }),
}).annotate(component("LicenseFamily"))

const Connector = Schema.Struct({
  connectorName: ConnectorName,
  activated: Schema.optionalKey(Schema.Boolean).annotate({ description: "Default `true`" }),
  settings: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)).annotate({
    description:
      "The settings without their secrets; if omitted, they are not managed. A secret is omitted, and keeps its stored value, or is `${NAME}`: the environment variable that has it",
  }),
}).annotate(component("Connector"))

const section = <S extends Schema.Top>(entry: S, noun: string) =>
  Schema.optionalKey(Schema.Array(entry)).annotate({
    description: `All ${noun}. If omitted, they are not managed; with \`--prune\`, others than these are removed`,
  })

export const CatalogFile = Schema.Struct({
  metadataFields: section(
    Schema.Struct(CreateMetadataField.fields).annotate(component("MetadataField")),
    "metadata fields",
  ),
  entitlements: section(Entitlement, "entitlements"),
  entitlementGroups: section(EntitlementGroup, "entitlement groups"),
  licenseFamilies: section(LicenseFamily, "license families"),
  featureFlags: section(Schema.Struct(CreateFeatureFlag.fields).annotate(component("FeatureFlag")), "feature flags"),
  webhooks: section(
    Schema.Struct(CreateWebhookEndpoint.fields).annotate(component("WebhookEndpoint")),
    "webhook endpoints, each found again by its URL",
  ),
  connectors: section(Connector, "connectors that are active or have settings"),
}).annotate({ description: "A catalogue of Keyshelf: the file of `keyshelf apply` and `keyshelf export`" })
export type CatalogFile = typeof CatalogFile.Type

/** A part of the file. Records of a later section may refer to those of the ones before it. */
export type Section = keyof CatalogFile

/** The sections in the order in which they are applied. */
export const sections = Object.keys(CatalogFile.fields) as ReadonlyArray<Section>
