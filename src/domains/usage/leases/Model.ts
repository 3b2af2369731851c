/** Leases: the seats of a `CONCURRENT` entitlement. */
import { Schema } from "effect"
import { component } from "../../../kernel/contract/Component.ts"
import { Uuid } from "../../../kernel/values/Identifiers.ts"
import { FreeObject, Text } from "../../../kernel/values/Text.ts"
import { DAY_MS, Timestamp } from "../../../kernel/values/Timestamp.ts"

/** The default, the minimum and the maximum time to live of a lease. */
export const DEFAULT_TTL_SECONDS = 300
const MIN_TTL_SECONDS = 10
const MAX_TTL_SECONDS = (7 * DAY_MS) / 1000

const Holder = Text(1, 255)

export const Lease = Schema.Struct({
  id: Uuid,
  instance: Schema.String.annotate({ description: "Slug of the instance" }),
  entitlement: Schema.String.annotate({ description: "Slug of the entitlement" }),
  holder: Schema.String.annotate({ description: "Who holds the seat, such as a user or a device" }),
  acquiredAt: Timestamp,
  renewedAt: Timestamp.annotate({ description: "When it was renewed last, or acquired" }),
  expiresAt: Timestamp.annotate({ description: "The seat is free from this time on" }),
  metadata: Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)),
}).annotate(
  component("Lease", {
    instance: "globex-production",
    entitlement: "editors",
    holder: "anna@globex.example",
    acquiredAt: "2026-01-31T09:00:00.000Z",
    renewedAt: "2026-01-31T09:04:00.000Z",
    expiresAt: "2026-01-31T09:09:00.000Z",
    metadata: { host: "ws-12" },
  }),
)
export type Lease = typeof Lease.Type

/** Body of `POST /instances/{instanceSlug}/entitlements/{entitlementSlug}/leases`. */
export const AcquireLease = Schema.Struct({
  holder: Holder.annotate({ description: "Who holds the seat. A holder has one lease of an entitlement" }),
  ttlSeconds: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: MIN_TTL_SECONDS, maximum: MAX_TTL_SECONDS })).annotate({
      description: "For how long from now, 10 seconds to 7 days; default 300",
    }),
  ),
  metadata: Schema.optionalKey(FreeObject.annotate({ description: "If omitted, a renewal keeps what is stored" })),
}).annotate(component("AcquireLease"))
export type AcquireLease = typeof AcquireLease.Type

/** Filters of the list of leases. */
export const leaseFilters = {
  holder: Schema.optionalKey(Holder.annotate({ description: "Only the lease of this holder" })),
}
