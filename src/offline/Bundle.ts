/** Verifies bundles. The steps and their order are those of `docs/offline-verifier.md`. */
import { bundleOf } from "./Claims.ts"
import { check, statusOf } from "./tokens/Faults.ts"
import { isKey, makeKeyring } from "./tokens/Keys.ts"
import type { BundleAnswer, BundleOptions, Claims, LearnedKeys, State } from "./Model.ts"
import { openList } from "./Revocations.ts"
import { open } from "./tokens/Token.ts"
import type { Opened } from "./tokens/Token.ts"
import { isRecord, millisOf, millisOrNow, own } from "./values/Unknown.ts"

const MAX_LENGTH = 262_144

/** How far a clock may be behind the latest time that was seen. */
const MAX_BEHIND_SECONDS = 86_400

/** Seconds since 1970. A clock that shows no time is behind any. */
const clockOf = (now: unknown): number => {
  const seconds = Math.floor(millisOrNow(now) / 1000)
  return Number.isFinite(seconds) ? seconds : -Infinity
}

/**
 * The content of a state. It counts only if it belongs to this instance, and its key is still trusted. Its stored keys stay
 * if the bundle's own key is one of them.
 */
const memoryOf = (state: unknown, counts: boolean, sub: string, { key, kid }: Opened): State => {
  const valueOf = (name: string): unknown => (counts ? own(state, name) : undefined)
  const numberOf = (name: string): number => Math.max(0, Number(valueOf(name)) || 0)
  const keys = counts || !key.isPinned ? own(state, "keys") : undefined
  return {
    sub,
    kid: (valueOf("kid") ?? kid) as string,
    seq: numberOf("seq"),
    latest: numberOf("latest"),
    revocations: numberOf("revocations"),
    voided: numberOf("voided"),
    keys: isRecord(keys) ? (keys as LearnedKeys) : {},
  }
}

/** Whether enough components of the machine are those that the bundle is bound to. A component counts once. */
const isBound = ({ binding }: Claims, fingerprints: unknown): boolean => {
  if (!binding) return true
  const found = [fingerprints].flat()
  return [...new Set(binding.of)].filter((one) => one !== "" && found.includes(one)).length >= binding.match
}

/** Verifies a bundle. Never rejects: for any arguments, the answer says what is wrong. */
export const verifyBundle = async (token: string, options: BundleOptions): Promise<BundleAnswer> => {
  let state: State | null = null
  let rejected: Claims | null = null
  try {
    state = options.state ?? null
    const { families, fingerprints, instance, issuer, keys, now, requireRevocations, revocations } = options
    const keyring = makeKeyring(keys, own(state, "keys"))
    const opened = await open(token, "keyshelf-bundle+jwt", MAX_LENGTH, keyring)
    const { kid } = opened
    const claims = bundleOf(opened.claims)
    rejected = claims
    const { license, next, seq, sub } = claims

    check(claims.iss === issuer, "WRONG_ISSUER")
    check([sub, claims.instance.slug].includes(instance ?? sub), "WRONG_INSTANCE")
    check([families ?? license.family].flat().includes(license.family), "WRONG_LICENSE")

    const counts = own(state, "sub") === sub && !!keyring(own(state, "kid"))
    const memory = memoryOf(state, counts, sub, opened)
    const isListed = revocations !== undefined && revocations !== null
    const list = isListed ? await openList(revocations, keyring, issuer).catch(() => null) : undefined
    check(list !== null && !(list && list.number < memory.revocations), "REVOCATIONS_INVALID")
    const voids = (list?.revoked ?? []).filter((entry) => entry.sub === sub)
    const voided = voids.reduce((highest, entry) => Math.max(highest, entry.seq), memory.voided)
    const seen = { ...memory, revocations: list?.number ?? memory.revocations, voided }
    if (seq <= voided) state = seen
    check(seq > voided, "REVOKED")

    check(seq >= memory.seq, "SUPERSEDED")
    check(isBound(claims, fingerprints), "NOT_BOUND")

    const clock = clockOf(now)
    const at = Math.max(clock, claims.iat, seq === memory.seq ? memory.latest : 0)
    check(at - clock <= MAX_BEHIND_SECONDS, "CLOCK_BEHIND")
    check(at >= claims.nbf && at * 1000 >= millisOf(license.start), "LICENSE_NOT_STARTED")
    check(license.end === null || at * 1000 < millisOf(license.end), "LICENSE_EXPIRED")
    check(at < claims.exp, "BUNDLE_EXPIRED")
    check(!requireRevocations || (list && at < list.exp), "REVOCATIONS_STALE")

    const isNew = isKey(next) && !keyring(next.kid)
    const learned = isNew ? { ...memory.keys, [next.kid]: { x: next.x, by: kid } } : memory.keys
    return {
      status: "VALID",
      renewDue: at >= claims.renew,
      claims,
      rejected: null,
      state: { ...seen, kid, seq, latest: at, keys: learned },
    }
  } catch (thrown) {
    return { status: statusOf(thrown), renewDue: false, claims: null, rejected, state }
  }
}
