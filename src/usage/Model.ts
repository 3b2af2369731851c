/** The check: may this instance use these entitlements (contract, sections 5 and 9, "Check"). */
import { Schema } from "effect"
import type { EntitlementType, ResetAnchor, ResetPeriod } from "../entitlements/Model.ts"
import { PathName } from "../kernel/Text.ts"
import { Timestamp, TimestampInput } from "../kernel/Timestamp.ts"

/** Why a check was answered as it was: the first three allow, the others refuse (contract section 5). */
export const checkReasons = [
  "GRANTED",
  "UNLIMITED",
  "SOFT_LIMIT",
  "LIMIT_REACHED",
  "NOT_GRANTED",
  "ENTITLEMENT_NOT_FOUND",
  "LICENSE_NOT_STARTED",
  "LICENSE_EXPIRED",
] as const
export type CheckReason = (typeof checkReasons)[number]

const MOST_CHECKS = 100

/** Body of `POST /instances/{instanceSlug}/check`. */
export const CheckRequest = Schema.Struct({
  checks: Schema.Array(
    Schema.Struct({
      entitlement: PathName.annotate({ description: "Slug of the entitlement" }),
      requested: Schema.optionalKey(
        Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0)).annotate({
          description: "How much more is wanted, for a `NUMBER`: 1 if absent, 0 asks whether usage is within the limit",
        }),
      ),
    }),
  ).check(Schema.isMinLength(1), Schema.isMaxLength(MOST_CHECKS)),
  at: Schema.optionalKey(TimestampInput).annotate({ description: "The instant the question is about; now if absent" }),
})
export type CheckRequest = typeof CheckRequest.Type

const figure = (description: string) => Schema.NullOr(Schema.Finite).annotate({ description })

/** The answer to one check. */
export const CheckAnswer = Schema.Struct({
  entitlement: Schema.String,
  allowed: Schema.Boolean,
  reason: Schema.Literals(checkReasons),
  limit: figure("What the license grants per period, -1 when unlimited; `null` unless a `NUMBER` is granted"),
  usage: figure("What was used in the period; `null` unless the entitlement is a `NUMBER`"),
  remaining: figure("What is left before the request, -1 when unlimited"),
  overage: figure("How far usage is over the limit before the request"),
  currentPeriodStart: Schema.NullOr(Timestamp),
  currentPeriodEnd: Schema.NullOr(Timestamp).annotate({
    description: "`null` when usage never starts again from zero",
  }),
})

/** The answer to all checks, in the order asked. */
export const CheckResult = Schema.Struct({
  instance: Schema.String.annotate({ description: "Slug of the instance" }),
  license: Schema.String.annotate({ description: "Slug of the license version it is assigned" }),
  at: Timestamp,
  checks: Schema.Array(CheckAnswer),
})
export type CheckResult = typeof CheckResult.Type

/** The instance of a check and its license version. */
export interface CheckedInstance {
  readonly instance: string
  readonly license: string
  readonly startLicenseDate: Date
  readonly endLicenseDate: Date | null
}

/** An entitlement of a check with what is granted of it and a usage total that may be the current period's. */
export interface CheckedEntitlement {
  readonly entitlement: string
  readonly type: EntitlementType
  readonly resetPeriod: ResetPeriod | null
  readonly resetAnchor: ResetAnchor | null
  /** A decimal, `true` or `false`, `{}` for a configuration; `null` when the license grants nothing. */
  readonly granted: string | null
  readonly overagePercent: number | null
  readonly periodStart: Date | null
  /** A decimal. */
  readonly used: string | null
}

/** A row without an entitlement stands for an instance of which only unknown entitlements were asked. */
export type CheckRow = CheckedInstance & (CheckedEntitlement | { readonly entitlement: null })
