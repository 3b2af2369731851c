/** Metadata fields: schemas for the metadata of zones and instances. */
import { Schema } from "effect"
import { component } from "../../kernel/contract/Component.ts"
import { ActorReference } from "../../kernel/contract/Caller.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { FreeObject, Name } from "../../kernel/values/Text.ts"
import { Timestamp } from "../../kernel/values/Timestamp.ts"

/** The kind of resource whose metadata a field describes. */
export const ResourceType = Schema.Literals(["DEPLOYMENT_ZONE", "INSTANCE"]).annotate(
  component("MetadataResourceType", "INSTANCE"),
)
export type ResourceType = typeof ResourceType.Type

const Key = Schema.String.check(
  Schema.isPattern(/^(?!__proto__$)[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$/, {
    expected: "1 to 100 letters, digits, `_`, `-` and `.`, beginning with a letter, a digit or `_`",
  }),
).annotate({ description: "The property of `metadata` that holds the value. Immutable" })

// `SchemaSafety.ts` validates it and reports the place of each error.
const JsonSchema = Schema.Record(Schema.String, Schema.Unknown).annotate({
  description:
    "JSON Schema 2020-12 of the value. Must be self-contained and within the limits of docs/metadata-fields.md",
})

const DisplayOrder = Schema.Int.check(Schema.isBetween({ minimum: -2_147_483_647, maximum: 2_147_483_647 })).annotate({
  description: "Position in lists, lowest first. The default is 0",
})

export const MetadataField = Schema.Struct({
  id: Uuid,
  key: Schema.String,
  label: Schema.String,
  resourceType: ResourceType,
  jsonSchema: JsonSchema,
  displayOrder: Schema.Int,
  archivedAt: Schema.optionalKey(Timestamp.annotate({ description: "Present only while the field is archived" })),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  createdBy: ActorReference,
  updatedBy: ActorReference,
}).annotate(
  component("MetadataField", {
    key: "region",
    label: "Region",
    jsonSchema: { type: "string", enum: ["eu", "us"] },
    displayOrder: 0,
  }),
)
export type MetadataField = typeof MetadataField.Type

/** Body of `POST /metadata-fields`. */
export const CreateMetadataField = Schema.Struct({
  jsonSchema: JsonSchema,
  key: Key,
  label: Name,
  resourceType: ResourceType,
  displayOrder: Schema.optionalKey(Schema.NullOr(DisplayOrder)),
}).annotate(component("CreateMetadataField"))
export type CreateMetadataField = typeof CreateMetadataField.Type

/** Body of `PATCH /metadata-fields/{metadataFieldId}`. Omitted properties keep their values. */
export const UpdateMetadataField = Schema.Struct({
  label: Schema.optionalKey(Name),
  jsonSchema: Schema.optionalKey(JsonSchema),
  displayOrder: Schema.optionalKey(Schema.NullOr(DisplayOrder)),
}).annotate(component("UpdateMetadataField"))
export type UpdateMetadataField = typeof UpdateMetadataField.Type

const isMetadataOfOneKey = Schema.is(FreeObject)

/** Body of `POST /metadata-fields/{metadataFieldId}/dry-run`: a value of the field's key in `metadata`. */
export const DryRun = Schema.Struct({
  value: Schema.Unknown.check(
    Schema.makeFilter((value) => isMetadataOfOneKey({ value }), {
      expected: "a value of at most 16 KiB, 3 levels and 64 keys per object, without NUL or lone surrogates",
    }),
  ).annotate({ description: "Any JSON value that `metadata` can hold" }),
}).annotate(component("MetadataFieldDryRun"))
export type DryRun = typeof DryRun.Type

/** An error of a value, as a dry-run reports it. */
const MetadataValueError = Schema.Struct({
  location: Schema.String.annotate({
    description: "Location of the error in the value, e.g. `body.value/racks/0`",
  }),
  message: Schema.String,
}).annotate(component("MetadataValueError", { location: "body.value", message: 'must be one of "eu", "us"' }))

/** The response of a dry-run. */
export const Verdict = Schema.Struct({
  valid: Schema.Boolean,
  errors: Schema.Array(MetadataValueError),
}).annotate(component("MetadataFieldVerdict", { valid: false }))
export type Verdict = typeof Verdict.Type

/** Query filters of the list. */
export const metadataFieldFilters = {
  resourceType: Schema.optionalKey(ResourceType.annotate({ description: "Only fields of this resource type" })),
}
