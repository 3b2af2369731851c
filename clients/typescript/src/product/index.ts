/**
 * `@keyshelf/client/product`: what a product needs from Keyshelf, on `fetch` and Web Crypto, for browsers and workers. For Node.js,
 * `node.ts` adds buffers in files.
 */
import { ConfigurationError } from "../Errors.ts"
import { makeProductClient } from "./Client.ts"
import type { ProductClient, ProductClientOptions } from "./Client.ts"
import { memoryJournal } from "./Journal.ts"
import { fetchStreams } from "./local/Streams.ts"

export type { ClientOptions } from "../Client.ts"
export { ConfigurationError, ConnectionError, isProblem, isServiceAway, ProblemError } from "../Errors.ts"
export type { Problem, ValidationError } from "../Errors.ts"
export type { LocalEvent, LocalState, SnapshotRejected, Source } from "../../../../src/local/index.ts"
export type { Answer, CheckResult, WhenAway } from "./Away.ts"
export type { Check } from "./Checks.ts"
export { BufferFull, FlushFailed } from "./UsageErrors.ts"
export type { FlushResult, RejectedEvent, UsageEvent } from "./UsageErrors.ts"
export type { BufferedReport, BufferOptions, UsageBuffer } from "./UsageBuffer.ts"
export type {
  CheckOptions,
  ConsumeOptions,
  FlagOptions,
  ProductClient,
  ProductClientOptions,
  ReportOptions,
  ReserveOptions,
} from "./Client.ts"
export type { Amount } from "./Decimal.ts"
export type { FlagDetails, FlagSet } from "./Flags.ts"
export type { Status } from "./local/Locals.ts"
export { BufferLocked } from "./Journal.ts"
export type { HeldTranche, Unsettled } from "../../../../src/local/index.ts"
export type { Reservation } from "./Reservations.ts"
export type { Renewed, Seat, SeatRequest } from "./Seats.ts"
export { verifyWebhook, WebhookRejected } from "./Webhooks.ts"
export type { WebhookFault, WebhookHeaders } from "./Webhooks.ts"

/** A cache of the browser would answer a request after a change with what was right before it. */
const uncached =
  (fetch: typeof globalThis.fetch): typeof globalThis.fetch =>
  (input, init) =>
    fetch(input, { ...init, cache: "no-store" })

/** Creates the client of a product. A request takes 10 s at most, a call 30 s with all its requests. Throws `ConfigurationError`. */
export const createProductClient = (options: ProductClientOptions): ProductClient => {
  const fetch = uncached(options.fetch ?? globalThis.fetch)
  return makeProductClient(
    { ...options, fetch },
    {
      openJournal: async (source, path) => {
        if (path !== undefined) throw new TypeError("A buffer in a file needs Node.js")
        return memoryJournal(source)
      },
      openStream: () => fetchStreams(fetch),
      openStore: async () => {
        throw new ConfigurationError("directory", "needs Node.js: in browsers and workers, all is in memory")
      },
    },
  )
}
