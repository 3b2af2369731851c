/** Bodies of checks, and the explanation of their answers for people who support users. */
import { Schema } from "effect"
import { ActorReference } from "../../../kernel/contract/Caller.ts"
import { component } from "../../../kernel/contract/Component.ts"
import { Amount } from "../../../kernel/values/Decimal.ts"
import { Uuid } from "../../../kernel/values/Identifiers.ts"
import { PathName } from "../../../kernel/values/Text.ts"
import { Timestamp, TimestampInput } from "../../../kernel/values/Timestamp.ts"
import { ResetAnchor, ResetPeriod } from "../../entitlements/Model.ts"
import type { EntitlementType } from "../../entitlements/Model.ts"
import { Combine, LifecycleState } from "../../licenses/Model.ts"
import { checkReasons } from "../rules/Decision.ts"

/** `HARD`: nothing above the limit. `SOFT`: overage up to a cap. `UNLIMITED`: no limit. */
const overageKinds = ["HARD", "SOFT", "UNLIMITED"] as const

/** Where a grant is from: the license version, add-ons, an override of the instance, or only a credit. */
const grantSources = ["LICENSE", "ADD_ON", "OVERRIDE", "CREDIT"] as const

const GrantSource = Schema.Literals(grantSources).annotate(component("GrantSource", "LICENSE"))

const ShownValue = Schema.Union([Amount, Schema.Boolean, Schema.Record(Schema.String, Schema.Unknown)])

/** Something that grants, beside others. */
const ShownSource = Schema.Struct({
  source: GrantSource,
  value: ShownValue.annotate({ description: "What it grants itself; of an add-on, once" }),
  combine: Schema.optionalKey(Combine).annotate({ description: "Of an add-on; of an override, its mode" }),
  quantity: Schema.optionalKey(Schema.Finite).annotate({ description: "Of an add-on" }),
  license: Schema.optionalKey(Schema.String).annotate({
    description: "Slug of the version, of a license or an add-on",
  }),
  by: Schema.optionalKey(ActorReference).annotate({ description: "Who set the add-on or made the override" }),
  at: Schema.optionalKey(Timestamp).annotate({ description: "When it was set or made" }),
  reason: Schema.optionalKey(Schema.NullOr(Schema.String)),
}).annotate(component("CheckedSource", { license: "pro" }))

/** A credit that is active. */
const ShownCredit = Schema.Struct({
  id: Uuid,
  amount: Amount,
  remaining: Amount.annotate({ description: "What neither usage nor reservations have taken of it" }),
  priority: Schema.Int,
  startsAt: Timestamp,
  expiresAt: Schema.NullOr(Timestamp),
  reason: Schema.NullOr(Schema.String),
}).annotate(component("CheckedCredit", { amount: 5_000, remaining: 4_700, priority: 50, reason: "Top-up" }))

/** Everything that one answer of a check was decided on. */
export const Explanation = Schema.Struct({
  license: Schema.Struct({
    slug: Schema.String,
    version: Schema.String.annotate({ description: "The number of the version in its family" }),
    family: Schema.String.annotate({ description: "Slug of the family" }),
    lifecycleState: LifecycleState,
    startLicenseDate: Timestamp,
    endLicenseDate: Schema.NullOr(Timestamp),
    graceDays: Schema.Finite.annotate({ description: "Days of access after the end, of the instance or its license" }),
  }).annotate({ ...component("CheckedLicense"), description: "The license version of the instance, with its dates" }),
  grant: Schema.NullOr(
    Schema.Struct({
      source: GrantSource,
      value: ShownValue,
      overagePercent: Schema.Finite,
      by: Schema.optionalKey(ActorReference).annotate({ description: "Who made the override" }),
      at: Schema.optionalKey(Timestamp).annotate({ description: "When the override was made" }),
      reason: Schema.optionalKey(Schema.NullOr(Schema.String)).annotate({ description: "The reason of the override" }),
    }).annotate(component("CheckedGrant")),
  ).annotate({
    description:
      "What is granted, by the license version, by add-ons or by an override of the instance; a credit alone grants with a limit of 0. `null` if nothing is",
  }),
  sources: Schema.Array(ShownSource).annotate({
    description: "All that grants at this instant, in the order in which it applies, also what a later source replaces",
  }),
  window: Schema.NullOr(
    Schema.Struct({
      start: Timestamp,
      end: Schema.NullOr(Timestamp).annotate({ description: "Exclusive; `null` if usage never resets" }),
      resetPeriod: Schema.NullOr(ResetPeriod),
      resetAnchor: Schema.NullOr(ResetAnchor),
    }).annotate(component("UsageWindow")),
  ).annotate({ description: "The usage period; `null` unless the entitlement is a `NUMBER`" }),
  overageRule: Schema.NullOr(
    Schema.Struct({
      kind: Schema.Literals(overageKinds).annotate(component("OverageKind", "HARD")),
      limit: Amount.annotate({ description: "Usage above it is overage; -1 if unlimited" }),
      cap: Amount.annotate({ description: "Usage above it is denied; -1 if unlimited" }),
    }).annotate(component("OverageRule")),
  ).annotate({ description: "`null` unless a `NUMBER` is granted" }),
  held: Schema.NullOr(Amount).annotate({
    description:
      "The quantity that reservations hold in the window, at the same instant as the figures; `null` unless a `NUMBER`",
  }),
  credits: Schema.optionalKey(Schema.Array(ShownCredit)).annotate({
    description: "The credits that are active, in the order in which they are used. Only if there is one",
  }),
  text: Schema.String.annotate({ description: "The same in a few sentences" }),
}).annotate(component("CheckExplanation"))

export type Explanation = typeof Explanation.Type

const MAX_CHECKS = 100

/** Body of `POST /instances/{instanceSlug}/check`. */
export const CheckRequest = Schema.Struct({
  checks: Schema.Array(
    Schema.Struct({
      entitlement: PathName.annotate({ description: "Slug of the entitlement" }),
      requested: Schema.optionalKey(
        Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0)).annotate({
          description: "For a `NUMBER`, the additional amount; default 1. With 0, whether usage is within the limit",
        }),
      ),
    }).annotate(component("EntitlementCheck")),
  ).check(Schema.isMinLength(1), Schema.isMaxLength(MAX_CHECKS)),
  consume: Schema.optionalKey(
    Schema.Boolean.annotate({
      description:
        "Whether to use the requested amounts if all of them are allowed; otherwise nothing is used. Requires `write:instances`",
    }),
  ),
  at: Schema.optionalKey(TimestampInput).annotate({
    description:
      "The instant of the check; default now. A past check uses the license, dates, grants and overrides at that instant, and the usage up to and including it. Not allowed with `consume`",
  }),
  explain: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "Whether to add an `explanation` to each answer" }),
  ),
}).annotate(component("CheckRequest"))

export type CheckRequest = typeof CheckRequest.Type

const figure = (description: string) => Schema.NullOr(Amount).annotate({ description })

/** The reason of an answer, in checks and in refills of tranches. */
export const CheckReason = Schema.Literals(checkReasons).annotate(component("CheckReason", "GRANTED"))

/** The answer to one check. */
const CheckAnswer = Schema.Struct({
  entitlement: Schema.String,
  allowed: Schema.Boolean,
  reason: CheckReason,
  limit: figure("What is granted per period, -1 if unlimited; `null` unless a `NUMBER` is granted"),
  usage: figure("The usage in the period; `null` unless the entitlement is a `NUMBER`"),
  remaining: figure(
    "What is still available before the request, or after it if consumed: the limit minus usage and reserved quantities, and what is left of credits; -1 if unlimited",
  ),
  overage: figure("By how much the usage that no credit paid exceeds the limit, at the same instant"),
  currentPeriodStart: Schema.NullOr(Timestamp),
  currentPeriodEnd: Schema.NullOr(Timestamp).annotate({
    description: "`null` if usage never resets",
  }),
  credits: Schema.optionalKey(Amount).annotate({
    description: "What is left of its credits, which is in `remaining` too. Only if a credit is active",
  }),
  explanation: Schema.optionalKey(Explanation.annotate({ description: "Only with `explain`" })),
}).annotate(
  component("CheckAnswer", {
    entitlement: "api-calls",
    allowed: true,
    limit: 10_000,
    usage: 2_500,
    remaining: 7_500,
    overage: 0,
    currentPeriodStart: "2026-01-01T00:00:00.000Z",
    currentPeriodEnd: "2026-02-01T00:00:00.000Z",
  }),
)

/** The result of a request: an answer for each check, in the order of the request. */
export const CheckResult = Schema.Struct({
  instance: Schema.String.annotate({ description: "Slug of the instance" }),
  license: Schema.String.annotate({ description: "Slug of its license version" }),
  at: Timestamp,
  graceEndsAt: Schema.NullOr(Timestamp).annotate({
    description: "When access ends, if the license has ended and is in its grace period; otherwise `null`",
  }),
  checks: Schema.Array(CheckAnswer),
}).annotate(component("CheckResult", { instance: "globex-production", license: "pro", graceEndsAt: null }))

export type CheckResult = typeof CheckResult.Type

/** The standing of an instance with one entitlement: the answer to a check, and what the check does not return. */
export interface Standing {
  readonly type: EntitlementType
  /** The granted object of a `CONFIG`; `null` for other types, and where nothing is granted. */
  readonly configuration: Readonly<Record<string, unknown>> | null
  /** What is granted, whether or not the license is running: a boolean, a limit or an object; `null`: nothing. */
  readonly granted: number | boolean | Readonly<Record<string, unknown>> | null
  readonly answer: CheckResult["checks"][number]
}
