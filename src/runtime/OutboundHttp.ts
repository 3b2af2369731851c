/** HTTP calls to addresses that callers choose, on Node's own client (contract, section 6). */
import { Effect, Layer, Option } from "effect"
import type { IpNetwork } from "effect/net"
import type { LookupAddress } from "node:dns"
import { lookup } from "node:dns/promises"
import * as http from "node:http"
import * as https from "node:https"
import { isIP } from "node:net"
import { OutboundError, OutboundHttp } from "../kernel/OutboundHttp.ts"
import type { OutboundAnswer, OutboundRequest } from "../kernel/OutboundHttp.ts"
import { isReachable } from "./GlobalAddresses.ts"
import { Settings } from "./Settings.ts"

/** What may be called, and how names are looked up. */
export interface OutboundRules {
  /** Lifts the rules on addresses and on `https`: for development. */
  readonly allowInsecure: boolean
  /** Networks that may be called although they are not global. */
  readonly allowedNetworks: ReadonlyArray<IpNetwork.IpNetwork>
  readonly lookup?: (host: string) => Promise<ReadonlyArray<LookupAddress>>
}

const refused = (message: string) => new OutboundError({ reason: "NotAllowed", message })

const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, "$1")

const refusalOf = (text: string, rules: OutboundRules): Option.Option<string> => {
  const url = URL.parse(text)
  if (url === null) return Option.some("is not a URL")
  if (url.protocol !== "https:" && !(rules.allowInsecure && url.protocol === "http:")) {
    return Option.some("is not an https URL")
  }
  if (url.username !== "" || url.password !== "") return Option.some("holds a user name or password")
  if (rules.allowInsecure) return Option.none()
  const host = hostOf(url)
  if (isIP(host) !== 0 && !isReachable(host, rules.allowedNetworks)) return Option.some("names no public address")
  return Option.none()
}

// Every address must be allowed: which of them the connection takes is not ours to say.
const addressesOf = Effect.fnUntraced(function* (host: string, rules: OutboundRules) {
  const family = isIP(host)
  const found: ReadonlyArray<LookupAddress> =
    family === 0
      ? yield* Effect.tryPromise({
          try: () => (rules.lookup ?? ((name) => lookup(name, { all: true })))(host),
          catch: () => new OutboundError({ reason: "Unreachable", message: `The name ${host} does not resolve` }),
        })
      : [{ address: host, family }]
  if (found.length === 0) {
    return yield* new OutboundError({ reason: "Unreachable", message: `The name ${host} does not resolve` })
  }
  if (!rules.allowInsecure && !found.every(({ address }) => isReachable(address, rules.allowedNetworks))) {
    return yield* refused(`${host} is not a public address`)
  }
  return found
})

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "the connection failed"

const exchange = (url: URL, addresses: ReadonlyArray<LookupAddress>, request: OutboundRequest, signal: AbortSignal) =>
  new Promise<OutboundAnswer>((resolve, reject) => {
    const client = url.protocol === "https:" ? https : http
    const call = client.request(url, {
      method: request.method,
      headers: {
        "user-agent": "keyshelf",
        "accept-encoding": "identity",
        ...request.headers,
        ...(request.body === undefined ? {} : { "content-length": Buffer.byteLength(request.body) }),
      },
      // An agent of its own: no proxy from the environment, no connection from another call.
      agent: new client.Agent({ keepAlive: false }),
      signal,
      // The checked addresses, not another look-up.
      lookup: (_host, options, callback) => {
        const [first] = addresses
        if (options.all === true) callback(null, [...addresses])
        else callback(null, first?.address ?? "", first?.family ?? 4)
      },
    })
    call.on("error", reject)
    call.on("response", (response) => {
      const parts: Array<Buffer> = []
      let length = 0
      const answer = () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: Object.fromEntries(
            Object.entries(response.headers).map(([name, value]) => [
              name,
              Array.isArray(value) ? value.join(", ") : (value ?? ""),
            ]),
          ),
          body: Buffer.concat(parts).subarray(0, request.maxBytes).toString("utf8"),
        })
      response.on("data", (part: Buffer) => {
        parts.push(part)
        length += part.length
        if (length <= request.maxBytes) return
        if (request.whenLonger === "cut") answer()
        else
          reject(
            new OutboundError({ reason: "TooLarge", message: `The answer is larger than ${request.maxBytes} bytes` }),
          )
        call.destroy()
      })
      response.on("end", answer)
      response.on("error", reject)
      response.on("close", () => reject(new Error("The answer ended early")))
    })
    call.end(request.body)
  })

/** {@link OutboundHttp} under the given rules. */
export const make = (rules: OutboundRules): OutboundHttp["Service"] => ({
  refusal: (url) => refusalOf(url, rules),
  send: Effect.fnUntraced(
    function* (request: OutboundRequest) {
      const refusal = refusalOf(request.url, rules)
      if (Option.isSome(refusal)) return yield* refused(`The URL ${refusal.value}`)
      const url = new URL(request.url)
      const addresses = yield* addressesOf(hostOf(url), rules)
      return yield* Effect.tryPromise({
        try: (signal) => exchange(url, addresses, request, signal),
        catch: (error) =>
          error instanceof OutboundError
            ? error
            : new OutboundError({ reason: "Unreachable", message: `${url.host} did not answer (${codeOf(error)})` }),
      })
    },
    (work, request) =>
      Effect.timeoutOrElse(work, {
        duration: request.timeoutMillis,
        orElse: () =>
          Effect.fail(
            new OutboundError({ reason: "Timeout", message: `No answer within ${request.timeoutMillis / 1000} s` }),
          ),
      }),
  ),
})

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
