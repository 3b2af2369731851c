/** HTTP calls to addresses that callers choose, on Node's own client (contract, section 6). */
import { Effect, Layer, Option } from "effect"
import type { IpNetwork } from "effect/net"
import type { LookupAddress } from "node:dns"
import * as http from "node:http"
import * as https from "node:https"
import { isIP } from "node:net"
import type { LookupFunction } from "node:net"
import { OutboundError, OutboundHttp } from "../kernel/OutboundHttp.ts"
import type { OutboundAnswer, OutboundFault, OutboundRequest } from "../kernel/OutboundHttp.ts"
import { isReachable } from "./GlobalAddresses.ts"
import { addressesOfName } from "./Names.ts"
import { Settings } from "./Settings.ts"

/** What may be called, and how names are looked up. */
export interface OutboundRules {
  /** Lifts the rules on addresses and on `https`: for development. */
  readonly allowInsecure: boolean
  /** Networks that may be called although they are not global. */
  readonly allowedNetworks: ReadonlyArray<IpNetwork.IpNetwork>
  readonly lookup?: (host: string) => Promise<ReadonlyArray<LookupAddress>>
}

const refused = (message: string) => new OutboundError({ reason: "NotAllowed", fault: "not_allowed", message })

const DNS_MILLIS = 5000
const CONNECT_MILLIS = 10_000

// Ports of other protocols: the Fetch standard's list, https://fetch.spec.whatwg.org/#port-blocking. A request there is text
// that a mail server or a shell may take for its own.
const foreignPorts = new Set(
  (
    "1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 135 137 " +
    "139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995 1719 1720 " +
    "1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080"
  ).split(" "),
)

const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, "$1")

// Names that mean this machine whatever a resolver says (RFC 6761, section 6.3).
const namesThisMachine = (host: string): boolean => /(?:^|\.)localhost\.?$/.test(host)

const refusalOf = (text: string, rules: OutboundRules): Option.Option<string> => {
  const url = URL.parse(text)
  if (url === null) return Option.some("is not a URL")
  if (url.protocol !== "https:" && !(rules.allowInsecure && url.protocol === "http:")) {
    return Option.some("is not an https URL")
  }
  if (url.username !== "" || url.password !== "") return Option.some("holds a user name or password")
  if (rules.allowInsecure) return Option.none()
  const host = hostOf(url)
  const literal = isIP(host) !== 0 ? host : namesThisMachine(host) ? "127.0.0.1" : undefined
  if (literal !== undefined && !isReachable(literal, rules.allowedNetworks)) {
    return Option.some("names no public address")
  }
  return foreignPorts.has(url.port) ? Option.some("names a port of another protocol") : Option.none()
}

const unresolved = (host: string) =>
  new OutboundError({ reason: "Unreachable", fault: "dns", message: `The name ${host} does not resolve` })

const timedOut = (seconds: number) =>
  new OutboundError({ reason: "Timeout", fault: "timeout", message: `No answer within ${seconds} s` })

// Every address must be allowed: which of them the connection takes is not ours to say.
const addressesOf = Effect.fnUntraced(function* (host: string, rules: OutboundRules, timeoutMillis: number) {
  const family = isIP(host)
  const found: ReadonlyArray<LookupAddress> =
    family === 0
      ? yield* Effect.tryPromise({
          try: () => (rules.lookup ?? addressesOfName)(host),
          catch: () => unresolved(host),
        }).pipe(
          Effect.timeoutOrElse({
            duration: DNS_MILLIS,
            orElse: () =>
              new OutboundError({
                reason: "Timeout",
                fault: "dns",
                message: `The name ${host} does not resolve in time`,
              }),
          }),
          Effect.timeoutOrElse({ duration: timeoutMillis, orElse: () => timedOut(timeoutMillis / 1000) }),
        )
      : [{ address: host, family }]
  if (found.length === 0) return yield* unresolved(host)
  if (!rules.allowInsecure && !found.every(({ address }) => isReachable(address, rules.allowedNetworks))) {
    return yield* refused(`${host} is not a public address`)
  }
  return found
})

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "the connection failed"

const faultOf = (code: string): OutboundFault => {
  if (/^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|ETIMEDOUT|EACCES)$/.test(code)) return "connect"
  if (/CERT|^ERR_(TLS|SSL)|^UNABLE_TO|^EPROTO$|^HOSTNAME_MISMATCH$/.test(code)) return "tls"
  if (/^(HPE|ERR_(HTTP|INVALID|UNESCAPED))_/.test(code)) return "protocol"
  return "reset"
}

// Incomplete characters at the end of a cut body are left out.
const textOf = (parts: ReadonlyArray<Buffer>, maxBytes: number): string =>
  parts.length === 0
    ? ""
    : new TextDecoder("utf-8", { ignoreBOM: true }).decode(Buffer.concat(parts).subarray(0, maxBytes), { stream: true })

interface Agents {
  readonly http: http.Agent
  readonly https: https.Agent
}

// No proxy from the environment. Idle connections are dropped before most servers drop them.
const keepingAgents = (): Agents => {
  const options = { keepAlive: true, timeout: 4000, maxFreeSockets: 256, scheduling: "lifo" } as const
  return { http: new http.Agent(options), https: new https.Agent(options) }
}

const lookupOf =
  (addresses: ReadonlyArray<LookupAddress>): LookupFunction =>
  (_host, options, callback) => {
    const [first] = addresses
    if (options.all === true) callback(null, [...addresses])
    else callback(null, first?.address ?? "", first?.family ?? 4)
  }

// How much earlier than the caller's limit a body that does not end is taken as far as it came.
const MILLIS_FOR_ANSWER = 20

interface Exchange {
  readonly url: URL
  readonly addresses: ReadonlyArray<LookupAddress>
  readonly request: OutboundRequest
  /** Connections to take from and give back to; none for a connection of its own. */
  readonly agents: Agents | undefined
  readonly millisLeft: number
}

/** What breaks an exchange off. An `AbortSignal` would do, with listeners on each of its streams. */
interface Line {
  isCut: boolean
  cut: () => void
}

const exchange = ({ addresses, agents, millisLeft, request, url }: Exchange, line: Line): Promise<OutboundAnswer> =>
  new Promise((resolve, reject) => {
    const client = url.protocol === "https:" ? https : http
    const kept = url.protocol === "https:" ? agents?.https : agents?.http
    const call = client.request(url, {
      method: request.method,
      headers: {
        "user-agent": "keyshelf",
        "accept-encoding": "identity",
        ...request.headers,
        ...(request.body === undefined ? {} : { "content-length": Buffer.byteLength(request.body) }),
      },
      agent: kept ?? new client.Agent({ keepAlive: false }),
      // The checked addresses, not another look-up.
      lookup: lookupOf(addresses),
    })
    line.cut = () => void call.destroy()
    let head: http.IncomingMessage | undefined
    const parts: Array<Buffer> = []
    const answer = () =>
      resolve({
        status: head?.statusCode ?? 0,
        // Most callers look at none.
        get headers() {
          return Object.fromEntries(
            Object.entries(head?.headers ?? {}).map(([name, value]) => [
              name,
              Array.isArray(value) ? value.join(", ") : (value ?? ""),
            ]),
          )
        },
        body: textOf(parts, request.maxBytes),
      })
    const fail = (error: Error) => {
      if (request.statusDecides === true && head !== undefined) answer()
      else reject(error)
    }
    const late = () => {
      // For a body that does not end.
      if (request.statusDecides === true && head !== undefined) {
        answer()
        call.destroy()
        return
      }
      ending = setTimeout(() => {
        line.isCut = true
        reject(timedOut(request.timeoutMillis / 1000))
        call.destroy()
      }, MILLIS_FOR_ANSWER)
    }
    let ending = setTimeout(late, Math.max(millisLeft - MILLIS_FOR_ANSWER, 0))
    let begun = false
    const begin = () => {
      if (call.destroyed) return
      begun = true
      call.end(request.body)
    }
    call.on("socket", (socket) => {
      if (socket.connecting) {
        const connecting = setTimeout(
          () =>
            call.destroy(
              new OutboundError({
                reason: "Timeout",
                fault: "connect",
                message: `${url.host} takes no connection within ${CONNECT_MILLIS / 1000} s`,
              }),
            ),
          CONNECT_MILLIS,
        )
        const connected = () => clearTimeout(connecting)
        socket.once("connect", connected)
        call.once("close", connected)
      }
      // What the receiver closed meanwhile is known after the next look at all sockets.
      if (call.reusedSocket) setImmediate(() => setImmediate(begin))
      else begin()
    })
    call.on("close", () => clearTimeout(ending))
    call.on("error", (error) => {
      // The receiver had closed a kept connection: that says nothing about the receiver. Once something was sent on it nobody
      // knows whether it was received, and a second request in the name of the first would be one that nobody told of.
      if (call.reusedSocket && !begun && faultOf(codeOf(error)) === "reset" && !line.isCut) {
        exchange({ url, addresses, request, agents: undefined, millisLeft }, line).then(resolve, reject)
      } else fail(error)
    })
    call.on("response", (response) => {
      head = response
      let length = 0
      response.on("data", (part: Buffer) => {
        if (length <= request.maxBytes) parts.push(part)
        length += part.length
        if (length <= request.maxBytes) return
        if (request.whenLonger === "cut") answer()
        else
          reject(
            new OutboundError({
              reason: "TooLarge",
              fault: "too_large",
              message: `The answer is larger than ${request.maxBytes} bytes`,
            }),
          )
        call.destroy()
      })
      response.on("end", answer)
      response.on("error", fail)
      response.on("close", () => fail(new Error("The answer ended early")))
    })
  })

/** {@link OutboundHttp} under the given rules. */
export const make = (rules: OutboundRules): OutboundHttp["Service"] => {
  const agents = keepingAgents()

  const send = Effect.fnUntraced(function* (request: OutboundRequest) {
    const refusal = refusalOf(request.url, rules)
    if (Option.isSome(refusal)) return yield* refused(`The URL ${refusal.value}`)
    const url = new URL(request.url)
    const began = performance.now()
    const addresses = yield* addressesOf(hostOf(url), rules, request.timeoutMillis)
    const millisLeft = request.timeoutMillis - (performance.now() - began)
    const kept = request.keepAlive === true ? agents : undefined
    const failed = (error: unknown) =>
      error instanceof OutboundError
        ? error
        : new OutboundError({
            reason: "Unreachable",
            fault: faultOf(codeOf(error)),
            message: `${url.host} did not answer (${codeOf(error)})`,
          })
    return yield* Effect.callback<OutboundAnswer, OutboundError>((resume) => {
      const line: Line = { isCut: false, cut: () => {} }
      exchange({ url, addresses, request, agents: kept, millisLeft }, line).then(
        (answer) => resume(Effect.succeed(answer)),
        (error: unknown) => resume(Effect.fail(failed(error))),
      )
      return Effect.sync(() => {
        line.isCut = true
        line.cut()
      })
    })
  })

  return {
    refusal: (url) => refusalOf(url, rules),
    send,
  }
}

/** {@link OutboundHttp} under the given rules. */
export const layerFrom = (rules: OutboundRules) => Layer.succeed(OutboundHttp, make(rules))

/** {@link OutboundHttp} under `SERVICE_WEBHOOKS_ALLOW_INSECURE` and `SERVICE_WEBHOOKS_ALLOWED_CIDRS`. */
export const layer = Layer.unwrap(
  Effect.map(Settings, (settings) =>
    layerFrom({
      allowInsecure: settings.webhooksAllowInsecure,
      allowedNetworks: settings.webhooksAllowedNetworks,
    }),
  ),
)
