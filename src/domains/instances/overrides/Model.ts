/** Overrides: one instance gets other terms than its license. */
import { Schema } from "effect"
import { component } from "../../../kernel/contract/Component.ts"
import { ActorReference } from "../../../kernel/contract/Caller.ts"
import { Uuid } from "../../../kernel/values/Identifiers.ts"
import { Name } from "../../../kernel/values/Text.ts"
import { Timestamp, TimestampInput } from "../../../kernel/values/Timestamp.ts"
import { GrantedValue, GrantValue, OveragePercent } from "../../licenses/Model.ts"

/** `SET` replaces what the license grants. `ADD` adds to its number. */
const overrideModes = ["SET", "ADD"] as const

const OverrideMode = Schema.Literals(overrideModes).annotate(component("OverrideMode", "ADD"))

const OwnOveragePercent = Schema.NullOr(OveragePercent).annotate({
  description: "Percentage by which usage may exceed the value; `null`: that of the license, 0 if it grants nothing",
})

const Reason = Schema.NullOr(Name).annotate({ description: "Why, for people: shown in explanations" })

export const Override = Schema.Struct({
  id: Uuid,
  instance: Schema.String.annotate({ description: "Slug of the instance" }),
  entitlement: Schema.String.annotate({ description: "Slug of the entitlement" }),
  mode: OverrideMode,
  value: GrantedValue,
  overagePercent: OwnOveragePercent,
  startsAt: Timestamp.annotate({ description: "In force from this time on" }),
  endsAt: Schema.NullOr(Timestamp).annotate({ description: "No longer in force from this time on; `null`: no end" }),
  reason: Reason,
  createdAt: Timestamp,
  createdBy: ActorReference,
  endedAt: Schema.NullOr(Timestamp).annotate({ description: "When it was removed or replaced; otherwise `null`" }),
  endedBy: Schema.NullOr(ActorReference),
}).annotate(
  component("Override", {
    instance: "globex-production",
    entitlement: "api-calls",
    value: 5_000,
    overagePercent: null,
    startsAt: "2026-01-30T09:00:00.000Z",
    endsAt: "2026-04-30T00:00:00.000Z",
    reason: "Launch campaign",
    endedAt: null,
    endedBy: null,
  }),
)
export type Override = typeof Override.Type

/** Body of `PUT /instances/{instanceSlug}/entitlements/{entitlementSlug}/override`. */
export const PutOverride = Schema.Struct({
  mode: OverrideMode,
  value: GrantValue,
  overagePercent: Schema.optionalKey(OwnOveragePercent),
  startsAt: Schema.optionalKey(TimestampInput).annotate({ description: "Default now; not in the past" }),
  endsAt: Schema.optionalKey(Schema.NullOr(TimestampInput)).annotate({ description: "After `startsAt`" }),
  reason: Schema.optionalKey(Reason),
}).annotate(component("PutOverride"))
export type PutOverride = typeof PutOverride.Type

/**
 * An override as checks read it, with its instance. All JSON: instants are ISO 8601 texts, and a number is a decimal text, so that
 * it keeps all digits.
 */
export const AppliedOverride = Schema.Struct({
  mode: OverrideMode,
  value: Schema.Union([Schema.String, Schema.Boolean, Schema.Record(Schema.String, Schema.Unknown)]),
  overagePercent: Schema.NullOr(Schema.Finite),
  startsAt: Schema.String,
  endsAt: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(Schema.String),
  by: ActorReference,
  at: Schema.String,
})
export type AppliedOverride = typeof AppliedOverride.Type
