/** What answers while the service is away, and nothing else is known. The caller decides for each call. */
import { NO_FIGURES } from "../../../../src/local/Answers.ts"
import type { Policy, Source } from "../../../../src/local/index.ts"

/** `"closed"` denies, `"open"` allows, `"fail"` fails the call. */
export type WhenAway = Policy

const POLICIES: ReadonlyArray<unknown> = ["fail", "open", "closed"]

/** Throws `TypeError` for what is not a policy: so the call fails at once, not only when the service is away. */
export const policyOf = (value: unknown): WhenAway => {
  if (POLICIES.includes(value)) return value as WhenAway
  throw new TypeError('whenAway is "fail", "open" or "closed"')
}

/** The answer about one entitlement. Amounts are decimal texts with all digits. */
export interface Answer {
  readonly entitlement: string
  readonly allowed: boolean
  /**
   * Why. Without a request also: `NO_SNAPSHOT`, `SNAPSHOT_EXPIRED`, `ACCESS_REVOKED`; and `SERVICE_AWAY` if a consumption could not be
   * requested. Later versions of the service may have further reasons.
   */
  readonly reason: string
  readonly limit: string | null
  readonly usage: string | null
  readonly remaining: string | null
  readonly overage: string | null
  /** What is left of credits, which is in `remaining` too. Only of an answer of the service, if a credit is active. */
  readonly credits?: string
  readonly currentPeriodStart: string | null
  readonly currentPeriodEnd: string | null
  /** What answered: a snapshot of the terms, the service itself, or a policy because nothing was known. */
  readonly source: Source
  /** Milliseconds since the service last confirmed what answered; `null` if it never did. */
  readonly ageMs: number | null
}

/** The answers to the checks of one call, in their order. */
export interface CheckResult {
  readonly instance: string
  /** Slug of the license version; `null` if no snapshot and no response answered. */
  readonly license: string | null
  readonly at: string | null
  /** When access ends, if the license has ended and is in its grace period. */
  readonly graceEndsAt: string | null
  readonly checks: ReadonlyArray<Answer>
  /** Whether each check is allowed. */
  readonly allowed: boolean
  /** Whether the service or a snapshot answered. If not, it is not known whether usage was consumed. */
  readonly isConfirmed: boolean
}

/** The answer of a policy that replaces a response. */
export const answerOfPolicy = (
  instance: string,
  entitlements: ReadonlyArray<string>,
  allowed: boolean,
): CheckResult => ({
  instance,
  license: null,
  at: null,
  graceEndsAt: null,
  checks: entitlements.map((entitlement) => ({
    entitlement,
    allowed,
    reason: "SERVICE_AWAY",
    ...NO_FIGURES,
    source: "policy",
    ageMs: null,
  })),
  allowed,
  isConfirmed: false,
})
