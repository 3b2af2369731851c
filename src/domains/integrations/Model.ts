/** Integration records link customers and instances to third-party systems. */
import { Schema } from "effect"
import { component } from "../../kernel/contract/Component.ts"
import { ExternalId, IntegrationRecord, LastError, WebUrl } from "../customers/Model.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { Slug } from "../../kernel/values/Slug.ts"
import { Description, FreeObject, Name } from "../../kernel/values/Text.ts"
import { Timestamp, TimestampInput } from "../../kernel/values/Timestamp.ts"

/** The kind of resource that a record belongs to. */
export type IntegrationKind = "CUSTOMER" | "INSTANCE"

/** Identifies a record by its external id. */
export interface ExternalKey {
  readonly kind: IntegrationKind
  readonly connector: string
  readonly externalId: string
}

const PREFIX = "service.integration."

/** The name of a connector without the prefix `service.integration.`. */
export const Adapter = Schema.String.check(
  Schema.isPattern(/^[a-z][a-z0-9_-]*\.[a-z][a-z0-9_-]*$/, { expected: "an adapter: <kind>.<adapter>" }),
  Schema.isMaxLength(255 - PREFIX.length),
).annotate({ description: "Name of the connector without the prefix `service.integration.`, e.g. `crm.salesforce`" })

/** The name of the connector of an adapter. */
export const connectorOf = (adapter: string): string => PREFIX + adapter

/** An item of a list of integration records. */
export const NamedIntegrationRecord = Schema.Struct({
  integrationName: Schema.String.annotate({ description: "Name of the connector" }),
  ...IntegrationRecord.fields,
}).annotate(
  component("NamedIntegrationRecord", {
    integrationName: "service.integration.crm.salesforce",
    external_id: "0014x00001AbCdE",
    last_error: null,
    metadata: { owner: "sales-emea" },
    web_url: "https://acme.my.salesforce.example/0014x00001AbCdE",
  }),
)
export type NamedIntegrationRecord = typeof NamedIntegrationRecord.Type

/** The properties of the record in the bodies of both upserts. */
const recordProperties = {
  integrationMetadata: Schema.optionalKey(Schema.NullOr(FreeObject)).annotate({
    description: "Merged into the `metadata` of the record; a `null` value removes its key, `null` removes all keys",
  }),
  webUrl: Schema.optionalKey(Schema.NullOr(WebUrl)),
  error: Schema.optionalKey(Schema.NullOr(LastError)).annotate({
    description: "Stored as `last_error`; `null` or an empty text clears it",
  }),
}

/** Body of `PATCH /integration/{adapter}/customer/{externalId}`; `null` clears an optional property. */
export const UpsertCustomer = Schema.Struct({
  name: Schema.optionalKey(Name),
  slug: Schema.optionalKey(Slug),
  domain: Schema.optionalKey(Schema.NullOr(Name)),
  ...recordProperties,
}).annotate(component("UpsertCustomer"))
export type UpsertCustomer = typeof UpsertCustomer.Type

/** Body of `PATCH /integration/{adapter}/instance/{externalId}`; `null` clears an optional property. */
export const UpsertInstance = Schema.Struct({
  name: Schema.optionalKey(Name),
  slug: Schema.optionalKey(Slug),
  description: Schema.optionalKey(Schema.NullOr(Description)),
  customerExternalId: Schema.optionalKey(Schema.NullOr(ExternalId)).annotate({
    description: "External id of the customer in the same adapter; `null` only if its customer has none",
  }),
  licenseId: Schema.optionalKey(Uuid),
  deploymentZoneId: Schema.optionalKey(Schema.NullOr(Uuid)),
  startLicenseDate: Schema.optionalKey(TimestampInput),
  endLicenseDate: Schema.optionalKey(Schema.NullOr(TimestampInput)),
  endMaintenanceDate: Schema.optionalKey(Schema.NullOr(TimestampInput)),
  ...recordProperties,
}).annotate(component("UpsertInstance"))
export type UpsertInstance = typeof UpsertInstance.Type

/** The properties that both upserts share. */
export type UpsertRecord = Pick<UpsertCustomer, "error" | "integrationMetadata" | "webUrl">

const resultRecordProperties = {
  error: Schema.String.annotate({ description: "Last error of the integration; empty if there is none" }),
  integrationMetadata: Schema.Record(Schema.String, Schema.Unknown),
  webUrl: Schema.NullOr(Schema.String),
}

export const CustomerUpsertResult = Schema.Struct({
  name: Schema.String,
  slug: Schema.String,
  domain: Schema.NullOr(Schema.String),
  ...resultRecordProperties,
}).annotate(
  component("CustomerUpsertResult", {
    name: "Globex",
    slug: "globex",
    domain: "globex.example",
    error: "",
    integrationMetadata: { owner: "sales-emea" },
    webUrl: "https://acme.my.salesforce.example/0014x00001AbCdE",
  }),
)
export type CustomerUpsertResult = typeof CustomerUpsertResult.Type

export const InstanceUpsertResult = Schema.Struct({
  name: Schema.String,
  slug: Schema.String,
  description: Schema.NullOr(Schema.String),
  customerExternalId: Schema.NullOr(Schema.String).annotate({
    description: "External id of the customer in the same adapter; `null` if it has none",
  }),
  licenseId: Uuid,
  deploymentZoneId: Schema.NullOr(Uuid),
  startLicenseDate: Timestamp,
  endLicenseDate: Schema.NullOr(Timestamp),
  endMaintenanceDate: Schema.NullOr(Timestamp),
  ...resultRecordProperties,
}).annotate(
  component("InstanceUpsertResult", {
    name: "Globex production",
    slug: "globex-production",
    description: null,
    customerExternalId: "0014x00001AbCdE",
    error: "",
    integrationMetadata: {},
    webUrl: null,
    startLicenseDate: "2026-01-01T00:00:00.000Z",
    endLicenseDate: "2027-01-01T00:00:00.000Z",
    endMaintenanceDate: null,
  }),
)
export type InstanceUpsertResult = typeof InstanceUpsertResult.Type
