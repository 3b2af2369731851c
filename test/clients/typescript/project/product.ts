/** Uses a service with all that the client can do, and prints what it saw. The test compares it with what the service counted. */
import { createProductClient, FlushFailed, isProblem, isServiceAway } from "@keyshelf/client/product"
import type { UsageBuffer, WhenAway } from "@keyshelf/client/product"
import { decide, verifyBundle } from "@keyshelf/client/offline"

const setting = (name: string): string => {
  const value = process.env[name]
  if (value === undefined) throw new Error(`Set ${name}.`)
  return value
}

const mode = process.argv[2]
const instance = setting("KEYSHELF_INSTANCE")
// Each third response is lost, and several calls may lose one after the other.
const client = createProductClient({
  baseUrl: setting("KEYSHELF_URL"),
  token: async () => setting("KEYSHELF_TOKEN"),
  // What is counted is compared with what the service says to each request.
  mode: "remote",
  retries: mode === "use" ? 5 : 0,
  timeoutMs: 20_000,
})

/** How many of the keys were allowed. Each is consumed twice, as by a product that was interrupted. */
const consume = async (entitlement: string, keys: ReadonlyArray<number>): Promise<number> => {
  let allowed = 0
  for (const key of keys) {
    const once = () => client.consume(instance, entitlement, { requested: 1, idempotencyKey: `${entitlement}-${key}` })
    const [first, second] = [await once(), await once()]
    if (JSON.stringify(first) !== JSON.stringify(second))
      throw new Error(`${JSON.stringify(first)} and ${JSON.stringify(second)}`)
    allowed += first.allowed ? 1 : 0
  }
  return allowed
}

const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, index) => from + index)

/** Flushes until no event waits, and returns how many had a result. */
const settle = async (usage: UsageBuffer): Promise<number> => {
  let settled = 0
  while (usage.size > 0) {
    const result = await usage.flush().catch((error: unknown) => {
      if (error instanceof FlushFailed && error.isAway) return error.result
      throw error
    })
    if (result.rejected.length > 0) throw new Error(JSON.stringify(result.rejected))
    settled += result.accepted + result.duplicates
  }
  return settled
}

const openBuffer = () => client.usageBuffer({ path: setting("KEYSHELF_BUFFER") })

const report = async () => {
  const usage = await openBuffer()
  const waiting = usage.size
  const reports = Promise.all(
    numbers(2).map(async () => {
      for (let number = 0; number < 100; number++) await usage.report(instance, "rows", "0.5")
    }),
  )
  const during = await settle(usage)
  await reports
  const settled = during + (await settle(usage))
  await usage.close()
  return { waiting, settled }
}

const seats = async () => {
  const anna = await client.acquireSeat(instance, "editors", { holder: "anna", ttlSeconds: 60 })
  await anna.renew()
  const taken = await client.acquireSeat(instance, "editors", { holder: "ben" }).catch((error: unknown) => error)
  const seen = [anna.isHeld, isProblem(taken) ? taken.code : String(taken)]
  await anna.release()
  const ben = await client.acquireSeat(instance, "editors", { holder: "ben" })
  await ben.release()
  return [...seen, ben.holder]
}

const use = async () => {
  const { settled, waiting } = await report()
  for (const number of numbers(5)) {
    await client.report(instance, "rows", 2, { transactionId: `direct-${number}` })
  }
  await client.flags({ targetingKey: instance })
  const flags = await client.flags({ targetingKey: instance })
  const answer = await verifyBundle(setting("KEYSHELF_BUNDLE"), {
    keys: JSON.parse(setting("KEYSHELF_KEYS")),
    issuer: setting("KEYSHELF_ISSUER"),
  })
  const { claims } = answer
  const calls = await Promise.all(numbers(4).map((worker) => consume("api-calls", numbers(3, worker * 3))))
  return {
    apiCalls: calls.reduce((sum, one) => sum + one, 0),
    exports: await consume("exports", numbers(12)),
    waiting,
    settled,
    seats: await seats(),
    flags: [flags.boolean("new-search", false), flags.boolean("entitlement.sso", false)],
    bundle: answer.status,
    offline: ["10", "11"].map((requested) => claims && decide(claims, { entitlement: "exports", requested }).reason),
  }
}

const away = async () => {
  const outcome = (whenAway?: WhenAway) =>
    client.check(instance, "sso", whenAway === undefined ? {} : { whenAway }).then(
      ({ allowed }) => allowed,
      (error: unknown) => (isServiceAway(error) ? "away" : String(error)),
    )
  const usage = await openBuffer()
  for (let number = 0; number < 5; number++) await usage.report(instance, "rows", "0.5")
  const flushed = await usage.flush().catch((error: unknown) => (isServiceAway(error) ? "away" : String(error)))
  const seen = {
    fail: await outcome(),
    open: await outcome("open"),
    closed: await outcome("closed"),
    flush: flushed,
    waiting: usage.size,
  }
  await usage.close()
  return seen
}

console.log(JSON.stringify(mode === "use" ? await use() : await away()))
