/** Decisions about credentials. Pure. */
import type { CredentialKind, StoredCredential } from "./Model.ts"
import { prefixes } from "./Model.ts"

/** Longer texts are no token of ours; they are cut before hashing, and then fail like every unknown one. */
const LONGEST = 512

/** The part of a presented credential that is looked at. */
export const bounded = (text: string): string => text.slice(0, LONGEST)

/** Whether the row authenticates now on the listener of this kind. The prefix must match too: a row cannot lie about it. */
export const isLive = (row: StoredCredential, kind: CredentialKind, text: string, at: Date): boolean =>
  row.kind === kind &&
  text.startsWith(prefixes[kind]) &&
  row.revokedAt === null &&
  (row.expiresAt === null || row.expiresAt > at)

/** Whether an asked expiry makes sense: absent, or in the future. */
export const isUsableExpiry = (expiresAt: Date | null, at: Date): boolean => expiresAt === null || expiresAt > at
