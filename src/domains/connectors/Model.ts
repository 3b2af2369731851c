/** Connectors: integrations with third-party systems, registered per installation and activated per organization. */
import { Schema } from "effect"
import { component } from "../../kernel/contract/Component.ts"
import { ActorReference } from "../../kernel/contract/Caller.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { Text } from "../../kernel/values/Text.ts"
import { Timestamp } from "../../kernel/values/Timestamp.ts"

/** The name of a connector: `service.integration.<kind>.<adapter>`. */
export const ConnectorName = Schema.String.check(
  Schema.isPattern(/^service\.integration\.[a-z][a-z0-9_-]*\.[a-z][a-z0-9_-]*$/, {
    expected: "a connector name: service.integration.<kind>.<adapter>",
  }),
  Schema.isMaxLength(255),
).annotate({ description: "Name of the connector: `service.integration.<kind>.<adapter>`" })

export const JsonObject = Schema.Record(Schema.String, Schema.Unknown)

/** A JSON object with any properties. */
export type JsonObject = typeof JsonObject.Type

const settingsSchema = {
  type: "object",
  properties: { url: { type: "string", format: "uri" }, apiKey: { type: "string", writeOnly: true } },
  required: ["url", "apiKey"],
}

/** A connector of the installation. Built-in connectors are part of the service and have no dates or actors. */
export const RegisteredConnector = Schema.Struct({
  name: Schema.String,
  version: Schema.String,
  settings_schema: JsonObject,
  builtIn: Schema.Boolean,
  createdAt: Schema.NullOr(Timestamp),
  createdBy: Schema.NullOr(ActorReference),
  updatedAt: Schema.NullOr(Timestamp),
  updatedBy: Schema.NullOr(ActorReference),
}).annotate(
  component("RegisteredConnector", {
    name: "service.integration.crm.acme",
    version: "1.0.0",
    settings_schema: settingsSchema,
    builtIn: false,
  }),
)
export type RegisteredConnector = typeof RegisteredConnector.Type

/** Body of `POST /platform/connectors`. */
export const RegisterConnector = Schema.Struct({
  name: ConnectorName,
  version: Text(1, 64),
  settings_schema: JsonObject.annotate({
    description: "JSON Schema 2020-12 of the settings. Mark secrets with `writeOnly`",
  }),
}).annotate(component("RegisterConnector"))
export type RegisterConnector = typeof RegisterConnector.Type

const IncludedConnectors = Schema.Array(Schema.Union([Schema.Literal("*"), ConnectorName])).check(
  Schema.isMaxLength(1000),
)

/** Which connectors an organization's license includes. */
export const ConnectorInclusion = Schema.Struct({
  organizationId: Uuid,
  connectors: Schema.Array(Schema.String).annotate({ description: '`"*"` includes every connector' }),
  updatedAt: Schema.NullOr(Timestamp),
  updatedBy: Schema.NullOr(ActorReference),
}).annotate(component("ConnectorInclusion", { connectors: ["service.integration.crm.salesforce"] }))
export type ConnectorInclusion = typeof ConnectorInclusion.Type

/** Body of `PUT /platform/organizations/{orgId}/license`. */
export const SetConnectorInclusion = Schema.Struct({ connectors: IncludedConnectors }).annotate(
  component("SetConnectorInclusion"),
)
export type SetConnectorInclusion = typeof SetConnectorInclusion.Type

export const Activation = Schema.Struct({ activatedAt: Timestamp, connectorName: Schema.String }).annotate(
  component("ConnectorActivation", { connectorName: "service.integration.crm.salesforce" }),
)
export type Activation = typeof Activation.Type

export const ConnectorState = Schema.Struct({
  connectorName: Schema.String,
  available: Schema.Boolean.annotate({ description: "Whether the installation has this connector" }),
  entitled: Schema.Boolean.annotate({ description: "Whether the organization's license includes the connector" }),
  activated: Schema.Boolean.annotate({ description: "Whether the organization has activated the connector" }),
  activatedAt: Schema.NullOr(Timestamp),
  version: Schema.NullOr(Schema.String).annotate({
    description: "Version of the settings schema, `null` if the connector is not available",
  }),
}).annotate(
  component("ConnectorState", {
    connectorName: "service.integration.crm.salesforce",
    available: true,
    entitled: true,
    activated: true,
    version: "1.0.0",
  }),
)
export type ConnectorState = typeof ConnectorState.Type

export const SettingsSchema = Schema.Struct({
  connector_name: Schema.String,
  schema: JsonObject,
  version: Schema.String,
}).annotate(
  component("ConnectorSettingsSchema", {
    connector_name: "service.integration.crm.acme",
    schema: settingsSchema,
    version: "1.0.0",
  }),
)
export type SettingsSchema = typeof SettingsSchema.Type

export const SettingsRecord = Schema.Struct({
  connector_name: Schema.String,
  settings: JsonObject.annotate({ description: "The settings, with secrets as `***`" }),
  version: Schema.String.annotate({ description: "Version of the schema when the settings were stored" }),
  updatedAt: Timestamp,
  updatedBy: ActorReference,
}).annotate(
  component("ConnectorSettings", {
    connector_name: "service.integration.crm.acme",
    settings: { url: "https://crm.acme.example", apiKey: "***" },
    version: "1.0.0",
  }),
)
export type SettingsRecord = typeof SettingsRecord.Type

/** Body of `PUT /connectors/{connectorName}/settings`. */
export const PutSettings = Schema.Struct({
  settings: JsonObject.annotate({
    description: "The settings. A secret sent as `***` or omitted keeps its stored value",
  }),
}).annotate(component("PutConnectorSettings"))
export type PutSettings = typeof PutSettings.Type

export const TestResult = Schema.Struct({
  status: Schema.Literals(["succeeded", "failed"]).annotate(component("ConnectorTestStatus", "succeeded")),
  message: Schema.String,
  checkedAt: Timestamp,
}).annotate(component("ConnectorTestResult", { message: "The connection works." }))
export type TestResult = typeof TestResult.Type
