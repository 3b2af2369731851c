/** Products that decide locally, with files and streams, while their service changes, stops and ends their access. */
import { afterEach, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { createProductClient, isProblem, isServiceAway } from "../../../clients/typescript/src/product/node.ts"
import type { ProductClient, ProductClientOptions } from "../../../clients/typescript/src/product/node.ts"
import { until } from "../../support/until.ts"
import { failureOf } from "./answering.ts"
import { INSTANCE, startLocalService, trust } from "./localService.ts"

const cleanups: Array<() => unknown> = []

const ownDirectory = () => {
  const directory = mkdtempSync(join(tmpdir(), "keyshelf-local-"))
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

const startService = async (port = 0) => {
  const service = await startLocalService(port)
  cleanups.push(service.stop)
  return service
}

const clientAt = (baseUrl: string, options: Partial<ProductClientOptions> = {}): ProductClient => {
  const client = createProductClient({ baseUrl, token: "ksh_0123456789", retries: 0, ...trust, ...options })
  cleanups.push(() => client.close())
  return client
}

const becomes = (what: string, holds: () => Promise<boolean>) => Effect.runPromise(until(what, Effect.promise(holds)))

const isIn = (client: ProductClient, state: string) =>
  becomes(`the state ${state}`, async () => client.status(INSTANCE).state === state)

const program = join(import.meta.dirname, "localProduct.ts")

const startProduct = (url: string, directory: string, mode: "once" | "wait") =>
  spawn(process.execPath, [program, url, directory, JSON.stringify(trust.keys), trust.issuer, INSTANCE, mode], {
    stdio: ["ignore", "pipe", "inherit"],
  })

/** Runs a product until it ends by itself. */
const runProduct = async (url: string, directory: string): Promise<unknown> => {
  const child = startProduct(url, directory, "once")
  const [printed] = await Promise.all([text(child.stdout), once(child, "close")])
  return JSON.parse(printed)
}

/** Runs a product until it has printed its answer, and kills it. */
const killProduct = async (url: string, directory: string): Promise<unknown> => {
  const child = startProduct(url, directory, "wait")
  const [line] = await once(child.stdout, "data")
  child.kill("SIGKILL")
  await once(child, "close")
  return JSON.parse(String(line))
}

describe("a product that decides locally", () => {
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
  })

  it("asks once, and decides a change within a second", async () => {
    const service = await startService()
    const client = clientAt(service.url)
    assert.deepInclude(await client.check(INSTANCE, "sso"), { allowed: true, reason: "GRANTED", source: "snapshot" })
    await isIn(client, "LIVE")
    const before = service.requests.length
    for (let call = 0; call < 1_000; call++) await client.check(INSTANCE, "sso")
    assert.strictEqual(service.requests.length, before)
    await service.change({ entitlements: [{ slug: "sso", type: "BOOLEAN", value: false }] })
    const changed = performance.now()
    await becomes("the change", async () => !(await client.check(INSTANCE, "sso")).allowed)
    assert.isBelow(performance.now() - changed, 1_000)
    assert.deepInclude(await client.check(INSTANCE, "nowhere"), { allowed: false, reason: "ENTITLEMENT_NOT_FOUND" })
    const { ageMs, etag, expiresAt } = client.status(INSTANCE)
    assert.isBelow(ageMs ?? Infinity, 10_000)
    assert.deepStrictEqual([etag, typeof expiresAt], ['"2.1"', "string"])
  })

  it("evaluates flags, and asks the service if a call wants that", async () => {
    const service = await startService()
    const client = clientAt(service.url)
    const otherwise = { value: false, variant: "off", reason: "STATIC" }
    const conditions = [{ attribute: "country", operator: "EQUALS", values: ["de"] }]
    const targetings = [{ name: "de", conditions, value: true, variant: "on" }]
    await service.change({ rules: [{ key: "new-search", metadata: {}, targetings, otherwise }] })
    assert.instanceOf(await failureOf(client.flags({ country: "de" })), TypeError)
    const german = await client.flags({ country: "de" }, { instance: INSTANCE })
    assert.deepStrictEqual([german.boolean("new-search", false), german.source], [true, "snapshot"])
    assert.isFalse((await client.flags({ country: "fr" })).boolean("new-search", true))
    const answer = await client.check(INSTANCE, "exports", { remote: true })
    assert.deepStrictEqual([answer.allowed, answer.source, answer.limit], [true, "service", "10"])
  })

  it("needs no units for what is not counted, and asks the service if a call wants that", async () => {
    const service = await startService()
    const client = clientAt(service.url, { timeoutMs: 1_000 })
    await client.start(INSTANCE)
    assert.strictEqual(
      (await client.consume(INSTANCE, "exports", { remote: true, idempotencyKey: "job-1" })).source,
      "service",
    )
    await service.stop()
    assert.deepInclude(await client.consume(INSTANCE, "sso"), { allowed: true, reason: "GRANTED", source: "snapshot" })
    assert.deepInclude(await client.consume(INSTANCE, "nowhere"), { allowed: false, reason: "ENTITLEMENT_NOT_FOUND" })
  })

  it("sees a wrong token at its first call, whatever answers otherwise", async () => {
    const service = await startService()
    service.revoke()
    const client = clientAt(service.url, { whenAway: "open" })
    assert.isTrue(isProblem(await failureOf(client.check(INSTANCE, "sso")), "Auth.InvalidCredential"))
    assert.isTrue(isProblem(await failureOf(client.start(INSTANCE)), "Auth.InvalidCredential"))
  })

  it("answers by its policy if nothing was ever known, and fails no call of a closed door", async () => {
    const nobody = "http://127.0.0.1:1"
    const closed = await clientAt(nobody).check(INSTANCE, "sso")
    assert.deepInclude(closed, { allowed: false, reason: "NO_SNAPSHOT", source: "policy", ageMs: null })
    assert.isTrue((await clientAt(nobody, { whenAway: "open" }).check(INSTANCE, "sso")).allowed)
    assert.isTrue(isServiceAway(await failureOf(clientAt(nobody).check(INSTANCE, "sso", { whenAway: "fail" }))))
    const client = clientAt(nobody)
    await client.close()
    assert.instanceOf(await failureOf(client.check(INSTANCE, "sso")), TypeError)
    assert.strictEqual(client.status(INSTANCE).state, "CLOSED")
  })

  it("is closed while it starts: nothing begins, and the call fails", async () => {
    const service = await startService()
    const client = clientAt(service.url, { directory: ownDirectory() })
    const failure = failureOf(client.check(INSTANCE, "sso"))
    await client.close()
    assert.instanceOf(await failure, TypeError)
    assert.deepStrictEqual([service.requests, service.streams()], [[], 0])
  })

  it("is killed, starts without the service by what it stored, and ends although its stream is open", async () => {
    const service = await startService()
    const directory = ownDirectory()
    const granted = { entitlement: "sso", allowed: true, reason: "GRANTED", source: "snapshot" }
    assert.deepInclude(await killProduct(service.url, directory), granted)
    // Its lock ended with it: the next process takes the same slot.
    assert.deepInclude(await runProduct(service.url, directory), granted)
    assert.deepStrictEqual(
      readdirSync(directory).filter((name) => !name.endsWith(".lock")),
      ["slot-0"],
    )
    await service.stop()
    assert.deepInclude(await runProduct(service.url, directory), { ...granted, state: "STALE" })
    assert.deepInclude(await killProduct(service.url, directory), { ...granted, state: "STALE" })
    const [name = ""] = readdirSync(join(directory, "slot-0"))
    const file = join(directory, "slot-0", name)
    assert.match(name, /^snapshot-[0-9a-f-]+\.json$/)
    if (process.platform !== "win32") {
      assert.deepStrictEqual(
        [statSync(file).mode & 0o777, statSync(join(directory, "slot-0")).mode & 0o777],
        [0o600, 0o700],
      )
    }
    assert.notInclude(readFileSync(file, "utf8"), "ksh_")
  })

  it("denies a consumption whose refill says that the access has ended, if a snapshot is denied too", async () => {
    const service = await startService()
    const client = clientAt(service.url)
    await client.check(INSTANCE, "sso")
    await isIn(client, "LIVE")
    const begins = "2025-06-15T00:00:00.000Z"
    const amounts = { limit: "10", overagePercent: "0", aggregation: "SUM", used: "0", usedFrom: begins }
    await service.change({
      entitlements: [{ slug: "exports", type: "NUMBER", period: "LIFETIME", ...amounts }],
      periods: { LIFETIME: { starts: [begins] } },
    })
    await becomes("units", async () => (await client.check(INSTANCE, "exports")).allowed)
    service.reject()
    const denied = { allowed: false, reason: "ACCESS_REVOKED", source: "service" } as const
    assert.deepInclude(await client.consume(INSTANCE, "exports"), denied)
    assert.strictEqual(client.status(INSTANCE).state, "REVOKED")
    // Before any snapshot was held, a wrong token must be seen.
    const unknown = clientAt(service.url)
    assert.isTrue(isProblem(await failureOf(unknown.consume(INSTANCE, "exports")), "Auth.InvalidCredential"))
  })

  it("stays revoked over restarts, once the service has said so", async () => {
    const service = await startService()
    const directory = ownDirectory()
    const client = clientAt(service.url, { directory })
    await client.check(INSTANCE, "sso")
    await isIn(client, "LIVE")
    service.revoke()
    await isIn(client, "REVOKED")
    const denied = { allowed: false, reason: "ACCESS_REVOKED", source: "service" } as const
    assert.deepInclude(await client.check(INSTANCE, "sso"), { ...denied, ageMs: null })
    assert.deepInclude(await client.consume(INSTANCE, "exports"), denied)
    await service.stop()
    // Another slot reads what this one knows; and so does a process after it.
    assert.deepInclude(await runProduct(service.url, directory), { ...denied, state: "REVOKED" })
    await client.close()
    assert.deepInclude(await runProduct(service.url, directory), { ...denied, state: "REVOKED" })
    const again = await startService(Number(new URL(service.url).port))
    const back = clientAt(again.url, { directory })
    await back.start(INSTANCE)
    await becomes("the next snapshot", async () => (await back.check(INSTANCE, "sso")).allowed)
  })

  it("keeps a damaged file aside, and a folder that cannot be made is an error of configuration", async () => {
    const service = await startService()
    const directory = ownDirectory()
    await killProduct(service.url, directory)
    const [name = ""] = readdirSync(join(directory, "slot-0"))
    const file = join(directory, "slot-0", name)
    writeFileSync(file, readFileSync(file, "utf8").slice(0, 100))
    assert.deepInclude(await runProduct("http://127.0.0.1:1", directory), { reason: "NO_SNAPSHOT", state: "NONE" })
    assert.isTrue(existsSync(`${file}.bad`))
    const wrong = clientAt(service.url, { directory: join(`${file}.bad`, "below") })
    const error = await failureOf(wrong.check(INSTANCE, "sso"))
    assert.deepInclude(error, { name: "ConfigurationError", setting: "directory" })
  })
})
