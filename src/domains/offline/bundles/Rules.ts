/** The lifetime of a bundle, and its claims. Pure. */
import { issuerOf } from "../../signing/Issuer.ts"
import type { PublicKey } from "../../signing/Model.ts"
import type { RequestedAllowance } from "../../usage/allowances/Model.ts"
import type { EntitlementSnapshot, EntitlementStanding, Grants } from "../../usage/snapshots/Model.ts"
import type { ValidationError } from "../../../kernel/contract/Problem.ts"
import { decimalOfAmount, decimalText } from "../../../kernel/values/Decimal.ts"
import type { FlagRule } from "../../../offline/Flags.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import type { InstanceSubject } from "../../instances/Model.ts"
import { DEFAULT_GRACE_SECONDS, DEFAULT_TTL_SECONDS } from "./Model.ts"
import type { Binding, IssueOfflineBundle } from "./Model.ts"

/** How many seconds after the end of a bundle its usage is accepted: 90 days. */
export const USAGE_SECONDS = 7_776_000

/** The instants of a bundle, in seconds since 1970. */
export interface BundleTimes {
  readonly iat: number
  readonly nbf: number
  readonly renew: number
  readonly exp: number
  readonly usageUntil: number
}

export const atSecond = (seconds: number): Date => new Date(seconds * 1000)

export const laterOf = (one: Date, other: Date): Date => (one > other ? one : other)

/** The second that has begun, since 1970. */
export const secondOf = (at: Date): number => Math.floor(at.getTime() / 1000)

/** From when on a bundle is valid: not before the license starts. */
export const validFrom = (iat: number, startLicenseDate: Date): number =>
  Math.max(iat, Math.ceil(startLicenseDate.getTime() / 1000))

/** When a license grants access. */
interface Access {
  readonly startLicenseDate: Date
  /** When the term ends and grace begins. */
  readonly endLicenseDate: Date | null
  readonly accessEnd: Date | null
}

/**
 * The times of a bundle that is issued now. It never outlives access: `exp` is at most its end, `nbf` at least its
 * start.
 */
export const timesOf = (
  { graceSeconds = DEFAULT_GRACE_SECONDS, ttlSeconds = DEFAULT_TTL_SECONDS }: IssueOfflineBundle,
  { accessEnd, startLicenseDate }: Pick<Access, "accessEnd" | "startLicenseDate">,
  at: Date,
): BundleTimes => {
  const iat = secondOf(at)
  const end = accessEnd === null ? Infinity : Math.floor(accessEnd.getTime() / 1000)
  const exp = Math.min(iat + ttlSeconds + graceSeconds, end)
  return {
    iat,
    nbf: validFrom(iat, startLicenseDate),
    renew: Math.min(iat + ttlSeconds, exp),
    exp,
    usageUntil: exp + USAGE_SECONDS,
  }
}

/** Validation errors of the times: a bundle must be valid at some instant. `at` must be before the end of access. */
export const timesErrors = ({ exp, nbf }: BundleTimes): ReadonlyArray<ValidationError> =>
  nbf < exp ? [] : [{ location: "body.ttlSeconds", message: "must reach beyond the start of the license" }]

/** Validation errors of a binding. */
export const bindingErrors = (binding: Binding | undefined): ReadonlyArray<ValidationError> => {
  if (binding === undefined) return []
  const { match, of } = binding
  return [
    ...(match > of.length
      ? [{ location: "body.binding.match", message: "must be at most the number of fingerprints", value: match }]
      : []),
    ...(new Set(of).size < of.length
      ? [{ location: "body.binding.of", message: "must be different fingerprints" }]
      : []),
  ]
}

/** The entitlements of a bundle, with the allowances that it has. */
export const withAllowances = (
  entitlements: ReadonlyArray<EntitlementSnapshot>,
  allowances: ReadonlyArray<RequestedAllowance>,
): ReadonlyArray<EntitlementSnapshot> =>
  entitlements.map((entitlement) => {
    const allowance = allowances.find((each) => each.entitlement === entitlement.slug)
    return allowance === undefined || entitlement.type !== "NUMBER"
      ? entitlement
      : { ...entitlement, allowance: decimalText(decimalOfAmount(allowance.quantity)) }
  })

/** Only credentials with this scope get rules, which show the conditions of flags. */
export const RULES_SCOPE = "read:feature_flags"

/** Above it, rules are left out: a product evaluates its flags by the service then. The unit is characters of JSON. */
const MAX_RULES_LENGTH = 65_536

// The same rules are in each snapshot until a flag changes.
const lengths = new WeakMap<ReadonlyArray<FlagRule>, number>()

const lengthOf = (rules: ReadonlyArray<FlagRule>): number => {
  const length = lengths.get(rules) ?? JSON.stringify(rules).length
  lengths.set(rules, length)
  return length
}

/** Rules, unless they are too long for a bundle. */
export const rulesThatFit = (rules: ReadonlyArray<FlagRule> | undefined): ReadonlyArray<FlagRule> | undefined =>
  rules !== undefined && lengthOf(rules) <= MAX_RULES_LENGTH ? rules : undefined

/** The content of a bundle. */
export interface BundleContent {
  readonly organizationId: OrganizationId
  readonly id: string
  readonly sequence: number
  readonly times: BundleTimes
  readonly subject: InstanceSubject
  readonly access: Access
  readonly grants: { readonly entitlements: ReadonlyArray<EntitlementStanding>; readonly periods: Grants["periods"] }
  readonly flags: Readonly<Record<string, unknown>>
  /** The feature flags, as far as they depend on the caller. */
  readonly rules: ReadonlyArray<FlagRule> | undefined
  readonly binding: Binding | null
  readonly next: PublicKey | null
}

/** The claims. `license.end` is when access ends, so that the license's grace period holds offline too. */
export const claimsOf = (content: BundleContent) => {
  const { access, grants, next, rules, subject, times } = content
  const { family, name, slug, type, version } = subject.license
  return {
    v: 1,
    iss: issuerOf(content.organizationId),
    sub: subject.id,
    jti: content.id,
    seq: content.sequence,
    iat: times.iat,
    nbf: times.nbf,
    renew: times.renew,
    exp: times.exp,
    instance: { slug: subject.slug, name: subject.name },
    customer: subject.customer,
    license: {
      slug,
      family,
      version,
      name,
      type,
      start: access.startLicenseDate.toISOString(),
      termEnd: access.endLicenseDate?.toISOString() ?? null,
      end: access.accessEnd?.toISOString() ?? null,
    },
    entitlements: grants.entitlements,
    periods: grants.periods,
    flags: content.flags,
    ...(rules === undefined ? {} : { rules }),
    zone: subject.zone,
    release: subject.release,
    binding: content.binding,
    usage: { until: times.usageUntil },
    ...(next === null ? {} : { next: { kty: "OKP", crv: "Ed25519", x: next.x, kid: next.kid } }),
  }
}
