/** Decisions about credentials. Pure. */
import { platformIdentity } from "../../kernel/contract/Caller.ts"
import type { ActorReference, Role } from "../../kernel/contract/Caller.ts"
import { isBefore } from "../../kernel/values/Timestamp.ts"
import type { CredentialKind, RotatableToken, StoredCredential } from "./Model.ts"
import { prefixes } from "./Model.ts"

/** Longer texts are no token of ours; they are cut before hashing, and then fail like every unknown one. */
const LONGEST = 512

/** The part of a presented credential that is looked at. */
export const bounded = (text: string): string => text.slice(0, LONGEST)

/** Whether the text has the form of this kind. A row cannot lie about it. */
export const isOfKind = (text: string, kind: CredentialKind): boolean => text.startsWith(prefixes[kind])

/** Whether the row authenticates now where this kind is taken. */
export const isLive = (row: StoredCredential, kind: CredentialKind, at: Date): boolean =>
  row.kind === kind && row.revokedAt === null && isUsableExpiry(row.expiresAt, at)

/** Whether an expiry leaves any time: absent, or in the future. */
export const isUsableExpiry = (expiresAt: Date | null, at: Date): boolean =>
  expiresAt === null || isBefore(at, expiresAt)

/** What the identity behind a credential is: people alone have roles. */
export const kindOf = (actor: ActorReference, role: Role | undefined): "PERSON" | "SERVICE_ACCOUNT" | "PLATFORM" => {
  if (role !== undefined) return "PERSON"
  return actor.id === platformIdentity.id ? "PLATFORM" : "SERVICE_ACCOUNT"
}

/** Why a token cannot be rotated; nothing if it can. */
export const whyNotRotatable = (token: RotatableToken, at: Date): string | undefined => {
  if (token.revokedAt !== null) return "It was revoked."
  if (!isUsableExpiry(token.expiresAt, at)) return "It has expired."
  if (token.rotatedTo !== null) return `Its successor is "${token.rotatedTo}".`
  return undefined
}

// The last instant that answers can write.
const LAST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** When a token ends that was rotated: after the grace, never later than by itself. */
export const endAfterGrace = (expiresAt: Date | null, at: Date, graceSeconds: number): Date => {
  const end = at.getTime() + graceSeconds * 1000
  return new Date(Math.min(end, expiresAt?.getTime() ?? LAST_INSTANT))
}

/** When the successor of a token ends: it gets the lifetime that the token was issued with, from now on. */
export const successorExpiry = (token: RotatableToken, at: Date): Date | null =>
  token.expiresAt === null
    ? null
    : new Date(Math.min(at.getTime() + (token.expiresAt.getTime() - token.createdAt.getTime()), LAST_INSTANT))
