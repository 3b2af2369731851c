/** Instances: what a customer runs under a license, between two dates. */
import { Schema } from "effect"
import { component } from "../../kernel/contract/Component.ts"
import { Integrations, NewIntegrations } from "../customers/Model.ts"
import { GraceDays } from "../licenses/Model.ts"
import { ActorReference } from "../../kernel/contract/Caller.ts"
import { nameFilter } from "../../kernel/contract/Page.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { Slug } from "../../kernel/values/Slug.ts"
import { Description, FreeObject, Name, PathName } from "../../kernel/values/Text.ts"
import { Timestamp, TimestampInput } from "../../kernel/values/Timestamp.ts"

const OwnGraceDays = Schema.NullOr(GraceDays).annotate({
  description: "Days of access after the end of the license; `null`: those of the license version",
})

const MAINTENANCE = "Releases after it are not allowed for the instance; `null`: as long as the license"

export const Instance = Schema.Struct({
  id: Uuid,
  name: Schema.String,
  slug: Schema.String,
  description: Schema.NullOr(Schema.String),
  customerId: Uuid,
  customerSlug: Schema.String,
  customerName: Schema.String.annotate({ description: "The name that the customer has now" }),
  licenseId: Uuid.annotate({ description: "The license version of the instance" }),
  licenseSlug: Schema.String.annotate({ description: "Slug of the license version" }),
  licenseName: Schema.String.annotate({ description: "The name that the license version has now" }),
  deploymentZoneId: Schema.NullOr(Uuid),
  deploymentZoneSlug: Schema.NullOr(Schema.String),
  deploymentZoneName: Schema.NullOr(Schema.String).annotate({ description: "The name that the zone has now" }),
  startLicenseDate: Timestamp.annotate({ description: "The license grants access from this time on" }),
  endLicenseDate: Schema.NullOr(Timestamp).annotate({
    description: "From this time on, the license grants no access; `null`: it never ends",
  }),
  graceDays: OwnGraceDays,
  endMaintenanceDate: Schema.NullOr(Timestamp).annotate({ description: MAINTENANCE }),
  metadata: Schema.Record(Schema.String, Schema.Unknown),
  integrations: Integrations,
  createdAt: Timestamp,
  updatedAt: Timestamp,
  createdBy: ActorReference,
  updatedBy: ActorReference,
}).annotate(
  component("Instance", {
    name: "Globex production",
    slug: "globex-production",
    description: null,
    customerSlug: "globex",
    customerName: "Globex",
    licenseSlug: "pro",
    licenseName: "Pro",
    deploymentZoneSlug: "frankfurt",
    deploymentZoneName: "Frankfurt",
    startLicenseDate: "2026-01-01T00:00:00.000Z",
    endLicenseDate: "2027-01-01T00:00:00.000Z",
    graceDays: null,
    endMaintenanceDate: null,
    metadata: { region: "eu" },
    integrations: {},
  }),
)
export type Instance = typeof Instance.Type

/** The properties that name the customer and the license. A body has at most one of each group. */
const names = {
  customerId: Schema.optionalKey(Uuid),
  customerSlug: Schema.optionalKey(PathName),
  licenseId: Schema.optionalKey(Uuid),
  licenseSlug: Schema.optionalKey(PathName).annotate({ description: "Slug of a license version" }),
  licenseFamilySlug: Schema.optionalKey(PathName).annotate({
    description: "Slug of a license family; resolves to its current version",
  }),
}

const optional = {
  description: Schema.optionalKey(Schema.NullOr(Description)),
  deploymentZoneId: Schema.optionalKey(Schema.NullOr(Uuid)),
  metadata: Schema.optionalKey(Schema.NullOr(FreeObject)),
  graceDays: Schema.optionalKey(OwnGraceDays),
  endMaintenanceDate: Schema.optionalKey(Schema.NullOr(TimestampInput)).annotate({ description: MAINTENANCE }),
}

/** Body of `POST /instances`. */
export const CreateInstance = Schema.Struct({
  name: Name,
  slug: Schema.optionalKey(Slug),
  startLicenseDate: TimestampInput,
  endLicenseDate: Schema.NullOr(TimestampInput).annotate({ description: "`null`: the license never ends" }),
  ...names,
  ...optional,
  integrations: NewIntegrations,
}).annotate(component("CreateInstance"))
export type CreateInstance = typeof CreateInstance.Type

/** Body of `PATCH /instances/{instanceSlug}`; `null` clears an optional property. */
export const UpdateInstance = Schema.Struct({
  name: Schema.optionalKey(Name),
  startLicenseDate: Schema.optionalKey(TimestampInput),
  endLicenseDate: Schema.optionalKey(Schema.NullOr(TimestampInput)).annotate({
    description: "`null`: the license never ends",
  }),
  ...names,
  ...optional,
}).annotate(component("UpdateInstance"))
export type UpdateInstance = typeof UpdateInstance.Type

/** Identifies an instance by id or by slug. */
export type InstanceChoice = { readonly instanceId: string } | { readonly instanceSlug: string }

const BEFORE = "Only instances whose license %s before this time"
const AFTER = "Only instances whose license %s at or after this time"
const time = (description: string, verb: string) =>
  Schema.optionalKey(TimestampInput.annotate({ description: description.replace("%s", verb) }))

/** Filters of `GET /instances`. An instance without an end date ends neither before nor after a time. */
export const instanceFilters = {
  ...nameFilter,
  customer: Schema.optionalKey(PathName.annotate({ description: "Slug of the customer" })),
  license: Schema.optionalKey(PathName.annotate({ description: "Slug of the license version" })),
  licenseFamily: Schema.optionalKey(
    PathName.annotate({ description: "Slug of the license family, with all its versions" }),
  ),
  addOn: Schema.optionalKey(
    PathName.annotate({ description: "Slug of a family of add-ons: only instances with one of it in force" }),
  ),
  zone: Schema.optionalKey(PathName.annotate({ description: "Slug of the deployment zone" })),
  startsBefore: time(BEFORE, "starts"),
  startsAfter: time(AFTER, "starts"),
  endsBefore: time(BEFORE, "ends"),
  endsAfter: time(AFTER, "ends"),
}
export interface InstanceFilters {
  readonly q?: string
  readonly customer?: string
  readonly license?: string
  readonly licenseFamily?: string
  readonly addOn?: string
  readonly zone?: string
  readonly startsBefore?: Date
  readonly startsAfter?: Date
  readonly endsBefore?: Date
  readonly endsAfter?: Date
}

/** The number of an instance's next offline bundle. */
export const OfflineSequence = Schema.Struct({ id: Schema.String, slug: Schema.String, sequence: Schema.Int })
export type OfflineSequence = typeof OfflineSequence.Type

/** An instance with what it belongs to, by their slugs. */
export const InstanceSubject = Schema.Struct({
  id: Schema.String,
  slug: Schema.String,
  name: Schema.String,
  customer: Schema.Struct({ slug: Schema.String, name: Schema.String }),
  license: Schema.Struct({
    slug: Schema.String,
    family: Schema.String,
    version: Schema.String,
    name: Schema.String,
    type: Schema.String,
  }),
  zone: Schema.NullOr(Schema.Struct({ slug: Schema.String, type: Schema.String })),
  release: Schema.NullOr(Schema.Struct({ slug: Schema.String, version: Schema.String })),
})
export type InstanceSubject = typeof InstanceSubject.Type
