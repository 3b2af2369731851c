/**
 * What the module takes and returns. Instants are ISO 8601 texts, whole seconds since 1970 are numbers, amounts are
 * decimal texts: no parser rounds them.
 */
import type { FlagRule } from "./Flags.ts"

/** A usage period of a bundle: the instants at which it starts, or the first of them and how many seconds each takes. */
export type Periods = { readonly starts: ReadonlyArray<string> } | { readonly from: string; readonly every: number }

/** A grant from an instant on. The last one that has begun counts. */
export interface DatedGrant {
  readonly from: string
  /** Of a `NUMBER`. `null`: not granted. */
  readonly limit?: string | null
  readonly overagePercent?: string
  /** Of a `BOOLEAN` or a `CONFIG`. `null`: not granted. */
  readonly value?: unknown
}

/** What a bundle grants of one entitlement. */
export type BundleEntitlement =
  | {
      readonly slug: string
      readonly type: "NUMBER"
      /** `"-1"` is unlimited, `null` not granted. */
      readonly limit: string | null
      readonly overagePercent?: string
      readonly aggregation: string
      /** What the service had counted at issue, in the period that started at `usedFrom`. */
      readonly used: string
      /** The part of `used` that is reserved. Default: `"0"`. */
      readonly held?: string
      readonly usedFrom: string
      /** A name of the bundle's `periods`. */
      readonly period: string
      /** What this product alone may use per period. */
      readonly allowance?: string
      readonly grants?: ReadonlyArray<DatedGrant>
    }
  | {
      readonly slug: string
      readonly type: "BOOLEAN"
      readonly value: boolean
      readonly grants?: ReadonlyArray<DatedGrant>
    }
  | {
      readonly slug: string
      readonly type: "CONFIG"
      /** `null`: not granted. */
      readonly value: Readonly<Record<string, unknown>> | null
      readonly grants?: ReadonlyArray<DatedGrant>
    }

/** Amounts as decimal texts, by entitlement and by the start of its period. */
export type Amounts = Readonly<Record<string, Readonly<Record<string, string>>>>

/** What the holder of a ledger may still spend without a request. */
export interface Tranche {
  readonly source: string
  /** The position of the ledger that these amounts are of. */
  readonly lines: number
  readonly head: string
  /** From then on nothing can be spent, in seconds since 1970. */
  readonly until: number
  readonly of: Amounts
}

/** A public key as the service publishes it (RFC 8037). Other properties are ignored. */
export interface PublicKey {
  readonly kty: string
  readonly crv?: string
  readonly kid?: string
  readonly x?: string
}

/** The claims of a bundle of version 1. */
export interface Claims {
  readonly v: 1
  /** `urn:keyshelf:organization:<id>` */
  readonly iss: string
  /** The id of the instance. */
  readonly sub: string
  readonly jti: string
  /** The number of the bundle among those of its instance. */
  readonly seq: number
  readonly iat: number
  readonly nbf: number
  /** From then on a new bundle is due. This one works on. */
  readonly renew: number
  readonly exp: number
  readonly instance: { readonly slug: string; readonly name: string }
  readonly customer: { readonly slug: string; readonly name: string }
  readonly license: {
    readonly slug: string
    readonly family: string
    readonly version: string
    readonly name: string
    readonly type: string
    readonly start: string
    /** When the term ends and grace begins. Absent: not known. */
    readonly termEnd?: string | null
    /** When access ends, grace included. `null`: never. */
    readonly end: string | null
  }
  /** Whether `entitlements` has all entitlements of the organization. */
  readonly complete?: boolean
  readonly entitlements: ReadonlyArray<BundleEntitlement>
  /** By `<resetPeriod>/<resetAnchor>`. */
  readonly periods: Readonly<Record<string, Periods>>
  readonly flags: Readonly<Record<string, unknown>>
  /** The feature flags, as far as they depend on the caller. */
  readonly rules?: ReadonlyArray<FlagRule>
  /** What answers after `exp`. */
  readonly away?: { readonly then: "DENY" | "ALLOW" }
  readonly tranche?: Tranche
  readonly zone: { readonly slug: string; readonly type: string } | null
  readonly release: { readonly slug: string; readonly version: string } | null
  readonly binding: { readonly match: number; readonly of: ReadonlyArray<string> } | null
  /** Until when usage of this bundle can be uploaded. */
  readonly usage: { readonly until: number }
  /** The key that will sign later bundles. */
  readonly next?: PublicKey | null
}

/** The claims of a revocation list of version 1. */
export interface RevocationClaims {
  readonly v: 1
  readonly iss: string
  /** Grows by each revocation. */
  readonly number: number
  readonly iat: number
  readonly exp: number
  /** Of the instance `sub`, the bundle `seq` and all before it are void. */
  readonly revoked: ReadonlyArray<{ readonly sub: string; readonly seq: number; readonly at: string }>
}

/** Keys that bundles named, by their key id, each with the id of the key that signed that bundle. */
export type LearnedKeys = Readonly<Record<string, { readonly x: string; readonly by: string }>>

/** What a product stores from one verification to the next. Store it where its users do not write. */
export interface State {
  readonly sub: string
  readonly kid: string
  readonly seq: number
  /** The latest time seen, in seconds since 1970. A running product advances it by its monotonic clock, each hour. */
  readonly latest: number
  /** The `number` of the newest revocation list seen. */
  readonly revocations: number
  /** The highest void `seq` seen. */
  readonly voided: number
  readonly keys: LearnedKeys
}

/** Keys of the vendor that are part of the product: `kid` to `x`, or a key set as the service publishes it (RFC 7517). */
export type PinnedKeys = Readonly<Record<string, string>> | { readonly keys: ReadonlyArray<PublicKey> }

/** A time: seconds since 1970, an ISO 8601 text with an offset, or a `Date`. */
export type Instant = number | string | Date

/** How a revocation list is verified. */
export interface RevocationOptions {
  readonly keys: PinnedKeys
  /** `urn:keyshelf:organization:<id>` of the vendor. */
  readonly issuer: string
  readonly state?: State | null | undefined
  /** Default: the clock of the machine. */
  readonly now?: Instant | undefined
}

/** How a bundle is verified. */
export interface BundleOptions extends RevocationOptions {
  /** Id or slug of the instance that the bundle must be of. */
  readonly instance?: string | null | undefined
  /** The license families of this product. A vendor of two products should name them. */
  readonly families?: ReadonlyArray<string> | null | undefined
  /** The fingerprints of this machine ({@link fingerprintOf}). */
  readonly fingerprints?: ReadonlyArray<string> | null | undefined
  /** The text of a revocation list. */
  readonly revocations?: string | null | undefined
  /** Whether a revocation list that has not expired is required. */
  readonly requireRevocations?: boolean | undefined
}

/** Why a text is no token of this issuer, in the order of the checks. */
export type TokenFault =
  | "MALFORMED"
  | "UNKNOWN_KEY"
  | "BAD_SIGNATURE"
  /** Another version of the format, or a runtime without Ed25519. */
  | "UNSUPPORTED"
  | "WRONG_ISSUER"

/** Why a bundle is not valid, in the order of the checks. */
export type BundleFault =
  | TokenFault
  | "WRONG_INSTANCE"
  | "WRONG_LICENSE"
  | "REVOCATIONS_INVALID"
  | "REVOKED"
  | "SUPERSEDED"
  | "NOT_BOUND"
  | "CLOCK_BEHIND"
  | "LICENSE_NOT_STARTED"
  | "LICENSE_EXPIRED"
  | "BUNDLE_EXPIRED"
  | "REVOCATIONS_STALE"

/** The answer about a bundle. Store `state` whenever it differs from what you passed. */
export type BundleAnswer =
  | {
      readonly status: "VALID"
      /** Whether a new bundle is due. */
      readonly renewDue: boolean
      readonly claims: Claims
      readonly rejected: null
      readonly state: State
    }
  | {
      readonly status: BundleFault
      readonly renewDue: false
      readonly claims: null
      /** The claims of a bundle whose signature is good, to show them. They grant nothing. */
      readonly rejected: Claims | null
      /** As it was passed; at `REVOKED` a new one. */
      readonly state: State | null
    }

/** The answer about a revocation list. */
export type RevocationAnswer =
  | {
      readonly status: "VALID"
      /** Whether the list has expired. It still voids what it names. */
      readonly stale: boolean
      readonly claims: RevocationClaims
    }
  | {
      /** One of {@link TokenFault}, or `SUPERSEDED`: older than a list that `state` has seen. */
      readonly status: BundleFault
      readonly stale: boolean
      readonly claims: null
    }

/** How much of what is requested. Amounts are decimal texts; JavaScript numbers are read as they are printed. */
export interface DecisionRequest {
  /** Slug of the entitlement. */
  readonly entitlement: string
  /** What this product used in the current period since the bundle was issued; with an allowance, in the whole period. Default: `"0"`. */
  readonly used?: string | number | bigint | undefined
  /** How much more. `"0"` asks whether usage is within the limit. Default: `"1"`. */
  readonly requested?: string | number | bigint | undefined
  /** Default: the clock of the machine. */
  readonly at?: Instant | undefined
}

/** Whether a product may use an entitlement. */
export interface Decision {
  readonly allowed: boolean
  /** `INVALID_REQUEST`: an amount of the request is negative or no decimal. */
  readonly reason: "GRANTED" | "UNLIMITED" | "SOFT_LIMIT" | "LIMIT_REACHED" | "NOT_GRANTED" | "INVALID_REQUEST"
  /** What is left before the request, at least `"0"`; `"-1"` if unlimited, `null` where nothing is counted. */
  readonly remaining: string | null
}

/** The interval `[start, end)`. `end` is `null` where the bundle names none. */
export interface Period {
  readonly start: string
  readonly end: string | null
}
