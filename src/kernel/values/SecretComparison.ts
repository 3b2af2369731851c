/** The only comparison of secrets, signatures and hashes: how long it takes says nothing about where they differ. */
import { timingSafeEqual } from "node:crypto"

/** Whether two secrets are equal. Their lengths are not secret. */
export const isSameSecret = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && timingSafeEqual(one, other)
