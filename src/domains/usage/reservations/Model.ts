/** Reservations: quantities kept for someone for a while (contract, section 9, "Reservations"). */
import { Schema } from "effect"
import { ActorReference } from "../../../kernel/contract/Caller.ts"
import { Amount } from "../../../kernel/values/Decimal.ts"
import { Uuid } from "../../../kernel/values/Identifiers.ts"
import { FreeObject } from "../../../kernel/values/Text.ts"
import { DAY_MS, Timestamp } from "../../../kernel/values/Timestamp.ts"

/** `HELD` counts against what others get; the other three are for good. */
export const reservationStates = ["HELD", "COMMITTED", "RELEASED", "EXPIRED"] as const
export type ReservationState = (typeof reservationStates)[number]

/** How long a reservation is held unless asked otherwise, and at most; in seconds. */
export const DEFAULT_LIFETIME_SECONDS = 300
export const MAX_LIFETIME_SECONDS = DAY_MS / 1000

/** A reservation as it stands at the moment of the answer. */
export const Reservation = Schema.Struct({
  id: Uuid,
  instance: Schema.String.annotate({ description: "Slug of the instance" }),
  entitlement: Schema.String.annotate({ description: "Slug of the entitlement" }),
  quantity: Amount.annotate({ description: "What was reserved; a commit does not change it" }),
  state: Schema.Literals(reservationStates),
  expiresAt: Timestamp,
  committedQuantity: Schema.NullOr(Amount).annotate({
    description: "What the commit used; `null` unless `COMMITTED`",
  }),
  metadata: Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)),
  createdAt: Timestamp,
  createdBy: ActorReference,
})
export type Reservation = typeof Reservation.Type

/** Body of `POST /instances/{instanceSlug}/entitlements/{entitlementSlug}/reservations`. All has a default. */
export const Reserve = Schema.Struct({
  quantity: Schema.optionalKey(
    Schema.Finite.check(Schema.isGreaterThan(0)).annotate({
      description: "How much is kept: 1 if absent, at most 18 digits. For a `COUNT` it is 1",
    }),
  ),
  expiresInSeconds: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_LIFETIME_SECONDS })).annotate({
      description: "How long it is kept, up to a day; 300 if absent",
    }),
  ),
  metadata: Schema.optionalKey(FreeObject),
})
export type Reserve = typeof Reserve.Type

/** Body of `POST /reservations/{reservationId}/commit`. */
export const Commit = Schema.Struct({
  quantity: Schema.optionalKey(
    Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0)).annotate({
      description: "How much was used, at most what is held; all of it if absent. The rest is free again",
    }),
  ),
})
export type Commit = typeof Commit.Type

/** A reservation as it is stored: what expired still says that it is held. */
export interface StoredReservation {
  readonly id: string
  readonly instance: string
  readonly entitlement: string
  /** Decimals. */
  readonly quantity: string
  readonly committedQuantity: string | null
  readonly state: Exclude<ReservationState, "EXPIRED">
  readonly metadata: Readonly<Record<string, unknown>> | null
  readonly createdAt: Date
  readonly createdBy: ActorReference
  readonly expiresAt: Date
}
