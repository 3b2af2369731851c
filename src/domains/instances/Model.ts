/** Instances: what a customer runs under a license, from one date to another (interface specification, section 1). */
import { Schema } from "effect"
import { Integrations } from "../customers/Model.ts"
import { ActorReference } from "../../kernel/contract/Caller.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { Slug } from "../../kernel/values/Slug.ts"
import { Description, FreeObject, Name, PathName } from "../../kernel/values/Text.ts"
import { Timestamp, TimestampInput } from "../../kernel/values/Timestamp.ts"

export const Instance = Schema.Struct({
  id: Uuid,
  name: Schema.String,
  slug: Schema.String,
  description: Schema.NullOr(Schema.String),
  customerId: Uuid,
  licenseId: Uuid.annotate({ description: "The license version that the instance is assigned" }),
  deploymentZoneId: Schema.NullOr(Uuid),
  startLicenseDate: Timestamp.annotate({ description: "The first instant at which the license gives access" }),
  endLicenseDate: Schema.NullOr(Timestamp).annotate({ description: "The first instant at which it no longer does" }),
  metadata: Schema.Record(Schema.String, Schema.Unknown),
  integrations: Integrations,
  createdAt: Timestamp,
  updatedAt: Timestamp,
  createdBy: ActorReference,
  updatedBy: ActorReference,
})
export type Instance = typeof Instance.Type

/** The members that name the customer and the license: one of each kind. */
const names = {
  customerId: Schema.optionalKey(Uuid),
  customerSlug: Schema.optionalKey(PathName),
  licenseId: Schema.optionalKey(Uuid),
  licenseSlug: Schema.optionalKey(PathName).annotate({ description: "Slug of a license version" }),
  licenseFamilySlug: Schema.optionalKey(PathName).annotate({ description: "Stands for the family's current version" }),
}

const optional = {
  description: Schema.optionalKey(Schema.NullOr(Description)),
  deploymentZoneId: Schema.optionalKey(Schema.NullOr(Uuid)),
  metadata: Schema.optionalKey(Schema.NullOr(FreeObject)),
}

/** Body of `POST /instances`. */
export const CreateInstance = Schema.Struct({
  name: Name,
  slug: Schema.optionalKey(Slug),
  startLicenseDate: TimestampInput,
  endLicenseDate: TimestampInput,
  ...names,
  ...optional,
})
export type CreateInstance = typeof CreateInstance.Type

/** Body of `PATCH /instances/{instanceSlug}`; `null` clears what is optional. */
export const UpdateInstance = Schema.Struct({
  name: Schema.optionalKey(Name),
  startLicenseDate: Schema.optionalKey(TimestampInput),
  endLicenseDate: Schema.optionalKey(TimestampInput),
  ...names,
  ...optional,
})
export type UpdateInstance = typeof UpdateInstance.Type

/** An instance to be made. Its license may have an open end, which only a connector's upsert gives it. */
export type NewInstance = Omit<CreateInstance, "endLicenseDate"> & { readonly endLicenseDate: Date | null }

/** A change to an instance; a connector's upsert may open the license's end. */
export type InstanceChange = Omit<UpdateInstance, "endLicenseDate"> & { readonly endLicenseDate?: Date | null }

/** An instance as it is named: by its id or by its slug. */
export type InstanceChoice = { readonly instanceId: string } | { readonly instanceSlug: string }

/** Which instances a list shows: those of a customer, of a license version, in a deployment zone, by their slugs. */
export interface InstanceFilters {
  readonly customer?: string
  readonly license?: string
  readonly zone?: string
}
