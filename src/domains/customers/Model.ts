/** Customers: those whom licenses are given to (interface specification, section 2). */
import { Schema } from "effect"
import { ActorReference } from "../../kernel/contract/Caller.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { Slug } from "../../kernel/values/Slug.ts"
import { Name } from "../../kernel/values/Text.ts"
import { Timestamp } from "../../kernel/values/Timestamp.ts"

/** What a third-party system knows of a customer or an instance. Its members are named as the specification names them. */
export const IntegrationRecord = Schema.Struct({
  external_id: Schema.String.annotate({ description: "Identifier in the third-party system" }),
  last_error: Schema.NullOr(Schema.String),
  metadata: Schema.Record(Schema.String, Schema.Unknown),
  // A text, not a `Timestamp`: the map comes out of one JSON column.
  synced_at: Schema.NullOr(
    Schema.String.annotate({ format: "date-time", description: "UTC, `YYYY-MM-DDTHH:mm:ss.sssZ`" }),
  ),
  web_url: Schema.NullOr(Schema.String),
})
export type IntegrationRecord = typeof IntegrationRecord.Type

/** Integration records by the adapter's name. */
export const Integrations = Schema.Record(Schema.String, IntegrationRecord).annotate({
  description: "Integration records by adapter name",
})
export type Integrations = typeof Integrations.Type

export const Customer = Schema.Struct({
  id: Uuid,
  name: Schema.String,
  slug: Schema.String,
  domain: Schema.NullOr(Schema.String),
  externalCustomerId: Schema.NullOr(Schema.String).annotate({
    description: "The caller's own identifier of the customer, unique in the organization",
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

/** Body of `PATCH /customers/{customerSlug}`; `null` clears what is optional. */
export const UpdateCustomer = Schema.Struct({
  name: Schema.optionalKey(Name),
  domain: Schema.optionalKey(Schema.NullOr(Name)),
  externalCustomerId: Schema.optionalKey(Schema.NullOr(Name)),
})
export type UpdateCustomer = typeof UpdateCustomer.Type

/** A customer as a body names it: by its id or by its slug. */
export interface CustomerChoice {
  readonly customerId?: string
  readonly customerSlug?: string
}
