/**
 * Percentage rollouts: assigns targeting keys to buckets. Pure. The assignment never changes between versions, and
 * clients can recompute it (docs/feature-flags.md).
 */
import { createHash } from "node:crypto"

/** Number of buckets: one per thousandth of a percent, because percentages have up to three decimals. */
export const BUCKETS = 100_000

const HEX_DIGITS = 8

/**
 * Computes the bucket of a targeting key, 0 to 99,999: the first eight hexadecimal digits of the SHA-256 of
 * `<flag key>/<targeting name>/<targeting key>`, modulo 100,000. The hash includes the flag and the targeting, so that
 * different rollouts select different keys for their first 10 %.
 */
export const bucketOf = (flagKey: string, targeting: string, targetingKey: string): number => {
  const hash = createHash("sha256").update(`${flagKey}/${targeting}/${targetingKey}`).digest("hex")
  return Number.parseInt(hash.slice(0, HEX_DIGITS), 16) % BUCKETS
}

/** Whether a percentage includes a bucket. A larger percentage includes every bucket of a smaller one. */
export const isInPercentage = (bucket: number, percentage: number): boolean => bucket < Math.round(percentage * 1000)
