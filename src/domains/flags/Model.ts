/** Feature flags and their manifest (interface specification, section 2; contract, sections 5 and 9, "Flags"). */
import { Effect, Schema } from "effect"
import { ActorReference } from "../../kernel/contract/Caller.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { Description, FreeObject, Name, Text } from "../../kernel/values/Text.ts"
import { Timestamp } from "../../kernel/values/Timestamp.ts"

/** What the values of a flag are. */
export const flagTypes = ["boolean", "string", "integer", "float", "object"] as const
export type FlagType = (typeof flagTypes)[number]

/** How a condition compares an attribute of the evaluation context with its values. */
export const operators = [
  "EQUALS",
  "NOT_EQUALS",
  "IN",
  "NOT_IN",
  "CONTAINS",
  "STARTS_WITH",
  "ENDS_WITH",
  "GT",
  "GTE",
  "LT",
  "LTE",
  "SEMVER_GT",
  "SEMVER_GTE",
  "SEMVER_LT",
  "SEMVER_LTE",
  "BEFORE",
  "AFTER",
  "EXISTS",
] as const
export type Operator = (typeof operators)[number]

/** Keys that begin so are the entitlements', which are flags of every instance. */
export const ENTITLEMENT_PREFIX = "entitlement."

/** The member of a flag's metadata that the manifest lists as its default. */
export const FALLBACK = "fallback_value"

const MOST_VARIANTS = 100
const MOST_TARGETINGS = 100
const MOST_CONDITIONS = 20
const MOST_VALUES = 100

const FlagType = Schema.Literals(flagTypes)

/** The name of a flag in code: it must survive in a path, in a file and in generated source. */
export const FlagKey = Schema.String.check(
  Schema.isPattern(/^[a-zA-Z][a-zA-Z0-9._-]{0,127}$/, {
    expected: "a key: a letter, then up to 127 letters, digits, dots, underscores and hyphens",
  }),
)

export const Variant = Schema.Struct({
  name: Name,
  value: Schema.Unknown.annotate({ description: "A value of the flag's type; an object has the limits of `metadata`" }),
})
export type Variant = typeof Variant.Type

export const Condition = Schema.Struct({
  attribute: Text(1, 255).annotate({
    description: "A member of the evaluation context, `targetingKey` or another; dots lead into objects",
  }),
  operator: Schema.Literals(operators),
  values: Schema.Array(Schema.Unknown)
    .check(Schema.isMaxLength(MOST_VALUES))
    .annotate({
      description:
        "Texts, numbers or booleans, as the operator takes them: one, or for `IN`, `NOT_IN`, `CONTAINS`, `STARTS_WITH` and `ENDS_WITH` several. `EXISTS` takes none, or `false` for its opposite",
    })
    .pipe(Schema.withDecodingDefaultKey(Effect.succeed([]))),
})
export type Condition = typeof Condition.Type

export const Targeting = Schema.Struct({
  name: Name,
  conditions: Schema.Array(Condition)
    .check(Schema.isMaxLength(MOST_CONDITIONS))
    .annotate({ description: "All must hold; none means everybody" }),
  variant: Schema.String.annotate({ description: "Name of the variant that it serves" }),
  percentage: Schema.optionalKey(Schema.NullOr(Schema.Finite)).annotate({
    description:
      "Serves only this share of the targeting keys, 0 to 100 with up to three decimals; everybody if absent or `null`",
  }),
})
export type Targeting = typeof Targeting.Type

export const FeatureFlag = Schema.Struct({
  id: Uuid,
  key: Schema.String,
  name: Schema.String,
  description: Schema.NullOr(Schema.String),
  type: FlagType,
  enabled: Schema.Boolean,
  metadata: Schema.Record(Schema.String, Schema.Unknown),
  variants: Schema.Array(Variant),
  defaultVariant: Schema.NullOr(Schema.String),
  targetings: Schema.Array(Targeting),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  createdBy: ActorReference,
  updatedBy: ActorReference,
})
export type FeatureFlag = typeof FeatureFlag.Type

const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** The members that can change. `null` stands for their default. */
const changeable = {
  name: optional(Name.annotate({ description: "The key if absent" })),
  description: optional(Description),
  enabled: optional(Schema.Boolean.annotate({ description: "True if absent" })),
  metadata: optional(
    FreeObject.annotate({ description: "`fallback_value`, of the flag's type, puts the flag into the manifest" }),
  ),
  variants: optional(Schema.Array(Variant).check(Schema.isMaxLength(MOST_VARIANTS))),
  defaultVariant: optional(
    Schema.String.annotate({ description: "Name of the variant that is served where no targeting matches" }),
  ),
  targetings: optional(
    Schema.Array(Targeting)
      .check(Schema.isMaxLength(MOST_TARGETINGS))
      .annotate({ description: "In this order; the first that matches decides" }),
  ),
}

/** Body of `POST /feature-flags`. */
export const CreateFeatureFlag = Schema.Struct({ key: FlagKey, type: FlagType, ...changeable })
export type CreateFeatureFlag = typeof CreateFeatureFlag.Type

/** Body of `PUT /feature-flags/{key}`. */
export const UpdateFeatureFlag = Schema.Struct(changeable)
export type UpdateFeatureFlag = typeof UpdateFeatureFlag.Type

/** A flag as the OpenFeature manifest lists it. */
export const ManifestFlag = Schema.Struct({
  key: Schema.String,
  name: Schema.String.annotate({ description: "One line; the key where the flag has no name" }),
  description: Schema.String.annotate({ description: "One line, empty where the flag has none" }),
  type: FlagType,
  defaultValue: Schema.Unknown.annotate({ description: "The flag's `metadata.fallback_value`" }),
})
export type ManifestFlag = typeof ManifestFlag.Type

/** The answer of `GET /openfeature/v0/manifest`. */
export const Manifest = Schema.Struct({ flags: Schema.Array(ManifestFlag) })
export type Manifest = typeof Manifest.Type
