/**
 * Percentage rollouts: which share of the targeting keys a targeting serves. Pure, stable for ever, and recomputable by
 * anyone (docs/feature-flags.md).
 */
import { createHash } from "node:crypto"

/** A percentage has up to three decimals: it counts in thousandths of a percent. */
export const BUCKETS = 100_000

const HEX_DIGITS = 8

/**
 * The bucket of a targeting key, 0 to 99,999: the first eight hexadecimal digits of the SHA-256 of
 * `<flag key>/<targeting name>/<targeting key>`, modulo 100,000. The names of flag and targeting are part of it, so that
 * the first 10 % of one rollout are not the first 10 % of every rollout.
 */
export const bucketOf = (flagKey: string, targeting: string, targetingKey: string): number => {
  const hash = createHash("sha256").update(`${flagKey}/${targeting}/${targetingKey}`).digest("hex")
  return Number.parseInt(hash.slice(0, HEX_DIGITS), 16) % BUCKETS
}

/** Whether a bucket is in the percentage. A greater percentage keeps every bucket that a smaller one has. */
export const isWithin = (bucket: number, percentage: number): boolean => bucket < Math.round(percentage * 1000)
