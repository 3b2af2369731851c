/** Resolves host names for outbound calls. */
import type { LookupAddress } from "node:dns"
import { lookup, Resolver } from "node:dns/promises"

// The system resolver blocks one of the four threads that the whole process shares, so an unresponsive name server
// could stall everything. It is used only for names that DNS does not know (hosts file, search domains), with at most
// two calls in flight.
const MAX_SYSTEM_LOOKUPS = 2
let running = 0
const waiting: Array<() => void> = []

const lookupBySystem = async (host: string): Promise<ReadonlyArray<LookupAddress>> => {
  if (running >= MAX_SYSTEM_LOOKUPS) await new Promise<void>((resolve) => waiting.push(resolve))
  running++
  try {
    return await lookup(host, { all: true })
  } finally {
    running--
    waiting.shift()?.()
  }
}

const lookupByDns = async (host: string): Promise<ReadonlyArray<LookupAddress>> => {
  const resolver = new Resolver({ timeout: 1500, tries: 2 })
  const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  return found.flatMap((result, index) =>
    result.status === "fulfilled" ? result.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })) : [],
  )
}

/** Resolves all addresses of a name. Rejects if it has none. */
export const lookupAddresses = async (host: string): Promise<ReadonlyArray<LookupAddress>> => {
  const found = await lookupByDns(host)
  return found.length > 0 ? found : lookupBySystem(host)
}
