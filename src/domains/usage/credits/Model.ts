/** Credits: amounts that an instance can use once of an entitlement, after its limit. */
import { Schema } from "effect"
import { component } from "../../../kernel/contract/Component.ts"
import { ActorReference } from "../../../kernel/contract/Caller.ts"
import { Amount } from "../../../kernel/values/Decimal.ts"
import { Uuid } from "../../../kernel/values/Identifiers.ts"
import { Name, Text } from "../../../kernel/values/Text.ts"
import { Timestamp, TimestampInput } from "../../../kernel/values/Timestamp.ts"
import { creditStates } from "../rules/Burn.ts"

export const DEFAULT_PRIORITY = 50

const Priority = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100 })).annotate({
  description: `A lower one burns first; default ${DEFAULT_PRIORITY}`,
})

const Reason = Schema.NullOr(Name).annotate({ description: "Why, for people: shown in explanations" })

const ExternalId = Schema.NullOr(Text(1, 255)).annotate({
  description: "Your id of the purchase: no other credit of the organization has it",
})

/** A credit at the instant of the response. */
export const Credit = Schema.Struct({
  id: Uuid,
  instance: Schema.NullOr(Schema.String).annotate({ description: "Slug of the instance" }),
  customer: Schema.String.annotate({ description: "Slug of its customer" }),
  entitlement: Schema.String.annotate({ description: "Slug of the entitlement" }),
  amount: Amount,
  used: Amount.annotate({ description: "What it has paid" }),
  reserved: Amount.annotate({ description: "What reservations have set aside" }),
  remaining: Amount.annotate({ description: "What can still be used; 0 if it is voided or has expired" }),
  state: Schema.Literals(creditStates).annotate({
    ...component("CreditState", "OPEN"),
    description: "The first that fits: voided, past `expiresAt`, before `startsAt`, all of it used, or open",
  }),
  priority: Priority,
  startsAt: Timestamp.annotate({ description: "It pays usage with timestamps from then on" }),
  expiresAt: Schema.NullOr(Timestamp).annotate({
    description: "It pays no usage with a timestamp from then on; `null`: it does not expire",
  }),
  reason: Reason,
  externalId: ExternalId,
  createdAt: Timestamp,
  createdBy: ActorReference,
  voidedAt: Schema.NullOr(Timestamp),
  voidedBy: Schema.NullOr(ActorReference),
}).annotate(
  component("Credit", {
    instance: "globex-production",
    customer: "globex",
    entitlement: "api-calls",
    amount: 5_000,
    used: 0,
    reserved: 0,
    remaining: 5_000,
    priority: DEFAULT_PRIORITY,
    startsAt: "2026-01-30T09:00:00.000Z",
    expiresAt: "2026-06-30T00:00:00.000Z",
    reason: "Top-up",
    externalId: "in_1Q2",
    voidedAt: null,
    voidedBy: null,
  }),
)
export type Credit = typeof Credit.Type

/** Body of `POST /instances/{instanceSlug}/entitlements/{entitlementSlug}/credits`. */
export const CreateCredit = Schema.Struct({
  amount: Schema.Finite.check(Schema.isGreaterThan(0)).annotate({
    description: "Units of the entitlement, at most 18 digits; of a `COUNT` whole ones",
  }),
  priority: Schema.optionalKey(Priority),
  startsAt: Schema.optionalKey(TimestampInput).annotate({
    description:
      "Default now; at most 35 days ago. A credit that is entered late pays only what is reported afterwards",
  }),
  expiresAt: Schema.optionalKey(Schema.NullOr(TimestampInput)).annotate({
    description: "After `startsAt`; default: it does not expire",
  }),
  reason: Schema.optionalKey(Reason),
  externalId: Schema.optionalKey(ExternalId),
}).annotate(component("CreateCredit"))
export type CreateCredit = typeof CreateCredit.Type

/** A stored credit, with decimals as texts. */
export const CreditRow = Schema.Struct({
  ...Credit.mapFields(({ remaining: _remaining, state: _state, ...fields }) => fields).fields,
  instanceId: Schema.String,
  entitlementId: Schema.String,
  amount: Schema.String,
  used: Schema.String,
  /** `null` if nothing is set aside. */
  reserved: Schema.NullOr(Schema.String),
})
export type CreditRow = typeof CreditRow.Type

/** What a credit paid of an event of usage, or got back by a correction. */
export const CreditUse = Schema.Struct({
  instance: Schema.String.annotate({ description: "Slug of the instance" }),
  eventId: Schema.String.annotate({ description: "The event of usage" }),
  timestamp: Timestamp.annotate({ description: "When it was used" }),
  quantity: Amount.annotate({ description: "What the credit paid; negative: what a correction returned to it" }),
}).annotate(
  component("CreditUse", { instance: "globex-production", eventId: "mkzlq0ao-h-5f0b3c1d2e4f6a78", quantity: 250 }),
)
export type CreditUse = typeof CreditUse.Type
