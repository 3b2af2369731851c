/** How long a local client waits. The same in all languages: `clients/vectors/local-states.json`. */

const MAX_DELAY_MS = 60_000
/** A longer `Retry-After` would keep a product from news for too long. */
const MAX_RETRY_AFTER_MS = 300_000

/** After the first failure, the named time; then twice as long each time, up to a minute and by up to 25 % more or less. */
export const retryDelay = (failures: number, firstMs: number, random: number): number =>
  failures <= 1 ? firstMs : Math.min(MAX_DELAY_MS, firstMs * 2 ** (failures - 1)) * (0.75 + random / 2)

/** A retry that also leaves the service alone for as long as it wants. */
export const politeDelay = (delayMs: number, retryAfterMs = 0): number =>
  Math.max(delayMs, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS))

/** By up to 10 % more or less, so that clients that were started together do not stay together. */
export const spread = (millis: number, random: number): number => millis * (0.9 + random / 5)
