/** Licenses: versions of families, and their grants. */
import { Schema } from "effect"
import { component } from "../../kernel/contract/Component.ts"
import { ActorReference } from "../../kernel/contract/Caller.ts"
import { Amount, parseJson } from "../../kernel/values/Decimal.ts"
import { nameFilter } from "../../kernel/contract/Page.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { Slug } from "../../kernel/values/Slug.ts"
import { Description, FreeObject, Name, PathName } from "../../kernel/values/Text.ts"
import { DAY_MS, LAST_INSTANT_MS, Timestamp } from "../../kernel/values/Timestamp.ts"

/** The commercial types of a license. An `ADD_ON` is bought beside a license, as often as its quantity says. */
const licenseTypes = ["COMMUNITY", "TRIAL", "DEVELOPMENT", "PAID", "ADD_ON"] as const
type LicenseType = (typeof licenseTypes)[number]

/** A draft is being prepared, a published version is on sale, an archived one serves only its existing instances. */
export const lifecycleStates = ["DRAFT", "PUBLISHED", "ARCHIVED"] as const
export type LifecycleState = (typeof lifecycleStates)[number]

const LicenseType = Schema.Literals(licenseTypes).annotate(component("LicenseType", "PAID"))

export const LifecycleState = Schema.Literals(lifecycleStates).annotate(component("LifecycleState", "PUBLISHED"))

export const MAX_GRACE_DAYS = 365

/** For how many days after its end a license still grants access. A day has 24 hours. */
export const GraceDays = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: MAX_GRACE_DAYS })).annotate({
  description: "For how many days of 24 hours instances keep their access after the end of the license",
})

/** The latest end of a license whose days of grace still end within the years that can be written. */
export const lastEndBefore = (graceDays: number): Date => new Date(LAST_INSTANT_MS - graceDays * DAY_MS)

const MIN_STALE_SECONDS = 600
/** 90 days: no snapshot lives longer. */
export const MAX_STALE_SECONDS = 7_776_000

const StaleSeconds = Schema.Int.check(
  Schema.isBetween({ minimum: MIN_STALE_SECONDS, maximum: MAX_STALE_SECONDS }),
).annotate({ description: "For how many seconds the last snapshot of an instance answers" })

const AwayAnswer = Schema.Literals(["DENY", "ALLOW"]).annotate({
  ...component("AwayAnswer", "DENY"),
  description:
    "Afterwards, `DENY` denies everything; `ALLOW` decides on by the last snapshot, whose ends of access apply",
})

/** What a product does that cannot reach the service. */
export const Away = Schema.Struct({ staleSeconds: StaleSeconds, then: AwayAnswer }).annotate({
  ...component("Away", { staleSeconds: 604_800, then: "DENY" }),
  description: "What a product does that cannot reach the service",
})
export type Away = typeof Away.Type

/** A week is longer than most outages, and short enough that a license that was taken away ends. */
export const DEFAULT_AWAY: Away = { staleSeconds: 604_800, then: "DENY" }

/** {@link Away} in bodies. */
const AwayInput = Schema.Struct({
  staleSeconds: Schema.optionalKey(StaleSeconds),
  then: Schema.optionalKey(AwayAnswer),
}).annotate({
  ...component("AwayInput", { staleSeconds: 604_800, then: "DENY" }),
  description: `What a product does that cannot reach the service. Omitted properties stay; by default ${DEFAULT_AWAY.staleSeconds} seconds and \`${DEFAULT_AWAY.then}\``,
})

export const License = Schema.Struct({
  id: Uuid,
  familyId: Uuid,
  familySlug: Schema.String,
  slug: Schema.String,
  name: Schema.String,
  version: Schema.String.annotate({ description: "The number of this version in its family" }),
  versionName: Schema.NullOr(Schema.String),
  description: Schema.NullOr(Schema.String),
  type: LicenseType,
  isDefault: Schema.Boolean.annotate({ description: "Whether its family resolves to this version" }),
  lifecycleState: LifecycleState,
  graceDays: GraceDays,
  away: Away,
  createdAt: Timestamp,
  updatedAt: Timestamp,
  createdBy: ActorReference,
  updatedBy: ActorReference,
}).annotate(
  component("License", {
    familySlug: "pro",
    slug: "pro",
    name: "Pro",
    version: "1",
    versionName: "2026",
    description: null,
    isDefault: true,
    graceDays: 14,
    away: DEFAULT_AWAY,
  }),
)
export type License = typeof License.Type

/** What shows whether a version is a license or an add-on. An instance has one license, and any add-ons beside it. */
export type Kind = Pick<License, "type">

/** Whether a version is bought beside a license. */
export const isAddOn = ({ type }: Kind): boolean => type === "ADD_ON"

const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** Body of `POST /licenses`. */
export const CreateLicense = Schema.Struct({
  name: Name,
  type: LicenseType,
  description: optional(Description),
  slug: Schema.optionalKey(Slug),
  familySlug: optional(PathName.annotate({ description: "Slug of the family to which the version is added" })),
  familyId: optional(Uuid.annotate({ description: "Id of the family to which the version is added" })),
  lifecycleState: Schema.optionalKey(
    Schema.Literals(["DRAFT", "PUBLISHED"]).annotate({
      ...component("InitialLifecycleState"),
      description: "Default `PUBLISHED`",
    }),
  ),
  isDefault: Schema.optionalKey(Schema.Boolean.annotate({ description: "Default `false`" })),
  versionName: optional(Name),
  graceDays: Schema.optionalKey(GraceDays).annotate({ description: "Default 0" }),
  away: Schema.optionalKey(AwayInput),
}).annotate(component("CreateLicense"))
export type CreateLicense = typeof CreateLicense.Type

/** Body of `PUT /licenses/{licenseSlug}`. */
export const UpdateLicense = Schema.Struct({
  name: Schema.optionalKey(Name),
  type: Schema.optionalKey(LicenseType),
  description: optional(Description),
  versionName: optional(Name),
  isDefault: Schema.optionalKey(Schema.Boolean),
  graceDays: Schema.optionalKey(GraceDays),
  away: Schema.optionalKey(AwayInput),
}).annotate(component("UpdateLicense"))
export type UpdateLicense = typeof UpdateLicense.Type

/** Filters of `GET /licenses`. */
export const licenseFilters = {
  family: Schema.optionalKey(PathName.annotate({ description: "Only versions of the family with this slug" })),
  lifecycleState: Schema.optionalKey(LifecycleState).annotate({ description: "Only versions in this state" }),
  type: Schema.optionalKey(LicenseType).annotate({ description: "Only licenses of this type" }),
  entitlement: Schema.optionalKey(
    PathName.annotate({ description: "Only versions that grant the entitlement with this slug" }),
  ),
  ...nameFilter,
}
export interface LicenseFilters {
  readonly q?: string
  readonly family?: string
  readonly lifecycleState?: LifecycleState
  readonly type?: LicenseType
  readonly entitlement?: string
}

export const LicenseFamily = Schema.Struct({
  id: Uuid,
  slug: Schema.String,
  currentVersion: Schema.NullOr(License).annotate({
    description: "The default version, otherwise the highest published one; `null` while none is published",
  }),
  createdAt: Timestamp,
  createdBy: ActorReference,
}).annotate(component("LicenseFamily", { slug: "pro" }))
export type LicenseFamily = typeof LicenseFamily.Type

/** The maximum number of versions in a family's response. */
export const MAX_VERSIONS = 200

/** A family with the requested versions. */
export const ResolvedLicenseFamily = Schema.Struct({
  ...LicenseFamily.fields,
  version: Schema.optionalKey(License).annotate({ description: "The version of the query parameter `version`" }),
  versions: Schema.optionalKey(
    Schema.Array(License).annotate({
      description: `All versions, highest first, at most ${MAX_VERSIONS}; only with \`include=versions\``,
    }),
  ),
}).annotate(component("ResolvedLicenseFamily", { slug: "pro" }))
export type ResolvedLicenseFamily = typeof ResolvedLicenseFamily.Type

/** What a request asks of a family beside its current version. */
export const familyQuery = {
  version: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^[1-9]\d{0,8}$/, { expected: "the number of a version" })).annotate({
      description: "Number of a version, which is returned as `version`",
    }),
  ),
  include: Schema.optionalKey(Schema.Literal("versions").annotate({ description: "Returns all versions too" })),
}
export interface FamilyQuery {
  readonly version?: string
  readonly include?: "versions"
}

const VALUE =
  "Depends on the type of the entitlement: a number (`-1` is unlimited), a boolean, or a configuration object"
export const GrantValue = Schema.Union([Schema.Finite, Schema.Boolean, FreeObject]).annotate({
  description: VALUE,
})
export type GrantValue = typeof GrantValue.Type

/** {@link GrantValue} in responses, where a number has all its digits. */
export const GrantedValue = Schema.Union([Amount, Schema.Boolean, FreeObject]).annotate({ description: VALUE })

const decodeGranted = Schema.decodeUnknownSync(GrantedValue)

/** The value of a stored grant or override: numbers keep all their digits, configurations are ordinary JSON. */
export const storedGrantValue = (text: string): GrantValue =>
  decodeGranted(text.startsWith("{") ? JSON.parse(text) : parseJson(text))

export const OveragePercent = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1000 })).annotate({
  description: "Percentage by which usage may exceed the value; 0 is a hard limit",
})

/** How an add-on changes what is granted without it. */
export const Combine = Schema.Literals(["ADD", "MAX", "SET"]).annotate({
  ...component("Combine", "ADD"),
  description:
    "How an add-on changes what is granted without it: `SET` replaces the license, `MAX` grants at least its value, `ADD` adds its value times its quantity",
})
export type Combine = typeof Combine.Type

const StatedOverage = Schema.NullOr(OveragePercent).annotate({
  description: "Percentage by which usage may exceed the value; 0 is a hard limit. `null` on an add-on: it states none",
})

const GrantCombine = Schema.optionalKey(Combine).annotate({ description: "On add-ons only" })

export const Grant = Schema.Struct({
  entitlementSlug: Schema.String,
  value: GrantedValue,
  overagePercent: StatedOverage,
  combine: GrantCombine,
}).annotate(component("LicenseEntitlement", { entitlementSlug: "api-calls", value: 10_000, overagePercent: 10 }))
export type Grant = typeof Grant.Type

/** Body of `POST /licenses/{licenseSlug}/entitlements`. */
export const CreateGrant = Schema.Struct({
  entitlementSlug: PathName,
  value: GrantValue,
  overagePercent: Schema.optionalKey(StatedOverage),
  combine: GrantCombine,
}).annotate(component("AssignLicenseEntitlement"))
export type CreateGrant = typeof CreateGrant.Type

/** Body of `PUT /licenses/{licenseSlug}/entitlements/{entitlementSlug}`. */
export const UpdateGrant = Schema.Struct({
  value: Schema.optionalKey(GrantValue),
  overagePercent: Schema.optionalKey(StatedOverage),
  combine: GrantCombine,
}).annotate(component("UpdateLicenseEntitlement"))
export type UpdateGrant = typeof UpdateGrant.Type
