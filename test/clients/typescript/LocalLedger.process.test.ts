/** Products that consume from tranches, with files, while their service loses responses, and they are killed. */
import { afterEach, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { appendFileSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { createProductClient, isServiceAway } from "../../../clients/typescript/src/product/node.ts"
import type { ProductClient, ProductClientOptions } from "../../../clients/typescript/src/product/node.ts"
import { until } from "../../support/until.ts"
import { failureOf } from "./answering.ts"
import { startLedgerService } from "./ledgerService.ts"
import { INSTANCE, trust } from "./localService.ts"

const cleanups: Array<() => unknown> = []

const ownDirectory = () => {
  const directory = mkdtempSync(join(tmpdir(), "keyshelf-ledger-"))
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

const startService = async (...args: Parameters<typeof startLedgerService>) => {
  const service = await startLedgerService(...args)
  cleanups.push(service.stop)
  return service
}

const clientAt = (baseUrl: string, options: Partial<ProductClientOptions> = {}): ProductClient => {
  const client = createProductClient({ baseUrl, token: "ksh_0123456789", retries: 0, ...trust, ...options })
  cleanups.push(() => client.close())
  return client
}

const becomes = (what: string, holds: () => boolean) => Effect.runPromise(until(what, Effect.sync(holds)))

const ledgerIn = (directory: string): string => {
  const slot = join(directory, "slot-0")
  return join(slot, readdirSync(slot).find((name) => name.endsWith(".jsonl")) ?? "")
}

/** Runs a product, and kills it after a number of answers. */
const killProduct = async (url: string, directory: string, calls: number) => {
  const program = join(import.meta.dirname, "ledgerProduct.ts")
  const args = [program, url, directory, JSON.stringify(trust.keys), trust.issuer, INSTANCE, String(calls)]
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] })
  const printed: Array<string> = []
  for await (const line of createInterface({ input: child.stdout })) if (printed.push(line) === calls) break
  child.kill("SIGKILL")
  await once(child, "close")
  return printed
}

describe("a product that consumes from tranches", () => {
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
  })

  it("waits for its first refill, then needs no request, and settles all when it is closed", async () => {
    const service = await startService()
    const client = clientAt(service.url)
    const first = await client.consume(INSTANCE, "large", { requested: 100 })
    assert.deepInclude(first, { allowed: true, reason: "GRANTED", usage: "100", source: "snapshot" })
    await becomes("a tranche", () => client.status(INSTANCE).tranches.some(({ unspent }) => Number(unspent) >= 50))
    const before = service.refills.length
    const answer = await client.consume(INSTANCE, "large", { requested: 2 })
    assert.deepInclude(answer, { allowed: true, usage: "102", source: "snapshot" })
    assert.strictEqual(service.refills.length, before)
    const { unsettled } = client.status(INSTANCE)
    assert.include(
      unsettled.map(({ entitlement }) => entitlement),
      "large",
    )
    await client.close()
    assert.strictEqual(service.model.usage("large"), 102)
    assert.isTrue(service.refills.at(-1)?.close)
    assert.strictEqual(service.model.free("large"), 1_000_000 - 102)
  })

  it("denies what does not fit, and consumes several entitlements or none", async () => {
    const service = await startService()
    const client = clientAt(service.url)
    const both = [
      { entitlement: "large", requested: 5 },
      { entitlement: "small", requested: 11 },
    ]
    const { allowed, checks, isConfirmed } = await client.consumeAll(INSTANCE, both)
    assert.deepStrictEqual([allowed, isConfirmed], [false, true])
    assert.deepInclude(checks[1], { allowed: false, reason: "LIMIT_REACHED", source: "service" })
    assert.isTrue((await client.consumeAll(INSTANCE, ["large", "small", "sso"])).allowed)
    assert.deepInclude(await client.consume(INSTANCE, "nowhere"), { allowed: false, reason: "ENTITLEMENT_NOT_FOUND" })
    await client.close()
    assert.deepStrictEqual([service.model.usage("large"), service.model.usage("small")], [1, 1])
  })

  it("is killed at any time: the next process counts each unit once", async () => {
    const service = await startService()
    const directory = ownDirectory()
    assert.deepStrictEqual(await killProduct(service.url, directory, 4), Array<string>(4).fill("true GRANTED"))
    service.next("lost")
    const lost = await killProduct(service.url, directory, 3)
    service.next("answered")
    // A record that was cut off was never acknowledged.
    appendFileSync(ledgerIn(directory), '{"spend":[["large","3","20')
    const acknowledged = 4 + lost.filter((line) => line.startsWith("true")).length
    const client = clientAt(service.url, { directory })
    await client.start(INSTANCE)
    await becomes("settled", () => service.model.usage("large") >= 3 * acknowledged)
    await client.close()
    assert.strictEqual(service.model.usage("large"), 3 * acknowledged)
    assert.strictEqual(service.model.facts(), 0)
    if (process.platform !== "win32") assert.strictEqual(statSync(ledgerIn(directory)).mode & 0o777, 0o600)
    assert.notInclude(readFileSync(ledgerIn(directory), "utf8"), "ksh_")
  })

  it("goes on from its tranche while the service is away, also after a restart, and then says so", async () => {
    const service = await startService()
    const directory = ownDirectory()
    const options = { directory, timeoutMs: 1_000 }
    const client = clientAt(service.url, options)
    await client.consume(INSTANCE, "large", { requested: 100 })
    await becomes("a tranche", () => client.status(INSTANCE).tranches.some(({ unspent }) => Number(unspent) >= 100))
    await service.stop()
    assert.isTrue((await client.consume(INSTANCE, "large", { requested: 60 })).allowed)
    await client.close()
    const again = clientAt(service.url, options)
    // What was given back before the end is gone, what was spent is not.
    const denied = await again.consume(INSTANCE, "large", { requested: 60 })
    assert.deepInclude(denied, { allowed: false, reason: "SERVICE_AWAY", source: "policy", usage: "160" })
    assert.isTrue(isServiceAway(await failureOf(again.consume(INSTANCE, "large", { requested: 60, whenAway: "fail" }))))
    const back = await startService(service.model, Number(new URL(service.url).port))
    await becomes("settled", () => back.model.usage("large") === 160)
  })

  it("charges a key once in its directory, and rejects the key for something else", async () => {
    const service = await startService()
    const directory = ownDirectory()
    const client = clientAt(service.url, { directory, flush: "always" })
    const job = { requested: 7, idempotencyKey: "job-1" }
    assert.isTrue((await client.consume(INSTANCE, "large", job)).allowed)
    assert.isTrue((await client.consume(INSTANCE, "large", job)).allowed)
    assert.instanceOf(await failureOf(client.consume(INSTANCE, "large", { ...job, requested: 8 })), TypeError)
    await client.close()
    const again = clientAt(service.url, { directory })
    assert.isTrue((await again.consume(INSTANCE, "large", job)).allowed)
    await again.close()
    assert.strictEqual(service.model.usage("large"), 7)
  })

  it("reserves for work whose cost is known afterwards", async () => {
    const service = await startService()
    const client = clientAt(service.url)
    const reserved = await client.reserve(INSTANCE, "medium", 300)
    assert.isTrue(reserved.answer.allowed)
    assert.isFalse((await client.reserve(INSTANCE, "medium", 701)).answer.allowed)
    assert.instanceOf(await failureOf(reserved.commit(301)), RangeError)
    await reserved.commit(12)
    assert.instanceOf(await failureOf(reserved.commit(1)), Error)
    await client.close()
    assert.strictEqual(service.model.usage("medium"), 12)
  })

  it("never passes a limit with others, and reaches it", async () => {
    const service = await startService()
    const clients = [1, 2, 3].map(() => clientAt(service.url))
    // On a slow machine a call may wait for too long; so each product asks until the limit denies it.
    const consumeAll = async (client: ProductClient) => {
      let consumed = 0
      for (;;) {
        const { allowed, reason } = await client.consume(INSTANCE, "small")
        if (reason === "LIMIT_REACHED") return consumed
        if (allowed) consumed++
      }
    }
    const consumed = await Promise.all(clients.map(consumeAll))
    assert.strictEqual(
      consumed.reduce((sum, one) => sum + one, 0),
      10,
    )
    await Promise.all(clients.map((client) => client.close()))
    assert.strictEqual(service.model.usage("small"), 10)
  })

  it(
    "spends nothing that it has given back, also if no response says that it was received",
    { timeout: 60_000 },
    async () => {
      const service = await startService()
      const client = clientAt(service.url, { timeoutMs: 1_000 })
      await client.consume(INSTANCE, "large", { requested: 100 })
      const unspent = () => client.status(INSTANCE).tranches.map((tranche) => tranche.unspent)
      await becomes("a tranche", () => unspent().some((amount) => Number(amount) >= 100))
      service.next("lost")
      const isReturn = ({ keep, want }: { readonly keep: string; readonly want: string }) =>
        keep === "0" && want === "0"
      await becomes("given back", () => service.refills.at(-1)?.tranches.some(isReturn) === true)
      assert.deepStrictEqual(unspent(), ["0"])
    },
  )

  it("goes on with a new ledger where its directory was copied, and reports it", async () => {
    const service = await startService()
    const [directory, copy] = [ownDirectory(), ownDirectory()]
    const client = clientAt(service.url, { directory })
    await client.consume(INSTANCE, "large", { requested: 100 })
    cpSync(directory, copy, { recursive: true })
    await client.consume(INSTANCE, "large", { requested: 1 })
    await client.close()
    const codes: Array<string> = []
    const onEvent: ProductClientOptions["onEvent"] = (event) =>
      void (event.type === "rejected" && codes.push(event.code))
    const other = clientAt(service.url, { directory: copy, onEvent })
    assert.isTrue((await other.consume(INSTANCE, "large", { requested: 2 })).allowed)
    await becomes("a fork", () => codes.length > 0)
    await other.close()
    assert.match(codes.join(), /^RefillTranches\.Ledger/)
    assert.isAtLeast(service.model.usage("large"), 103)
  })
})
