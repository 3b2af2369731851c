/** The explanation of a check: what its answer rests on, for the people who are asked about it. */
import { Schema } from "effect"
import { Amount } from "../../../kernel/values/Decimal.ts"
import { PathName } from "../../../kernel/values/Text.ts"
import { Timestamp, TimestampInput } from "../../../kernel/values/Timestamp.ts"
import { resetAnchors, resetPeriods } from "../../entitlements/Model.ts"
import type { EntitlementType } from "../../entitlements/Model.ts"
import { LifecycleState } from "../../licenses/Model.ts"
import { checkReasons } from "../rules/Decision.ts"

/** `HARD`: nothing over the limit. `SOFT`: overage up to a cap. `UNLIMITED`: no limit. */
export const overageKinds = ["HARD", "SOFT", "UNLIMITED"] as const

/** Everything that one answer of a check was decided on. */
export const Explanation = Schema.Struct({
  license: Schema.Struct({
    slug: Schema.String,
    version: Schema.String.annotate({ description: "The number of the version in its family" }),
    family: Schema.String.annotate({ description: "Slug of the family" }),
    lifecycleState: LifecycleState,
    startLicenseDate: Timestamp,
    endLicenseDate: Schema.NullOr(Timestamp),
  }).annotate({ description: "The license version that the instance has, and from when to when" }),
  grant: Schema.NullOr(
    Schema.Struct({
      value: Schema.Union([Amount, Schema.Boolean, Schema.Record(Schema.String, Schema.Unknown)]),
      overagePercent: Schema.Finite,
    }),
  ).annotate({ description: "What the license version grants; `null` if nothing" }),
  window: Schema.NullOr(
    Schema.Struct({
      start: Timestamp,
      end: Schema.NullOr(Timestamp).annotate({ description: "Not in the window; `null` if usage never starts again" }),
      resetPeriod: Schema.NullOr(Schema.Literals(resetPeriods)),
      resetAnchor: Schema.NullOr(Schema.Literals(resetAnchors)),
    }),
  ).annotate({ description: "Where usage is counted; `null` unless the entitlement is a `NUMBER`" }),
  overageRule: Schema.NullOr(
    Schema.Struct({
      kind: Schema.Literals(overageKinds),
      limit: Amount.annotate({ description: "Above it is overage; -1 when unlimited" }),
      cap: Amount.annotate({ description: "Above it everything is refused; -1 when unlimited" }),
    }),
  ).annotate({ description: "`null` unless a `NUMBER` is granted" }),
  held: Schema.NullOr(Amount).annotate({
    description: "What reservations keep from the window, at the same moment as the figures; `null` unless a `NUMBER`",
  }),
  text: Schema.String.annotate({ description: "The same for a person, in a few sentences" }),
})

export type Explanation = typeof Explanation.Type

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
  consume: Schema.optionalKey(
    Schema.Boolean.annotate({
      description: "Whether what is allowed is used at once: all of it, or nothing. Needs `write:instances`",
    }),
  ),
  at: Schema.optionalKey(TimestampInput).annotate({
    description:
      "The instant the question is about; now if absent. A past one is answered by what was true then: the license, dates and grants of then, and the usage up to then, that instant included. Not together with `consume`",
  }),
  explain: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "Whether each answer comes with its `explanation`" }),
  ),
})

export type CheckRequest = typeof CheckRequest.Type

const figure = (description: string) => Schema.NullOr(Amount).annotate({ description })

/** The answer to one check. */
export const CheckAnswer = Schema.Struct({
  entitlement: Schema.String,
  allowed: Schema.Boolean,
  reason: Schema.Literals(checkReasons),
  limit: figure("What the license grants per period, -1 when unlimited; `null` unless a `NUMBER` is granted"),
  usage: figure("What was used in the period; `null` unless the entitlement is a `NUMBER`"),
  remaining: figure(
    "What can still be had, before the request, or after it when consumed: the limit less what is used and what reservations hold; -1 when unlimited",
  ),
  overage: figure("How far usage is over the limit, at the same moment"),
  currentPeriodStart: Schema.NullOr(Timestamp),
  currentPeriodEnd: Schema.NullOr(Timestamp).annotate({
    description: "`null` when usage never starts again from zero",
  }),
  explanation: Schema.optionalKey(Explanation.annotate({ description: "If it was asked for by `explain`" })),
})

/** The answer to all checks, in the order asked. */
export const CheckResult = Schema.Struct({
  instance: Schema.String.annotate({ description: "Slug of the instance" }),
  license: Schema.String.annotate({ description: "Slug of the license version it is assigned" }),
  at: Timestamp,
  checks: Schema.Array(CheckAnswer),
})

export type CheckResult = typeof CheckResult.Type

/** How an instance stands with one entitlement: the answer to a check of it, and what the check leaves out. */
export interface Standing {
  readonly type: EntitlementType
  /** The granted object of a `CONFIG`; `null` for other types, and where nothing is granted. */
  readonly configuration: Readonly<Record<string, unknown>> | null
  readonly answer: CheckResult["checks"][number]
}
