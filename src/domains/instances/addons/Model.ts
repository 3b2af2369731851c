/** Add-ons: what an instance has bought beside its license, each with a quantity and a window of time. */
import { Schema } from "effect"
import { component } from "../../../kernel/contract/Component.ts"
import { ActorReference } from "../../../kernel/contract/Caller.ts"
import { Uuid } from "../../../kernel/values/Identifiers.ts"
import { Name, PathName } from "../../../kernel/values/Text.ts"
import { Timestamp, TimestampInput } from "../../../kernel/values/Timestamp.ts"
import { Combine } from "../../licenses/Model.ts"

const MAX_QUANTITY = 1_000_000

const Quantity = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_QUANTITY })).annotate({
  description: "How many times the add-on is bought. It multiplies what is granted with `ADD`",
})

const Reason = Schema.NullOr(Name).annotate({ description: "Why, for people: shown in explanations" })

export const AddOn = Schema.Struct({
  id: Uuid,
  instance: Schema.String.annotate({ description: "Slug of the instance" }),
  addOn: Schema.String.annotate({ description: "Slug of the license family" }),
  license: Schema.String.annotate({ description: "Slug of the version that the instance has" }),
  quantity: Quantity,
  startsAt: Timestamp.annotate({ description: "In force from this time on" }),
  endsAt: Schema.NullOr(Timestamp).annotate({
    description:
      "No longer in force from this time on: the end that was sent, or the start of what comes next; `null`: no end",
  }),
  reason: Reason,
  createdAt: Timestamp,
  createdBy: ActorReference,
  endedAt: Schema.NullOr(Timestamp).annotate({
    description: "When it was removed, or replaced before its start; otherwise `null`",
  }),
  endedBy: Schema.NullOr(ActorReference),
}).annotate(
  component("AddOn", {
    instance: "globex-production",
    addOn: "extra-calls",
    license: "extra-calls-v2",
    quantity: 3,
    startsAt: "2026-01-30T09:00:00.000Z",
    endsAt: null,
    reason: "Order 4711",
    endedAt: null,
    endedBy: null,
  }),
)
export type AddOn = typeof AddOn.Type

/** Body of `PUT /instances/{instanceSlug}/add-ons/{familySlug}`. */
export const PutAddOn = Schema.Struct({
  quantity: Schema.optionalKey(Quantity).annotate({ description: "Default 1" }),
  licenseSlug: Schema.optionalKey(PathName).annotate({
    description:
      "A version of the family. Default: the version in force at `startsAt`, otherwise the family's current one",
  }),
  startsAt: Schema.optionalKey(TimestampInput).annotate({ description: "Default now; not in the past" }),
  endsAt: Schema.optionalKey(Schema.NullOr(TimestampInput)).annotate({
    description: "After `startsAt`; default: no end",
  }),
  reason: Schema.optionalKey(Reason),
}).annotate(component("PutAddOn"))
export type PutAddOn = typeof PutAddOn.Type

/** An add-on as it is repeated in the row of its instance. All JSON: instants are ISO 8601 texts. */
export const AppliedAddOn = Schema.Struct({
  id: Schema.String,
  license: Schema.String,
  licenseId: Schema.String,
  quantity: Schema.Int,
  startsAt: Schema.String,
  endsAt: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(Schema.String),
  by: ActorReference,
  at: Schema.String,
})
export type AppliedAddOn = typeof AppliedAddOn.Type

/** An add-on with what its version grants of one entitlement. A number is a decimal text, so that it keeps all digits. */
export const GrantingAddOn = Schema.Struct({
  ...AppliedAddOn.fields,
  combine: Combine,
  value: Schema.Union([Schema.String, Schema.Boolean, Schema.Record(Schema.String, Schema.Unknown)]),
  /** `null`: it states none. */
  overagePercent: Schema.NullOr(Schema.Finite),
})
export type GrantingAddOn = typeof GrantingAddOn.Type
