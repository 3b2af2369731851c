/** The records that catalogues are about, as the service returns them. */
import { Schema } from "effect"
import type { CatalogFile, Section } from "../../../api/CatalogFile.ts"
import { ConnectorState, SettingsRecord } from "../../../domains/connectors/Model.ts"
import { Entitlement } from "../../../domains/entitlements/Model.ts"
import { FeatureFlag } from "../../../domains/flags/Model.ts"
import { EntitlementGroup } from "../../../domains/groups/Model.ts"
import { Grant, License } from "../../../domains/licenses/Model.ts"
import { MetadataField } from "../../../domains/metadata/Model.ts"
import { WebhookEndpoint } from "../../../domains/webhooks/Model.ts"

// Times are sent back as they were read.
const written = { createdAt: Schema.String, updatedAt: Schema.String }

/** A license version without its grants, which are a list of their own. */
export const LicenseTerms = Schema.Struct({ ...License.fields, ...written })

const LicenseVersion = Schema.Struct({ ...LicenseTerms.fields, grants: Schema.Array(Grant) })
/** A license version with its grants. */
export type StoredVersion = typeof LicenseVersion.Type

/** A connector of the service: its state, and the settings with their JSON Schema, which says what is secret. */
const Connector = Schema.Struct({
  connectorName: ConnectorState.fields.connectorName,
  available: Schema.Boolean,
  activated: Schema.Boolean,
  settings: Schema.optionalKey(SettingsRecord.fields.settings),
  updatedAt: Schema.optionalKey(Schema.String),
  updatedBy: Schema.optionalKey(SettingsRecord.fields.updatedBy),
  schema: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
})
export type StoredConnector = typeof Connector.Type

/** The record of each section. */
export const storedSchemas = {
  metadataFields: Schema.Struct({
    ...MetadataField.fields,
    ...written,
    archivedAt: Schema.optionalKey(Schema.String),
  }),
  entitlements: Schema.Struct({ ...Entitlement.fields, ...written }),
  entitlementGroups: Schema.Struct({ ...EntitlementGroup.fields, ...written }),
  licenseFamilies: LicenseVersion,
  featureFlags: Schema.Struct({ ...FeatureFlag.fields, ...written }),
  webhooks: Schema.Struct({
    ...WebhookEndpoint.fields,
    ...written,
    disabledAt: Schema.NullOr(Schema.String),
    failingSince: Schema.NullOr(Schema.String),
  }),
  connectors: Connector,
} as const satisfies Readonly<Record<Section, Schema.Top>>

/** A record of the service. */
export type StoredOf<S extends Section> = (typeof storedSchemas)[S]["Type"]

/** The entries of a section of the file. */
export type EntriesOf<S extends Section> = NonNullable<CatalogFile[S]>

/** An entry of the file. */
export type EntryOf<S extends Section> = EntriesOf<S>[number]

/** The records of the service, oldest first, of the sections that were read. */
export type Stored = { readonly [S in Section]?: ReadonlyArray<StoredOf<S>> }
