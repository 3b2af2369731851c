/** Decides which URLs and addresses outbound calls may use. It prevents calls into private networks (SSRF). */
import { Result } from "effect"
import type { IpNetwork } from "effect/net"
import type { LookupAddress } from "node:dns"
import { isIP } from "node:net"
import type { LookupFunction } from "node:net"
import { OutboundError } from "../../kernel/ports/OutboundHttp.ts"
import { isReachable } from "./GlobalAddresses.ts"
import { lookupAddresses } from "./Dns.ts"

/** Rules for outbound calls, and the resolver to use. */
export interface AddressPolicy {
  /** Allows all addresses and plain http, but no port of another protocol. For development. */
  readonly allowInsecure: boolean
  /** Networks that may be called although their addresses are not global. */
  readonly allowedNetworks: ReadonlyArray<IpNetwork.IpNetwork>
  /** Allows ports of other protocols too. For URLs that the operator configures, never for those that callers choose. */
  readonly allowAllPorts?: boolean
  readonly lookup?: (host: string) => Promise<ReadonlyArray<LookupAddress>>
}

/** Creates the error for a URL or address that the rules do not allow. */
export const notAllowed = (message: string) =>
  new OutboundError({ reason: "NotAllowed", fault: "not_allowed", message })

const DNS_MILLIS = 5000

// Ports that the Fetch standard blocks: https://fetch.spec.whatwg.org/#port-blocking. A mail server or a shell may
// interpret the text of an HTTP request as commands.
const FETCH_PORTS =
  "1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 135 137 " +
  "139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995 1719 1720 " +
  "1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080"

// Ports of databases, caches, queues, remote desktops and container engines.
const INFRASTRUCTURE_PORTS = "445 1433 1521 2375 2376 2379 3306 3389 5432 5672 6379 9042 9092 9200 10250 11211 27017"

const BLOCKED_PORTS = new Set(`${FETCH_PORTS} ${INFRASTRUCTURE_PORTS}`.split(" "))

const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, "$1")

// Names that always mean this machine, whatever a resolver returns (RFC 6761, section 6.3).
const namesThisMachine = (host: string): boolean => /(?:^|\.)localhost\.?$/.test(host)

/**
 * Parses and checks a URL as written; fails with the reason. A host name is checked again when the connection is made.
 */
export const checkUrl = (text: string, rules: AddressPolicy): Result.Result<URL, string> => {
  const url = URL.parse(text)
  if (url === null) return Result.fail("must be a URL")
  if (url.protocol !== "https:" && !(rules.allowInsecure && url.protocol === "http:")) {
    return Result.fail("must be an https URL")
  }
  if (url.username !== "" || url.password !== "") return Result.fail("must not contain a user name or password")
  if (rules.allowAllPorts !== true && BLOCKED_PORTS.has(url.port)) {
    return Result.fail("must not use a port of another protocol")
  }
  if (rules.allowInsecure) return Result.succeed(url)
  const host = hostOf(url)
  const literal = isIP(host) !== 0 ? host : namesThisMachine(host) ? "127.0.0.1" : undefined
  if (literal !== undefined && !isReachable(literal, rules.allowedNetworks)) {
    return Result.fail("must have a public address")
  }
  return Result.succeed(url)
}

const unresolved = (host: string) =>
  new OutboundError({ reason: "Unreachable", fault: "dns", message: `The host name ${host} does not resolve` })

const lookupWithTimeout = (host: string, lookup: (host: string) => Promise<ReadonlyArray<LookupAddress>>) =>
  new Promise<ReadonlyArray<LookupAddress>>((resolve, reject) => {
    const timer = setTimeout(
      () =>
        reject(
          new OutboundError({
            reason: "Timeout",
            fault: "dns",
            message: `The host name ${host} did not resolve within ${DNS_MILLIS / 1000} s`,
          }),
        ),
      DNS_MILLIS,
    )
    lookup(host)
      .then(resolve, () => reject(unresolved(host)))
      .finally(() => clearTimeout(timer))
  })

/**
 * Resolves and checks host names for connections, so that a connection uses exactly the checked address. All addresses
 * of a name must be allowed, because the client chooses among them.
 */
export const checkedLookup =
  (rules: AddressPolicy): LookupFunction =>
  (host, options, callback) => {
    const checked = async () => {
      const found = await lookupWithTimeout(host, rules.lookup ?? lookupAddresses)
      if (found.length === 0) throw unresolved(host)
      if (!rules.allowInsecure && !found.every(({ address }) => isReachable(address, rules.allowedNetworks))) {
        throw notAllowed(`${host} does not resolve to public addresses only`)
      }
      return found
    }
    checked().then(
      (found) => {
        const [first] = found
        if (options.all === true) callback(null, [...found])
        else callback(null, first?.address ?? "", first?.family ?? 4)
      },
      (error: OutboundError) => callback(error, ""),
    )
  }
