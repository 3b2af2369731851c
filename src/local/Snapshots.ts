/** Verifies snapshots: those that the service has just sent, and those that were stored or shipped. */
import { verifyBundle } from "../offline/Bundle.ts"
import type { Claims, PinnedKeys, State } from "../offline/Model.ts"
import { decoded } from "../offline/values/Bytes.ts"
import { isText, own } from "../offline/values/Unknown.ts"
import type { LocalOptions } from "./Ports.ts"

/** A snapshot that answers. */
export interface Snapshot {
  readonly token: string
  readonly etag: string | null
  readonly claims: Claims
}

/** A snapshot that keeps its token alone: its claims are read again if a garbage collection came since they were last used. */
class SmallSnapshot implements Snapshot {
  readonly token: string
  readonly etag: string | null
  #claims: WeakRef<Claims>

  constructor(token: string, etag: string | null, claims: Claims) {
    this.token = token
    this.etag = etag
    this.#claims = new WeakRef(claims)
  }

  get claims(): Claims {
    const known = this.#claims.deref()
    if (known !== undefined) return known
    // The token was verified, so it has claims.
    const claims = jsonIn(this.token.split(".")[1]) as Claims
    this.#claims = new WeakRef(claims)
    return claims
  }
}

/** Makes a snapshot of a token that was verified. */
export const snapshotOf = (token: string, etag: string | null, claims: Claims, savesMemory = false): Snapshot =>
  savesMemory ? new SmallSnapshot(token, etag, claims) : { token, etag, claims }

/** By what snapshots are verified. A product may have all of it, else it comes from the service. */
export interface Trust {
  readonly issuer: string | null
  readonly keys: PinnedKeys
  readonly state: State | null
}

/** The result of a verification. `claims` are those of a snapshot that can be taken. */
interface Verified {
  readonly status: string
  readonly claims: Claims | undefined
  readonly state: State | null
}

/** With these statuses the claims answer: they deny by themselves. */
const TAKEN: ReadonlyArray<string> = ["VALID", "LICENSE_NOT_STARTED", "LICENSE_EXPIRED"]

const jsonIn = (part: string | undefined): unknown => {
  try {
    return JSON.parse(new TextDecoder().decode(decoded(part)))
  } catch {
    return undefined
  }
}

/** What a token says before it is verified: by which key, and from whom. Nothing of it is trusted. */
export const unverified = (token: string): { readonly kid: unknown; readonly issuer: string | null } => {
  const [header, payload] = token.split(".")
  const issuer = own(jsonIn(payload), "iss")
  return { kid: own(jsonIn(header), "kid"), issuer: isText(issuer) ? issuer : null }
}

/** The organization of an issuer, whose keys the service publishes. */
export const organizationOf = (issuer: string | null): string | undefined =>
  /^urn:keyshelf:organization:([0-9A-Za-z-]{1,64})$/.exec(issuer ?? "")?.[1]

const stateOf = (claims: Claims, token: string, known: State | null, latest: number): State => ({
  revocations: 0,
  voided: 0,
  keys: {},
  ...(known?.sub === claims.sub ? known : {}),
  sub: claims.sub,
  kid: String(unverified(token).kid),
  seq: claims.seq,
  latest,
})

const verify = async (
  token: string,
  instance: string,
  options: Pick<LocalOptions, "families" | "issuer" | "keys">,
  trust: Trust,
  time: number,
  taken: ReadonlyArray<string>,
): Promise<Verified> => {
  const answer = await verifyBundle(token, {
    keys: options.keys ?? trust.keys,
    // Keys of the product are those of its vendor.
    issuer: options.issuer ?? trust.issuer ?? (options.keys === undefined ? null : unverified(token).issuer) ?? "",
    instance,
    families: options.families,
    state: trust.state,
    now: new Date(time),
  })
  const { status } = answer
  if (answer.status === "VALID") return answer
  const claims = taken.includes(status) ? (answer.rejected ?? undefined) : undefined
  if (claims === undefined) return { status, claims, state: trust.state }
  const latest = Math.max(Math.floor(time / 1000), claims.iat, trust.state?.latest ?? 0)
  return { status, claims, state: stateOf(claims, token, trust.state, latest) }
}

/**
 * Verifies what the service has just sent. The time is the service's, so a clock that once ran ahead locks no one out.
 */
export const verifySent = (
  token: string,
  instance: string,
  options: Pick<LocalOptions, "families" | "issuer" | "keys">,
  trust: Trust,
  time: number,
): Promise<Verified> => {
  const state = trust.state === null ? null : { ...trust.state, latest: 0 }
  return verify(token, instance, options, { ...trust, state }, time, TAKEN)
}

/**
 * Verifies what was stored or shipped, by the rules of bundles: the clock of the machine counts, but never before the latest
 * time that was seen. An expired one is usable: its policy says what it answers.
 */
export const verifyKept = (
  token: string,
  instance: string,
  options: Pick<LocalOptions, "families" | "issuer" | "keys">,
  trust: Trust,
  wall: number,
): Promise<Verified> => verify(token, instance, options, trust, wall, [...TAKEN, "BUNDLE_EXPIRED"])
