/**
 * `@keyshelf/client/product`: what a product needs from Keyshelf, on `fetch` and Web Crypto, for browsers and workers. For Node.js,
 * `node.ts` adds buffers in files.
 */
import type { ClientOptions } from "../Client.ts"
import { makeProductClient } from "./Client.ts"
import type { ProductClient } from "./Client.ts"
import { memoryJournal } from "./Journal.ts"

export type { ClientOptions } from "../Client.ts"
export { ConfigurationError, ConnectionError, isProblem, isServiceAway, ProblemError } from "../Errors.ts"
export type { Problem, ValidationError } from "../Errors.ts"
export { lastKnown } from "./Away.ts"
export type { Answer, LastKnown, WhenAway } from "./Away.ts"
export { BufferFull, FlushFailed } from "./UsageBuffer.ts"
export type {
  BufferedReport,
  BufferOptions,
  FlushResult,
  RejectedEvent,
  UsageBuffer,
  UsageEvent,
} from "./UsageBuffer.ts"
export type { Check, CheckOptions, CheckResult, ConsumeOptions, ProductClient, ReportOptions } from "./Client.ts"
export type { Amount } from "./Decimal.ts"
export type { FlagDetails, FlagOptions, FlagSet } from "./Flags.ts"
export { BufferLocked } from "./Journal.ts"
export type { Renewed, Seat, SeatRequest } from "./Seats.ts"
export { verifyWebhook, WebhookRejected } from "./Webhooks.ts"
export type { WebhookFault, WebhookHeaders } from "./Webhooks.ts"

/** Creates the client of a product. An attempt takes 10 s at most, a call 30 s with all its attempts. Throws `ConfigurationError`. */
export const createProductClient = (options: ClientOptions): ProductClient =>
  makeProductClient(options, async (source, path) => {
    if (path !== undefined) throw new TypeError("A buffer in a file needs Node.js")
    return memoryJournal(source)
  })
