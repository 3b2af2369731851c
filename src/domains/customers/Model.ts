/** Customers, to whom an organization issues licenses. */
import { Schema } from "effect"
import { component } from "../../kernel/contract/Component.ts"
import { ActorReference } from "../../kernel/contract/Caller.ts"
import { nameFilter } from "../../kernel/contract/Page.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { Slug } from "../../kernel/values/Slug.ts"
import { FreeObject, Name, PathName, Text } from "../../kernel/values/Text.ts"
import { Timestamp, TimestampInput } from "../../kernel/values/Timestamp.ts"

/** Links a customer or an instance to a third-party system. The specification fixes the property names. */
export const IntegrationRecord = Schema.Struct({
  external_id: Schema.String.annotate({ description: "Identifier in the third-party system" }),
  last_error: Schema.NullOr(Schema.String),
  metadata: Schema.Record(Schema.String, Schema.Unknown),
  // A string, not a `Timestamp`: the map is read from one JSON column.
  synced_at: Schema.NullOr(
    Schema.String.annotate({ format: "date-time", description: "UTC, `YYYY-MM-DDTHH:mm:ss.sssZ`" }),
  ),
  web_url: Schema.NullOr(Schema.String),
}).annotate(
  component("IntegrationRecord", {
    external_id: "0014x00001AbCdE",
    last_error: null,
    metadata: { owner: "sales-emea" },
    web_url: "https://acme.my.salesforce.example/0014x00001AbCdE",
  }),
)
export type IntegrationRecord = typeof IntegrationRecord.Type

/** Integration records by connector name. */
export const Integrations = Schema.Record(Schema.String, IntegrationRecord).annotate({
  description: "Integration records by connector name",
})
export type Integrations = typeof Integrations.Type

/** Identifier of a resource in the third-party system: any text of 1 to 255 characters. */
export const ExternalId = Name.annotate({ description: "Identifier in the third-party system" })

const MAX_URL_LENGTH = 2048

const isWebUrl = (text: string): boolean => {
  if (text.length > MAX_URL_LENGTH || !text.isWellFormed() || /[\s\p{Cc}]/u.test(text)) return false
  const url = URL.parse(text)
  return url !== null && (url.protocol === "https:" || url.protocol === "http:")
}

export const WebUrl = Schema.String.check(
  Schema.makeFilter(isWebUrl, {
    expected: `an http or https URL of at most ${MAX_URL_LENGTH} characters`,
    toJsonSchema: () => ({ format: "uri", maxLength: MAX_URL_LENGTH }),
  }),
)

/** The last error of an integration. */
export const LastError = Text(0, 4000).annotate({ description: "Last error of the integration" })

/** Body of the operations on one record. `null` clears an optional property. */
export const WriteIntegration = Schema.Struct({
  external_id: ExternalId,
  metadata: Schema.optionalKey(Schema.NullOr(FreeObject)),
  web_url: Schema.optionalKey(Schema.NullOr(WebUrl)),
  last_error: Schema.optionalKey(Schema.NullOr(LastError)),
  synced_at: Schema.optionalKey(Schema.NullOr(TimestampInput)),
}).annotate(component("WriteIntegration"))
export type WriteIntegration = typeof WriteIntegration.Type

const MAX_NEW_INTEGRATIONS = 50

/** The integration records of a new customer or instance, by connector name. */
export const NewIntegrations = Schema.optionalKey(
  Schema.Record(Schema.String, WriteIntegration)
    .check(Schema.isMaxProperties(MAX_NEW_INTEGRATIONS, { expected: `at most ${MAX_NEW_INTEGRATIONS} records` }))
    .annotate({ description: "Integration records by connector name, created together with the record" }),
)
export type NewIntegrations = Readonly<Record<string, WriteIntegration>> | undefined

export const Customer = Schema.Struct({
  id: Uuid,
  name: Schema.String,
  slug: Schema.String,
  domain: Schema.NullOr(Schema.String),
  externalCustomerId: Schema.NullOr(Schema.String).annotate({
    description: "Your identifier for the customer, unique in the organization",
  }),
  integrations: Integrations,
  createdAt: Timestamp,
  updatedAt: Timestamp,
  createdBy: ActorReference,
  updatedBy: ActorReference,
}).annotate(
  component("Customer", {
    name: "Globex",
    slug: "globex",
    domain: "globex.example",
    externalCustomerId: "crm-4711",
    integrations: {},
  }),
)
export type Customer = typeof Customer.Type

/** Body of `POST /customers`. */
export const CreateCustomer = Schema.Struct({
  name: Name,
  slug: Schema.optionalKey(Slug),
  domain: Schema.optionalKey(Schema.NullOr(Name)),
  externalCustomerId: Schema.optionalKey(Schema.NullOr(Name)),
  integrations: NewIntegrations,
}).annotate(component("CreateCustomer"))
export type CreateCustomer = typeof CreateCustomer.Type

/** Body of `PATCH /customers/{customerSlug}`; `null` clears an optional property. */
export const UpdateCustomer = Schema.Struct({
  name: Schema.optionalKey(Name),
  domain: Schema.optionalKey(Schema.NullOr(Name)),
  externalCustomerId: Schema.optionalKey(Schema.NullOr(Name)),
}).annotate(component("UpdateCustomer"))
export type UpdateCustomer = typeof UpdateCustomer.Type

/** Filters of `GET /customers`. */
export const customerFilters = {
  ...nameFilter,
  domain: Schema.optionalKey(
    PathName.annotate({ description: "Only customers with this domain; letter case does not matter" }),
  ),
  externalCustomerId: Schema.optionalKey(
    PathName.annotate({ description: "Only the customer with this identifier of yours" }),
  ),
}
export interface CustomerFilters {
  readonly q?: string
  readonly domain?: string
  readonly externalCustomerId?: string
}

/** Identifies a customer by id or by slug. */
export interface CustomerChoice {
  readonly customerId?: string
  readonly customerSlug?: string
}
