/** Schemas of feature flags and the manifest. */
import { Effect, Schema } from "effect"
import { component } from "../../kernel/contract/Component.ts"
import { ActorReference } from "../../kernel/contract/Caller.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { Description, FreeObject, Name, Text } from "../../kernel/values/Text.ts"
import { Timestamp } from "../../kernel/values/Timestamp.ts"

/** Types that the values of a flag can have. */
const flagTypes = ["boolean", "string", "integer", "float", "object"] as const
export type FlagType = (typeof flagTypes)[number]

/** Operators that compare an attribute of the evaluation context with the values of a condition. */
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

/** Metadata property that the manifest lists as the flag's default value. */
export const FALLBACK_PROPERTY = "fallback_value"

const MAX_VARIANTS = 100
const MAX_TARGETINGS = 100
const MAX_CONDITIONS = 20
const MAX_VALUES = 100

const FlagType = Schema.Literals(flagTypes).annotate(component("FeatureFlagType", "boolean"))

/** Key of a flag. It must be usable in a path, in a file name and in generated source code. */
export const FlagKey = Schema.String.check(
  Schema.isPattern(/^[a-zA-Z][a-zA-Z0-9._-]{0,127}$/, {
    expected: "a key: a letter, then up to 127 letters, digits, dots, underscores and hyphens",
  }),
)

const Variant = Schema.Struct({
  name: Name,
  value: Schema.Unknown.annotate({
    description: "Value of the flag's type; objects have the same limits as `metadata`",
  }),
}).annotate(component("FeatureFlagVariant", { name: "on", value: true }))
type Variant = typeof Variant.Type

// The operator decides which values fit. This only describes them, which `Unknown` cannot.
const AnyScalar = Schema.Any.check(
  Schema.makeFilter(() => true, {
    toJsonSchema: () => ({ anyOf: [{ type: "string" }, { type: "number" }, { type: "boolean" }] }),
  }),
) as unknown as Schema.Codec<unknown>

export const Condition = Schema.Struct({
  attribute: Text(1, 255).annotate({
    description:
      "Property of the evaluation context, such as `targetingKey`; dots address nested objects. Below `keyshelf` are facts of the instance, such as `keyshelf.license.family`, whatever the context says",
  }),
  operator: Schema.Literals(operators).annotate(component("FeatureFlagOperator", "EQUALS")),
  values: Schema.Array(AnyScalar)
    .check(Schema.isMaxLength(MAX_VALUES))
    .annotate({
      description:
        "Strings, numbers or booleans, depending on the operator. `IN`, `NOT_IN`, `CONTAINS`, `STARTS_WITH` and `ENDS_WITH` take one or more values. `EXISTS` takes none, or `false` to require absence. All others take exactly one",
    })
    .pipe(Schema.withDecodingDefaultKey(Effect.succeed([]))),
}).annotate(component("FeatureFlagCondition", { attribute: "plan", values: ["pro"] }))
export type Condition = typeof Condition.Type

export const Targeting = Schema.Struct({
  name: Name,
  conditions: Schema.Array(Condition)
    .check(Schema.isMaxLength(MAX_CONDITIONS))
    .annotate({ description: "All conditions must match; an empty list matches every context" }),
  variant: Schema.String.annotate({ description: "Name of the variant to serve" }),
  percentage: Schema.optionalKey(Schema.NullOr(Schema.Finite)).annotate({
    description: "Percentage of targeting keys to serve, 0 to 100 with up to three decimals; all if absent or `null`",
  }),
}).annotate(component("FeatureFlagTargeting", { name: "Customers of the pro plan", variant: "on" }))
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
}).annotate(
  component("FeatureFlag", {
    key: "new-dashboard",
    name: "New dashboard",
    description: null,
    enabled: true,
    metadata: { fallback_value: false },
    variants: [
      { name: "on", value: true },
      { name: "off", value: false },
    ],
    defaultVariant: "off",
  }),
)
export type FeatureFlag = typeof FeatureFlag.Type

/** The parts of a flag that an evaluation needs. */
export type EvaluatedFlag = Pick<
  FeatureFlag,
  "key" | "enabled" | "metadata" | "variants" | "defaultVariant" | "targetings"
>

const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** Properties that an update can change. `null` resets a property to its default. */
const changeable = {
  name: optional(Name.annotate({ description: "Defaults to the key" })),
  description: optional(Description),
  enabled: optional(Schema.Boolean.annotate({ description: "Defaults to `true`" })),
  metadata: optional(
    FreeObject.annotate({ description: "A `fallback_value` of the flag's type adds the flag to the manifest" }),
  ),
  variants: optional(Schema.Array(Variant).check(Schema.isMaxLength(MAX_VARIANTS))),
  defaultVariant: optional(
    Schema.String.annotate({ description: "Name of the variant to serve if no targeting matches" }),
  ),
  targetings: optional(
    Schema.Array(Targeting)
      .check(Schema.isMaxLength(MAX_TARGETINGS))
      .annotate({ description: "Evaluated in this order; the first match decides" }),
  ),
}

/** Body of `POST /feature-flags`. */
export const CreateFeatureFlag = Schema.Struct({ key: FlagKey, type: FlagType, ...changeable }).annotate(
  component("CreateFeatureFlag"),
)
export type CreateFeatureFlag = typeof CreateFeatureFlag.Type

/** Body of `PUT /feature-flags/{key}`. */
export const UpdateFeatureFlag = Schema.Struct(changeable).annotate(component("UpdateFeatureFlag"))
export type UpdateFeatureFlag = typeof UpdateFeatureFlag.Type

/** A flag in the OpenFeature manifest. */
export const ManifestFlag = Schema.Struct({
  key: Schema.String,
  name: Schema.String.annotate({ description: "Single line; the key if the flag has no name" }),
  description: Schema.String.annotate({ description: "Single line; empty if the flag has no description" }),
  type: FlagType,
  defaultValue: Schema.Unknown.annotate({ description: "The flag's `metadata.fallback_value`" }),
}).annotate(
  component("FeatureFlagManifestEntry", {
    key: "new-dashboard",
    name: "New dashboard",
    description: "",
    defaultValue: false,
  }),
)
export type ManifestFlag = typeof ManifestFlag.Type

/** Response of `GET /openfeature/v0/manifest`. */
export const Manifest = Schema.Struct({ flags: Schema.Array(ManifestFlag) }).annotate(
  component("FeatureFlagManifest", {}),
)
export type Manifest = typeof Manifest.Type
