/** Reservations: quantities that are reserved for a limited time. */
import { Schema } from "effect"
import { component } from "../../../kernel/contract/Component.ts"
import { ActorReference } from "../../../kernel/contract/Caller.ts"
import { Amount } from "../../../kernel/values/Decimal.ts"
import { Uuid } from "../../../kernel/values/Identifiers.ts"
import { FreeObject } from "../../../kernel/values/Text.ts"
import { Timestamp } from "../../../kernel/values/Timestamp.ts"
import { MAX_LIFETIME_SECONDS } from "../rules/Held.ts"

/** A `HELD` reservation reduces what other requests get. The other three states are final. */
const reservationStates = ["HELD", "COMMITTED", "RELEASED", "EXPIRED"] as const
export type ReservationState = (typeof reservationStates)[number]

/** The default lifetime of a reservation. */
export const DEFAULT_LIFETIME_SECONDS = 300

/** A reservation, with its state at the time of the response. */
export const Reservation = Schema.Struct({
  id: Uuid,
  instance: Schema.String.annotate({ description: "Slug of the instance" }),
  entitlement: Schema.String.annotate({ description: "Slug of the entitlement" }),
  quantity: Amount.annotate({ description: "The reserved quantity. A commit does not change it" }),
  state: Schema.Literals(reservationStates).annotate(component("ReservationState", "HELD")),
  expiresAt: Timestamp,
  committedQuantity: Schema.NullOr(Amount).annotate({
    description: "The quantity that the commit used; `null` unless `COMMITTED`",
  }),
  metadata: Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)),
  createdAt: Timestamp,
  createdBy: ActorReference,
}).annotate(
  component("Reservation", {
    instance: "globex-production",
    entitlement: "api-calls",
    quantity: 100,
    expiresAt: "2026-01-31T09:05:00.000Z",
    committedQuantity: null,
    metadata: null,
  }),
)
export type Reservation = typeof Reservation.Type

/**
 * Body of `POST /instances/{instanceSlug}/entitlements/{entitlementSlug}/reservations`. Every property has a default.
 */
export const Reserve = Schema.Struct({
  quantity: Schema.optionalKey(
    Schema.Finite.check(Schema.isGreaterThan(0)).annotate({
      description: "The quantity to reserve, at most 18 digits; default 1. For a `COUNT` it must be 1",
    }),
  ),
  expiresInSeconds: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_LIFETIME_SECONDS })).annotate({
      description: "The lifetime, up to a day; default 300",
    }),
  ),
  metadata: Schema.optionalKey(FreeObject),
}).annotate(component("CreateReservation"))
export type Reserve = typeof Reserve.Type

/** Body of `POST /reservations/{reservationId}/commit`. */
export const Commit = Schema.Struct({
  quantity: Schema.optionalKey(
    Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0)).annotate({
      description: "The quantity that was used, at most the reserved one; default all of it. The rest is released",
    }),
  ),
}).annotate(component("CommitReservation"))
export type Commit = typeof Commit.Type

/** A stored reservation. An expired one still has the state `HELD`. */
export const StoredReservation = Schema.Struct({
  ...Reservation.fields,
  /** Decimals. */
  quantity: Schema.String,
  committedQuantity: Schema.NullOr(Schema.String),
  state: Schema.Literals(["HELD", "COMMITTED", "RELEASED"]),
  /** What it has set aside of credits, as decimals; `null` if nothing. The rest is held of the limit. */
  credits: Schema.NullOr(Schema.Array(Schema.Struct({ credit: Schema.String, quantity: Schema.String }))),
})
export type StoredReservation = typeof StoredReservation.Type
