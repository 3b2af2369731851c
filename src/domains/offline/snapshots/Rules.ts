/** The times, the number and the entity tag of a snapshot, and how soon to ask for the next one. Pure. */
import { createHash } from "node:crypto"
import { Schema } from "effect"
import { tagsIn } from "../../../kernel/values/EntityTag.ts"
import type { Away } from "../../licenses/Model.ts"
import type { Standings } from "../../usage/snapshots/Model.ts"
import type { BundleTimes, claimsOf } from "../bundles/Rules.ts"
import { secondOf, USAGE_SECONDS, validFrom } from "../bundles/Rules.ts"

/** A running product fetches at least this often, so a snapshot that is older shows that the service was away. */
const RENEW_SECONDS = 600

/** The times of a snapshot of now. Its life does not end with the license, whose end denies by itself. */
export const timesOf = (
  { staleSeconds }: Pick<Away, "staleSeconds">,
  startLicenseDate: Date,
  at: Date,
): BundleTimes => {
  const iat = secondOf(at)
  const exp = iat + staleSeconds
  return {
    iat,
    nbf: validFrom(iat, startLicenseDate),
    renew: iat + RENEW_SECONDS,
    exp,
    usageUntil: exp + USAGE_SECONDS,
  }
}

/** The bundles of an instance. */
export const IssuedBundles = Schema.Struct({
  /** The number of the newest one; 0 if none was issued. */
  issued: Schema.Int,
  /** The number up to which they are void; 0 if none is. */
  voided: Schema.Int,
})
export type IssuedBundles = typeof IssuedBundles.Type

/** The number of a snapshot: that of the newest bundle, so that each replaces the other, or of the next one if that is void. */
export const sequenceOf = ({ issued, voided }: IssuedBundles): number => Math.max(1, issued, voided + 1)

/** The claims of a snapshot. */
export type SnapshotClaims = ReturnType<typeof claimsOf> & {
  readonly complete: boolean
  readonly away: Pick<Away, "then">
}

type Entry = SnapshotClaims["entitlements"][number]

const withoutUsage = (entry: Entry, reasons: Standings["reasons"]): unknown => {
  if (entry.type !== "NUMBER") return entry
  const { held: _held, used: _used, usedFrom: _from, ...terms } = entry
  return { ...terms, reason: reasons[entry.slug] }
}

/**
 * The hash of what a snapshot says, without what is new in each: usage changes with each use of a product, and matters where it
 * changes the answer.
 */
export const contentHash = (claims: SnapshotClaims, reasons: Standings["reasons"]): string => {
  const { entitlements, exp: _exp, iat: _iat, jti: _jti, nbf: _nbf, renew: _renew, usage: _usage, ...others } = claims
  const content = { ...others, entitlements: entitlements.map((entry) => withoutUsage(entry, reasons)) }
  return createHash("sha256").update(JSON.stringify(content)).digest("base64url")
}

/** Half of the time after which a snapshot is due for renewal: then a new one is signed, even if nothing changed. */
const MAX_CONFIRMED_SECONDS = 300

/** Whether a snapshot that a client holds still applies. The clock of the node that signed it may be ahead of this one. */
export const isConfirmed = (
  held: { readonly content: string; readonly iat: number },
  content: string,
  now: number,
): boolean => held.content === content && Math.abs(now - held.iat) < MAX_CONFIRMED_SECONDS

/** The entity tag of a snapshot. */
export const snapshotTag = (content: string, iat: number): string => `"${content}.${iat}"`

/** The tag of a snapshot that still applies, among those that the caller's `If-None-Match` names. */
export const confirmedTag = (ifNoneMatch: string | undefined, content: string, now: number): string | undefined => {
  const found = tagsIn(ifNoneMatch).find((tag) => {
    const [held = "", iat = ""] = tag.split(".")
    return /^\d+$/.test(iat) && isConfirmed({ content: held, iat: Number(iat) }, content, now)
  })
  return found === undefined ? undefined : `"${found}"`
}

const MIN_AGE_SECONDS = 30
const MAX_AGE_SECONDS = 300

/** What a node serves at the shortest age. With more polls than that, products ask less often. */
const POLLS_PER_SECOND = 500

/** How many seconds a product that has no stream waits before it asks again. */
export const maxAgeOf = (pollsPerSecond: number): number =>
  Math.min(
    MAX_AGE_SECONDS,
    Math.max(MIN_AGE_SECONDS, Math.round((MIN_AGE_SECONDS * pollsPerSecond) / POLLS_PER_SECOND)),
  )

const WINDOW_MS = 10_000

/** Counts polls: in the window that runs, and in the one before as far as it still counts. */
export const makePollRate = () => {
  let startedAt = -Infinity
  let current = 0
  let previous = 0
  /** Counts a poll and returns how many came per second. */
  return (at: Date): number => {
    const elapsed = at.getTime() - startedAt
    if (elapsed >= WINDOW_MS || elapsed < 0) {
      const isNextWindow = elapsed >= 0 && elapsed < 2 * WINDOW_MS
      previous = isNextWindow ? current : 0
      current = 0
      startedAt = isNextWindow ? startedAt + WINDOW_MS : at.getTime()
    }
    current += 1
    const passed = (at.getTime() - startedAt) / WINDOW_MS
    return (previous * (1 - passed) + current) / (WINDOW_MS / 1000)
  }
}
