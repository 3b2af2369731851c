/** HTTP calls to addresses that callers choose (contract, section 6). */
import { Clock, Effect, Layer, Result } from "effect"
import { validateHeaderValue } from "node:http"
import { Agent, buildConnector, errors } from "undici"
import type { Dispatcher } from "undici"
import { OutboundError, OutboundHttp } from "../../kernel/ports/OutboundHttp.ts"
import type { OutboundAnswer, OutboundFault, OutboundRequest } from "../../kernel/ports/OutboundHttp.ts"
import { allowedUrl, lookupUnder, notAllowed } from "./AddressPolicy.ts"
import type { OutboundRules } from "./AddressPolicy.ts"
import { Settings } from "../Settings.ts"

const CONNECT_MILLIS = 10_000

// A receiver that took the connection may take its time over TLS until every caller has given up.
const SECURE_MILLIS = 35_000

// Idle connections are dropped before most servers drop them, whatever a server promises.
const IDLE_MILLIS = 4000

// A connection that is always busy would outlive each change of its host's addresses.
const CONNECTION_MILLIS = 60_000

// How much earlier than the caller's limit a body that does not end is taken as far as it came.
const MILLIS_FOR_ANSWER = 20

/** Connects in two steps: what limits the time of the first must not limit that of TLS, which is part of the exchange. */
const connectorUnder = (rules: OutboundRules, connectMillis: number): buildConnector.connector => {
  const reach = buildConnector({ lookup: lookupUnder(rules), timeout: connectMillis })
  const secure = buildConnector({ allowH2: false, timeout: SECURE_MILLIS })
  return (options, callback) => {
    if (options.protocol !== "https:") return reach(options, callback)
    // The name is for TLS alone: a connection would be made to it.
    const { servername: _, ...address } = options
    reach({ ...address, protocol: "http:", port: options.port === "" ? "443" : options.port }, (error, socket) => {
      if (error === null) secure({ ...options, httpSocket: socket }, callback)
      else callback(error, null)
    })
  }
}

// No proxy from the environment, no HTTP/2, no time limits but ours.
const agentUnder = (rules: OutboundRules, connectMillis: number): Agent =>
  new Agent({
    connect: connectorUnder(rules, connectMillis),
    allowH2: false,
    keepAliveTimeout: IDLE_MILLIS,
    keepAliveMaxTimeout: IDLE_MILLIS,
    headersTimeout: 0,
    bodyTimeout: 0,
  })

/**
 * Agents in turns, each for so long; the calls of one that is given up end before its connections do. The client could limit the
 * age of each connection itself, but asks all of a host for theirs before each call.
 */
const agentsUnder = (rules: OutboundRules, connectMillis: number) => {
  let current: { readonly agent: Agent; readonly until: number } | undefined
  return (at: number): Agent => {
    if (current === undefined || at >= current.until) {
      current?.agent.close(() => {})
      current = { agent: agentUnder(rules, connectMillis), until: at + CONNECTION_MILLIS }
    }
    return current.agent
  }
}

// The system's or the client's word for what went wrong; none of them holds anything of the request.
const wordOf = (error: unknown): string => {
  if (error instanceof errors.HTTPParserError) return "no HTTP/1.1"
  if (error instanceof errors.SocketError) return error.message
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : "the connection failed"
}

const faultOf = (word: string): OutboundFault => {
  if (/^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|ETIMEDOUT|EACCES)$/.test(word)) return "connect"
  if (/CERT|^ERR_(TLS|SSL)|^UNABLE_TO|^EPROTO$|^HOSTNAME_MISMATCH$/.test(word)) return "tls"
  if (/^(no HTTP|bad |ERR_(HTTP|INVALID|UNESCAPED)_|UND_ERR_(INVALID|HEADERS)_)/.test(word)) return "protocol"
  return "reset"
}

const errorOf = (error: unknown, host: string): OutboundError => {
  if (error instanceof OutboundError) return error
  const word = wordOf(error)
  return error instanceof errors.ConnectTimeoutError
    ? new OutboundError({
        reason: "Timeout",
        fault: "connect",
        message: `${host} takes no connection within ${CONNECT_MILLIS / 1000} s`,
      })
    : new OutboundError({
        reason: "Unreachable",
        fault: faultOf(word),
        message: `${host} did not answer (${word})`,
      })
}

// Incomplete characters at the end of a cut body are left out.
const textOf = (parts: ReadonlyArray<Buffer>, maxBytes: number): string =>
  parts.length === 0
    ? ""
    : new TextDecoder("utf-8", { ignoreBOM: true }).decode(Buffer.concat(parts).subarray(0, maxBytes), { stream: true })

type Headers = Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

const answerOf = (
  status: number,
  headers: Headers,
  parts: ReadonlyArray<Buffer>,
  maxBytes: number,
): OutboundAnswer => ({
  status,
  // Most callers look at none.
  get headers() {
    return Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [
        name,
        typeof value === "string" ? value : (value?.join(", ") ?? ""),
      ]),
    )
  },
  body: textOf(parts, maxBytes),
})

/** Makes a call. What it returns breaks the call off. */
const exchange = (
  agent: () => Agent,
  url: URL,
  request: OutboundRequest,
  settle: (result: Effect.Effect<OutboundAnswer, OutboundError>) => void,
): (() => void) => {
  let call: Dispatcher.DispatchController | undefined
  let head: { readonly status: number; readonly headers: Headers } | undefined
  const parts: Array<Buffer> = []
  let length = 0
  let isOver = false
  const over = (result: Effect.Effect<OutboundAnswer, OutboundError>) => {
    if (isOver) return
    isOver = true
    clearTimeout(ending)
    settle(result)
  }
  const breakOff = () => {
    isOver = true
    clearTimeout(ending)
    call?.abort(new Error("The call was broken off"))
  }
  const answer = () => over(Effect.succeed(answerOf(head?.status ?? 0, head?.headers ?? {}, parts, request.maxBytes)))
  const fail = (error: OutboundError) => {
    if (request.statusDecides === true && head !== undefined) answer()
    else over(Effect.fail(error))
  }
  const late = () => {
    // For a body that does not end.
    if (request.statusDecides === true && head !== undefined) {
      answer()
      breakOff()
      return
    }
    ending = setTimeout(() => {
      fail(
        new OutboundError({
          reason: "Timeout",
          fault: "timeout",
          message: `No answer within ${request.timeoutMillis / 1000} s`,
        }),
      )
      breakOff()
    }, MILLIS_FOR_ANSWER)
  }
  let ending = setTimeout(late, Math.max(request.timeoutMillis - MILLIS_FOR_ANSWER, 0))

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart: (controller) => {
      // Nothing has been sent, and the connection stays for others.
      if (isOver) throw new Error("The call was broken off before it began")
      call = controller
    },
    onResponseStart: (_, status, headers) => {
      // The final one: those before it only inform.
      if (status >= 200) head = { status, headers }
    },
    onResponseData: (_, part) => {
      if (length <= request.maxBytes) parts.push(part)
      length += part.length
      if (length <= request.maxBytes) return
      if (request.whenLonger === "cut") answer()
      else {
        over(
          Effect.fail(
            new OutboundError({
              reason: "TooLarge",
              fault: "too_large",
              message: `The answer is larger than ${request.maxBytes} bytes`,
            }),
          ),
        )
      }
      breakOff()
    },
    onResponseEnd: answer,
    onResponseError: (_, error) => fail(errorOf(error, url.host)),
  }

  const headers = { "user-agent": "keyshelf", "accept-encoding": "identity", ...request.headers }
  const begin = () => {
    if (isOver) return
    try {
      // A client that was given what it cannot send would count as busy for ever.
      for (const [name, value] of Object.entries(headers)) validateHeaderValue(name, value)
    } catch (error) {
      fail(errorOf(error, url.host))
      return
    }
    agent().dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method: request.method,
        headers,
        ...(request.body === undefined ? {} : { body: request.body }),
      },
      handler,
    )
  }
  // A receiver may have closed a kept connection, which is known after the next look at all sockets. Without that look the
  // request would go out on it and fail, which says nothing about the receiver. Once something was sent nobody knows whether
  // it was received, and a second request in the name of the first would be one that nobody told of.
  setImmediate(() => setImmediate(begin))
  return breakOff
}

/** {@link OutboundHttp} under the given rules. A receiver has so many milliseconds to take a connection. */
export const make = (rules: OutboundRules, connectMillis = CONNECT_MILLIS): OutboundHttp["Service"] => {
  const agentAt = agentsUnder(rules, connectMillis)
  return {
    refusal: (url) => Result.getFailure(allowedUrl(url, rules)),
    send: (request) =>
      Effect.clockWith((clock: Clock.Clock) => {
        const url = allowedUrl(request.url, rules)
        return Result.isFailure(url)
          ? Effect.fail(notAllowed(`The URL ${url.failure}`))
          : Effect.callback<OutboundAnswer, OutboundError>((resume) => {
              const breakOff = exchange(() => agentAt(clock.currentTimeMillisUnsafe()), url.success, request, resume)
              return Effect.sync(breakOff)
            })
      }),
  }
}

/** {@link OutboundHttp} under the given rules. */
export const layerFrom = (rules: OutboundRules, connectMillis = CONNECT_MILLIS) =>
  Layer.succeed(OutboundHttp, make(rules, connectMillis))

/** {@link OutboundHttp} under `SERVICE_WEBHOOKS_ALLOW_INSECURE` and `SERVICE_WEBHOOKS_ALLOWED_CIDRS`. */
export const layer = Layer.unwrap(
  Effect.map(Settings, (settings) =>
    layerFrom({
      allowInsecure: settings.webhooksAllowInsecure,
      allowedNetworks: settings.webhooksAllowedNetworks,
    }),
  ),
)
