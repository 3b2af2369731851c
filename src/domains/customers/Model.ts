/** Customers, to whom an organization issues licenses (interface specification, section 2). */
import { Schema } from "effect"
import { ActorReference } from "../../kernel/contract/Caller.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { Slug } from "../../kernel/values/Slug.ts"
import { Name } from "../../kernel/values/Text.ts"
import { Timestamp } from "../../kernel/values/Timestamp.ts"

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
})
export type IntegrationRecord = typeof IntegrationRecord.Type

/** Integration records by connector name. */
export const Integrations = Schema.Record(Schema.String, IntegrationRecord).annotate({
  description: "Integration records by connector name",
})
export type Integrations = typeof Integrations.Type

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
})
export type Customer = typeof Customer.Type

/** Body of `POST /customers`. */
export const CreateCustomer = Schema.Struct({
  name: Name,
  slug: Schema.optionalKey(Slug),
  domain: Schema.optionalKey(Schema.NullOr(Name)),
  externalCustomerId: Schema.optionalKey(Schema.NullOr(Name)),
})
export type CreateCustomer = typeof CreateCustomer.Type

/** Body of `PATCH /customers/{customerSlug}`; `null` clears an optional property. */
export const UpdateCustomer = Schema.Struct({
  name: Schema.optionalKey(Name),
  domain: Schema.optionalKey(Schema.NullOr(Name)),
  externalCustomerId: Schema.optionalKey(Schema.NullOr(Name)),
})
export type UpdateCustomer = typeof UpdateCustomer.Type

/** Identifies a customer by id or by slug. */
export interface CustomerChoice {
  readonly customerId?: string
  readonly customerSlug?: string
}
