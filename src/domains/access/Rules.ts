/** Rules for credentials. Pure. */
import { platformIdentity } from "../../kernel/contract/Caller.ts"
import type { Caller } from "../../kernel/contract/Caller.ts"
import { isBefore, LAST_INSTANT_MS, nearestWritable } from "../../kernel/values/Timestamp.ts"
import type { CredentialKind, RotatableToken, StoredCredential } from "./Model.ts"
import { prefixes } from "./Model.ts"

/** No token is longer. Longer texts are truncated before hashing and then fail like every unknown token. */
const MAX_LENGTH = 512

/** Truncates a presented credential to the length that is hashed. */
export const truncate = (text: string): string => text.slice(0, MAX_LENGTH)

/** Whether the token has the prefix of this kind. Checked in addition to the kind of its row. */
export const isOfKind = (text: string, kind: CredentialKind): boolean => text.startsWith(prefixes[kind])

/** Whether the row is a credential of this kind that is neither revoked nor expired. */
export const isLive = (row: StoredCredential, kind: CredentialKind, at: Date): boolean =>
  (row.kind === "platform") === (kind === "platform") && row.revokedAt === null && isUsableExpiry(row.expiresAt, at)

/** Whether an expiry is absent or in the future. */
export const isUsableExpiry = (expiresAt: Date | null, at: Date): boolean =>
  expiresAt === null || isBefore(at, expiresAt)

/** The kind of identity of a caller. Only people have roles, and only license keys are confined. */
export const kindOf = ({
  actor,
  confinedTo,
  role,
}: Pick<Caller["Service"], "actor" | "confinedTo" | "role">):
  | "PERSON"
  | "SERVICE_ACCOUNT"
  | "INSTANCE"
  | "PLATFORM" => {
  if (role !== undefined) return "PERSON"
  if (confinedTo !== undefined) return "INSTANCE"
  return actor.id === platformIdentity.id ? "PLATFORM" : "SERVICE_ACCOUNT"
}

/** The reason why a token cannot be rotated, or `undefined` if it can. */
export const whyNotRotatable = (token: RotatableToken, at: Date): string | undefined => {
  if (token.revokedAt !== null) return "It was revoked."
  if (!isUsableExpiry(token.expiresAt, at)) return "It has expired."
  if (token.rotatedTo !== null) return `It was already rotated. Its successor is "${token.rotatedTo}".`
  return undefined
}

/** When a rotated token ends: after the grace period, but never later than its own expiry. */
export const expiryAfterGrace = (expiresAt: Date | null, at: Date, graceSeconds: number): Date => {
  const end = at.getTime() + graceSeconds * 1000
  return new Date(Math.min(end, expiresAt?.getTime() ?? LAST_INSTANT_MS))
}

/** When the successor of a token ends: it gets the lifetime that the token was issued with, starting now. */
export const successorExpiry = (token: RotatableToken, at: Date): Date | null =>
  token.expiresAt === null
    ? null
    : nearestWritable(at.getTime() + (token.expiresAt.getTime() - token.createdAt.getTime()))
