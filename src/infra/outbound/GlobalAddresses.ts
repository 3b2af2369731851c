/** Decides which IP addresses are globally reachable, by the IANA special-purpose registries. Pure. */
import { Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"

const networks = (...texts: ReadonlyArray<string>) => texts.map(IpNetwork.fromStringUnsafe)

const notGlobalV4 = networks(
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private
  "100.64.0.0/10", // carrier-grade NAT
  "127.0.0.0/8", // loopback
  "169.254.0.0/16", // link-local, cloud metadata
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments
  "192.0.2.0/24", // documentation
  "192.88.99.0/24", // 6to4 relays
  "192.168.0.0/16", // private
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, broadcast
)

const globalV6 = IpNetwork.fromStringUnsafe("2000::/3")
const notGlobalV6 = networks(
  "2001::/23", // protocol assignments, Teredo
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4, embeds any IPv4 address
  "3fff::/20", // documentation
)

/** IPv6 networks that embed an IPv4 address in the last four bytes: IPv4-mapped and NAT64. */
const embeddingV4 = networks("::ffff:0:0/96", "64:ff9b::/96")

// Returns the address that a connection reaches.
const effectiveAddress = (address: NetAddress.IpAddress): NetAddress.IpAddress =>
  NetAddress.isIpv6Address(address) && embeddingV4.some((network) => IpNetwork.contains(network, address))
    ? NetAddress.ipv4FromBytesUnsafe(Uint8Array.from(NetAddress.ipv6ToOctets(address).slice(-4)))
    : address

const isGlobal = (address: NetAddress.IpAddress): boolean =>
  NetAddress.isIpv4Address(address)
    ? !notGlobalV4.some((network) => IpNetwork.contains(network, address))
    : IpNetwork.contains(globalV6, address) && !notGlobalV6.some((network) => IpNetwork.contains(network, address))

/** Whether outbound calls may use this address: it is global, or in a network that the operator allows. */
export const isReachable = (text: string, allowed: ReadonlyArray<IpNetwork.IpNetwork>): boolean => {
  const parsed = NetAddress.ipFromString(text)
  if (Result.isFailure(parsed)) return false
  const target = effectiveAddress(parsed.success)
  return (
    isGlobal(target) ||
    allowed.some((network) => IpNetwork.contains(network, target) || IpNetwork.contains(network, parsed.success))
  )
}
