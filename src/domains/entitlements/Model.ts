/** Entitlements: what a license can grant. */
import { Schema } from "effect"
import { component } from "../../kernel/contract/Component.ts"
import { ActorReference } from "../../kernel/contract/Caller.ts"
import { nameFilter } from "../../kernel/contract/Page.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { Slug } from "../../kernel/values/Slug.ts"
import { Description, Name, PathName, Text } from "../../kernel/values/Text.ts"
import { Timestamp } from "../../kernel/values/Timestamp.ts"

/** The types of entitlements. */
export const entitlementTypes = ["BOOLEAN", "NUMBER", "CONFIG"] as const
export type EntitlementType = (typeof entitlementTypes)[number]

/** How the usage of a period is computed from its reports. */
export const aggregationMethods = ["SUM", "COUNT", "AVERAGE", "MIN", "MAX", "LATEST", "UNIQUE_COUNT"] as const
/** How reports are aggregated. */
export const ReportAggregation = Schema.Literals(aggregationMethods)
export type ReportAggregation = typeof ReportAggregation.Type

/** `CONCURRENT` has no reports: its usage is how many hold a lease at one time. */
export type AggregationMethod = typeof AggregationMethod.Type

/** How often usage resets to zero. */
export const resetPeriods = ["HOUR", "DAY", "WEEK", "MONTH", "YEAR"] as const
export type ResetPeriod = (typeof resetPeriods)[number]

/** What reset periods are aligned to: the UTC calendar (weeks start on Monday), or the instance's license start. */
export const resetAnchors = ["CALENDAR", "LICENSE_START"] as const
export type ResetAnchor = (typeof resetAnchors)[number]

export const EntitlementType = Schema.Literals(entitlementTypes).annotate(component("EntitlementType", "NUMBER"))
export const AggregationMethod = Schema.Literals([...aggregationMethods, "CONCURRENT"]).annotate(
  component("AggregationMethod", "SUM"),
)
export const ResetPeriod = Schema.Literals(resetPeriods).annotate(component("ResetPeriod", "MONTH"))
export const ResetAnchor = Schema.Literals(resetAnchors).annotate(component("ResetAnchor", "CALENDAR"))

const nullOr = <S extends Schema.Top>(schema: S, description: string) => Schema.NullOr(schema).annotate({ description })

/** A group that an entitlement belongs to. */
const EntitlementGroupReference = Schema.Struct({ id: Uuid, name: Schema.String, slug: Schema.String }).annotate(
  component("EntitlementGroupReference", { name: "Platform", slug: "platform" }),
)

export const Entitlement = Schema.Struct({
  id: Uuid,
  slug: Schema.String,
  name: Schema.String,
  description: Schema.NullOr(Schema.String),
  type: EntitlementType,
  aggregationMethod: nullOr(AggregationMethod, "`null` unless the type is `NUMBER`"),
  resetPeriod: nullOr(ResetPeriod, "How often usage resets to zero; `null` if it never does"),
  resetAnchor: nullOr(ResetAnchor, "`null` unless the type is `NUMBER`"),
  unitSingular: Schema.NullOr(Schema.String),
  unitPlural: Schema.NullOr(Schema.String),
  saleUnitFactor: nullOr(Schema.Finite, "The number of units in one sale unit"),
  saleUnitSingular: Schema.NullOr(Schema.String),
  saleUnitPlural: Schema.NullOr(Schema.String),
  displayOrder: Schema.Int,
  icon: Schema.NullOr(Schema.String),
  userFacing: Schema.Boolean,
  warningThresholdPercent: Schema.NullOr(Schema.Int),
  groupSlugs: Schema.Array(Schema.String),
  entitlementGroups: Schema.Array(EntitlementGroupReference),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  createdBy: ActorReference,
  updatedBy: ActorReference,
}).annotate(
  component("Entitlement", {
    slug: "api-calls",
    name: "API calls",
    description: "Requests to the public API",
    unitSingular: "call",
    unitPlural: "calls",
    saleUnitFactor: 1000,
    saleUnitSingular: "thousand calls",
    saleUnitPlural: "thousand calls",
    displayOrder: 10,
    icon: null,
    userFacing: true,
    warningThresholdPercent: 80,
    groupSlugs: ["platform"],
  }),
)
export type Entitlement = typeof Entitlement.Type

const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const DisplayOrder = Schema.Int.check(Schema.isBetween({ minimum: -2_147_483_648, maximum: 2_147_483_647 }))

/** The properties that can change. `null` sets the default: no value, order 0, user-facing. */
const changeable = {
  description: optional(Description),
  unitSingular: optional(Name),
  unitPlural: optional(Name),
  saleUnitFactor: optional(
    Schema.Finite.check(Schema.isGreaterThan(0)).annotate({ description: "The number of units in one sale unit" }),
  ),
  saleUnitSingular: optional(Name),
  saleUnitPlural: optional(Name),
  displayOrder: optional(DisplayOrder.annotate({ description: "Position in lists, lowest first; default 0" })),
  icon: optional(Text(1, 2048).annotate({ description: "Name or URL of an icon, stored unchanged" })),
  userFacing: optional(Schema.Boolean.annotate({ description: "Whether customers can see it; default `true`" })),
  warningThresholdPercent: optional(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 })).annotate({
      description: "The percentage of the limit at which a warning event is emitted",
    }),
  ),
}

/** Body of `POST /entitlements`. */
export const CreateEntitlement = Schema.Struct({
  name: Name,
  type: EntitlementType,
  slug: Schema.optionalKey(Slug),
  aggregationMethod: optional(AggregationMethod.annotate({ description: "Only for `NUMBER`; default `SUM`" })),
  resetPeriod: optional(
    ResetPeriod.annotate({
      description: "Only for `NUMBER`, but not for `CONCURRENT`; if omitted, usage never resets",
    }),
  ),
  resetAnchor: optional(ResetAnchor.annotate({ description: "Only for `NUMBER`; default `CALENDAR`" })),
  groupSlugs: Schema.optionalKey(
    Schema.Array(PathName)
      .check(Schema.isMaxLength(100, { expected: "at most 100 slugs" }))
      .annotate({ description: "Slugs of the groups that get the entitlement" }),
  ),
  ...changeable,
}).annotate(component("CreateEntitlement"))
export type CreateEntitlement = typeof CreateEntitlement.Type

/** Filters of `GET /entitlements`. */
export const entitlementFilters = {
  ...nameFilter,
  type: Schema.optionalKey(EntitlementType).annotate({ description: "Only entitlements of this type" }),
  group: Schema.optionalKey(PathName.annotate({ description: "Only entitlements in the group with this slug" })),
}
export interface EntitlementFilters {
  readonly q?: string
  readonly type?: EntitlementType
  readonly group?: string
}

/** Body of `PUT /entitlements/{entitlementSlug}`. */
export const UpdateEntitlement = Schema.Struct({ name: Schema.optionalKey(Name), ...changeable }).annotate(
  component("UpdateEntitlement"),
)
export type UpdateEntitlement = typeof UpdateEntitlement.Type
