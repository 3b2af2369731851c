/** Looks names up for outbound calls. */
import type { LookupAddress } from "node:dns"
import { lookup, Resolver } from "node:dns/promises"

// The system's own look-up waits in a pool of four threads that the whole process shares, so a name server that never
// answers would hold everyone up. It is asked only for names that DNS does not know (the hosts file, search domains), by
// two calls at most.
const MOST_SYSTEM_LOOKUPS = 2
let running = 0
const waiting: Array<() => void> = []

const bySystem = async (host: string): Promise<ReadonlyArray<LookupAddress>> => {
  if (running >= MOST_SYSTEM_LOOKUPS) await new Promise<void>((resolve) => waiting.push(resolve))
  running++
  try {
    return await lookup(host, { all: true })
  } finally {
    running--
    waiting.shift()?.()
  }
}

const byDns = async (host: string): Promise<ReadonlyArray<LookupAddress>> => {
  const resolver = new Resolver({ timeout: 1500, tries: 2 })
  const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  return found.flatMap((result, index) =>
    result.status === "fulfilled" ? result.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })) : [],
  )
}

/** All addresses of a name. Rejects if it has none. */
export const addressesOfName = async (host: string): Promise<ReadonlyArray<LookupAddress>> => {
  const found = await byDns(host)
  return found.length > 0 ? found : bySystem(host)
}
