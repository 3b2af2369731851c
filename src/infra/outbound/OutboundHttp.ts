/** HTTP client for addresses that callers choose. */
import { Clock, Effect, Layer, Result } from "effect"
import { validateHeaderValue } from "node:http"
import { Agent, buildConnector, errors } from "undici"
import type { Dispatcher } from "undici"
import { OutboundError, OutboundHttp } from "../../kernel/ports/OutboundHttp.ts"
import type { OutboundResponse, OutboundFailure, OutboundRequest } from "../../kernel/ports/OutboundHttp.ts"
import { checkUrl, checkedLookup, notAllowed } from "./AddressPolicy.ts"
import type { AddressPolicy } from "./AddressPolicy.ts"
import { areExhausted, FileDescriptors, isExhaustion } from "../FileDescriptors.ts"
import { Settings } from "../Settings.ts"

const CONNECT_MILLIS = 10_000

// Time for the TLS handshake. It exceeds every caller's timeout, so the caller's timeout applies first.
const TLS_MILLIS = 35_000

// Closes idle connections before most servers do, whatever keep-alive time a server announces.
const IDLE_MILLIS = 4000

// Maximum age of a connection. A constantly busy connection would otherwise never follow DNS changes.
const MAX_CONNECTION_AGE_MILLIS = 60_000

// With `statusDecides`, the time before the caller's timeout at which an unfinished body is cut.
const CUT_BEFORE_TIMEOUT_MILLIS = 20

/**
 * Connects in two steps, because the connect timeout must not cover the TLS handshake, which belongs to the exchange.
 */
const connectorUnder = (rules: AddressPolicy, connectMillis: number): buildConnector.connector => {
  const connect = buildConnector({ lookup: checkedLookup(rules), timeout: connectMillis })
  const secure = buildConnector({ allowH2: false, timeout: TLS_MILLIS })
  return (options, callback) => {
    if (options.protocol !== "https:") return connect(options, callback)
    // `servername` is only for TLS; the plain connector would connect to it.
    const { servername: _, ...address } = options
    connect({ ...address, protocol: "http:", port: options.port === "" ? "443" : options.port }, (error, socket) => {
      if (error === null) secure({ ...options, httpSocket: socket }, callback)
      else callback(error, null)
    })
  }
}

// Uses no proxy from the environment, no HTTP/2, and no timeouts except ours.
const agentUnder = (rules: AddressPolicy, connectMillis: number): Agent =>
  new Agent({
    connect: connectorUnder(rules, connectMillis),
    allowH2: false,
    keepAliveTimeout: IDLE_MILLIS,
    keepAliveMaxTimeout: IDLE_MILLIS,
    headersTimeout: 0,
    bodyTimeout: 0,
  })

/**
 * Replaces the agent at a fixed interval, which limits the age of connections. A replaced agent closes after its calls
 * end. The client's own age limit is not used, because it checks all connections of a host before each call.
 */
const rotatingAgents = (rules: AddressPolicy, connectMillis: number) => {
  let current: { readonly agent: Agent; readonly until: number } | undefined
  return (at: number): Agent => {
    if (current === undefined || at >= current.until) {
      current?.agent.close(() => {})
      current = { agent: agentUnder(rules, connectMillis), until: at + MAX_CONNECTION_AGE_MILLIS }
    }
    return current.agent
  }
}

// Returns the system's or the client's error code or message. None of them contains request data.
const causeOf = (error: unknown): string => {
  if (error instanceof errors.HTTPParserError) return "not HTTP/1.1"
  if (error instanceof errors.SocketError) return error.message
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : "the connection failed"
}

const faultOf = (cause: string): OutboundFailure => {
  if (/^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|ETIMEDOUT|EACCES)$/.test(cause)) return "connect"
  if (/CERT|^ERR_(TLS|SSL)|^UNABLE_TO|^EPROTO$|^HOSTNAME_MISMATCH$/.test(cause)) return "tls"
  if (/^(not HTTP|bad |ERR_(HTTP|INVALID|UNESCAPED)_|UND_ERR_(INVALID|HEADERS)_)/.test(cause)) return "protocol"
  return "reset"
}

// A look-up fails without a reason if it cannot open a socket.
const isLookupFailure = (error: unknown): boolean => error instanceof OutboundError && error.fault === "dns"

const errorOf = (error: unknown, host: string): OutboundError => {
  const cause = causeOf(error)
  if (isExhaustion(cause) || (isLookupFailure(error) && areExhausted())) {
    return new OutboundError({
      reason: "Unreachable",
      fault: "resources",
      message: `${host} was not called: this process has too many open files`,
    })
  }
  if (error instanceof OutboundError) return error
  return error instanceof errors.ConnectTimeoutError
    ? new OutboundError({
        reason: "Timeout",
        fault: "connect",
        message: `${host} did not accept a connection within ${CONNECT_MILLIS / 1000} s`,
      })
    : new OutboundError({
        reason: "Unreachable",
        fault: faultOf(cause),
        message: `${host} did not respond (${cause})`,
      })
}

// Omits an incomplete character at the end of a cut body.
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
): OutboundResponse => ({
  status,
  // Built on demand, because most callers do not read headers.
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

/** Starts a call. Returns a function that aborts it. */
const exchange = (
  agent: () => Agent,
  url: URL,
  request: OutboundRequest,
  reportExhaustion: () => void,
  settle: (result: Effect.Effect<OutboundResponse, OutboundError>) => void,
): (() => void) => {
  let call: Dispatcher.DispatchController | undefined
  let head: { readonly status: number; readonly headers: Headers } | undefined
  const parts: Array<Buffer> = []
  let length = 0
  let isSettled = false
  const finish = (result: Effect.Effect<OutboundResponse, OutboundError>) => {
    if (isSettled) return
    isSettled = true
    clearTimeout(timer)
    settle(result)
  }
  const abort = () => {
    isSettled = true
    clearTimeout(timer)
    call?.abort(new Error("The call was aborted"))
  }
  const succeed = () =>
    finish(Effect.succeed(answerOf(head?.status ?? 0, head?.headers ?? {}, parts, request.maxBytes)))
  const fail = (error: OutboundError) => {
    if (error.fault === "resources") reportExhaustion()
    if (request.statusDecides === true && head !== undefined) succeed()
    else finish(Effect.fail(error))
  }
  const onTimeout = () => {
    // The body may never end, but the status is enough.
    if (request.statusDecides === true && head !== undefined) {
      succeed()
      abort()
      return
    }
    timer = setTimeout(() => {
      fail(
        new OutboundError({
          reason: "Timeout",
          fault: "timeout",
          message: `No response within ${request.timeoutMillis / 1000} s`,
        }),
      )
      abort()
    }, CUT_BEFORE_TIMEOUT_MILLIS)
  }
  let timer = setTimeout(onTimeout, Math.max(request.timeoutMillis - CUT_BEFORE_TIMEOUT_MILLIS, 0))

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart: (controller) => {
      // Nothing has been sent yet. Throwing here keeps the connection for other calls.
      if (isSettled) throw new Error("The call was aborted before it started")
      call = controller
    },
    onResponseStart: (_, status, headers) => {
      // Ignores informational responses (1xx) before the final one.
      if (status >= 200) head = { status, headers }
    },
    onResponseData: (_, part) => {
      if (length <= request.maxBytes) parts.push(part)
      length += part.length
      if (length <= request.maxBytes) return
      if (request.whenLonger === "cut") succeed()
      else {
        finish(
          Effect.fail(
            new OutboundError({
              reason: "TooLarge",
              fault: "too_large",
              message: `The response is larger than ${request.maxBytes} bytes`,
            }),
          ),
        )
      }
      abort()
    },
    onResponseEnd: succeed,
    onResponseError: (_, error) => fail(errorOf(error, url.host)),
  }

  const headers = { "user-agent": "keyshelf", "accept-encoding": "identity", ...request.headers }
  const start = () => {
    if (isSettled) return
    try {
      // Validated here, because the client would count an invalid request as busy forever.
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
  // The receiver may have closed an idle connection. Node.js notices that in its next poll of the sockets, so the call
  // waits for one poll. Otherwise the request would fail on the closed connection, although the receiver is healthy. It
  // could not be retried safely, because the receiver might have received it.
  setImmediate(() => setImmediate(start))
  return abort
}

/** Creates {@link OutboundHttp} with the given rules and connect timeout. */
export const make = (
  rules: AddressPolicy,
  connectMillis = CONNECT_MILLIS,
  reportExhaustion: () => void = () => {},
): OutboundHttp["Service"] => {
  const agentAt = rotatingAgents(rules, connectMillis)
  return {
    rejectionReason: (url) => Result.getFailure(checkUrl(url, rules)),
    send: (request) =>
      Effect.clockWith((clock: Clock.Clock) => {
        const url = checkUrl(request.url, rules)
        return Result.isFailure(url)
          ? Effect.fail(notAllowed(`The URL ${url.failure}`))
          : Effect.callback<OutboundResponse, OutboundError>((resume) => {
              const abort = exchange(
                () => agentAt(clock.currentTimeMillisUnsafe()),
                url.success,
                request,
                reportExhaustion,
                resume,
              )
              return Effect.sync(abort)
            })
      }),
  }
}

/** {@link OutboundHttp} with the given rules. */
export const layerFrom = (rules: AddressPolicy, connectMillis = CONNECT_MILLIS) =>
  Layer.succeed(OutboundHttp, make(rules, connectMillis))

/** {@link OutboundHttp} with the rules of `SERVICE_WEBHOOKS_ALLOW_INSECURE` and `SERVICE_WEBHOOKS_ALLOWED_CIDRS`. */
export const layer = Layer.unwrap(
  Effect.map(Effect.all([Settings, FileDescriptors]), ([settings, { reportExhaustion }]) =>
    Layer.succeed(
      OutboundHttp,
      make(
        { allowInsecure: settings.webhooksAllowInsecure, allowedNetworks: settings.webhooksAllowedNetworks },
        CONNECT_MILLIS,
        reportExhaustion,
      ),
    ),
  ),
)
