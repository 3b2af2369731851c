/** HTTP requests to URLs that callers choose. They cannot reach private networks (SSRF protection). */
import { Context, Schema } from "effect"
import type { Effect, Option } from "effect"

/**
 * The cause of a failed request. `protocol` means an invalid HTTP response, `reset` a connection that was closed early.
 * `resources` means that this process could open no connection, so nothing was sent.
 */
export const OutboundFailure = Schema.Literals([
  "dns",
  "connect",
  "tls",
  "timeout",
  "reset",
  "not_allowed",
  "protocol",
  "too_large",
  "resources",
])
export type OutboundFailure = typeof OutboundFailure.Type

/** A request that got no usable response. */
export class OutboundError extends Schema.TaggedError<OutboundError>()("OutboundError", {
  reason: Schema.Literals(["NotAllowed", "Timeout", "TooLarge", "Unreachable"]),
  fault: Schema.optionalKey(OutboundFailure),
  /** For people. Contains no part of the request except the host. */
  message: Schema.String,
}) {}

export interface OutboundRequest {
  readonly method: "GET" | "POST"
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** The timeout for the whole exchange, including DNS resolution. */
  readonly timeoutMillis: number
  /** The maximum size of the response body. */
  readonly maxBytes: number
  /** What happens to a longer body: `fail` (default) fails the request, `cut` truncates the body to `maxBytes`. */
  readonly whenLonger?: "fail" | "cut"
  /**
   * Whether the status line alone makes the request succeed, with the part of the body that arrived in time. By default
   * an incomplete body is a failure.
   */
  readonly statusDecides?: boolean
}

export interface OutboundResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * Sends requests only over `https` and only to global addresses, unless the settings allow more. All addresses of a
 * name are checked, and the connection uses a checked one. Redirects are returned, not followed. Proxies and cookies
 * are not used.
 */
export class OutboundHttp extends Context.Service<
  OutboundHttp,
  {
    readonly send: (request: OutboundRequest) => Effect.Effect<OutboundResponse, OutboundError>
    /** The reason why a URL is rejected by its text alone, if it is. Its addresses are checked at connection time. */
    readonly rejectionReason: (url: string) => Option.Option<string>
  }
>()("keyshelf/kernel/OutboundHttp") {}
