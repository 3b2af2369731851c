/** HTTP calls to addresses that callers choose. They reach nothing that an outsider could not reach. */
import { Context, Schema } from "effect"
import type { Effect, Option } from "effect"

/**
 * What went wrong, more closely: the name does not resolve, no connection, no valid certificate, too late, broken off, not
 * allowed, not HTTP, too much.
 */
export const OutboundFault = Schema.Literals([
  "dns",
  "connect",
  "tls",
  "timeout",
  "reset",
  "not_allowed",
  "protocol",
  "too_large",
])
export type OutboundFault = typeof OutboundFault.Type

/** Why there is no answer. */
export class OutboundError extends Schema.TaggedError<OutboundError>()("OutboundError", {
  reason: Schema.Literals(["NotAllowed", "Timeout", "TooLarge", "Unreachable"]),
  fault: Schema.optionalKey(OutboundFault),
  /** For a person; holds nothing of the request but the host. */
  message: Schema.String,
}) {}

export interface OutboundRequest {
  readonly method: "GET" | "POST"
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** For the whole exchange, the look-up of the name included. */
  readonly timeoutMillis: number
  /** How much of the answer's body is read. */
  readonly maxBytes: number
  /** What becomes of a longer one: `fail` (default), or `cut` after `maxBytes`. */
  readonly whenLonger?: "fail" | "cut"
  /**
   * Once the status line is there the call succeeds, with as much of the body as came in time (default: a body that is late
   * or breaks off is a failure).
   */
  readonly statusDecides?: boolean
}

export interface OutboundAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * Calls over `https` to global addresses only, unless the settings allow more. Every address that a name resolves to is
 * checked, and the connection goes to a checked one. Redirects are answers like others; there are no proxies, no cookies.
 */
export class OutboundHttp extends Context.Service<
  OutboundHttp,
  {
    readonly send: (request: OutboundRequest) => Effect.Effect<OutboundAnswer, OutboundError>
    /** Why a URL is refused already as it is written; a name may still turn out to be refused at the connection. */
    readonly refusal: (url: string) => Option.Option<string>
  }
>()("keyshelf/kernel/OutboundHttp") {}
