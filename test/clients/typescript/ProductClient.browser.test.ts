/** The client of a product in a browser: the same build, bundled by a vendor, without a module of Node.js. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { connect, createServer } from "node:net"
import type { AddressInfo, Socket } from "node:net"
import { gzipSync } from "node:zlib"
import * as Cors from "../../../src/http/middleware/Cors.ts"
import { consumer, whyNoPackage, withPackage } from "../../client/packed.ts"
import { bundleIn, chunksIn, startPage } from "../../client/page.ts"
import * as Browser from "../../support/Browser.ts"
import { TestService } from "../../support/TestService.ts"
import { until } from "../../support/until.ts"
import { newInstance } from "../world.ts"

/** Of all that the module has, in all files that a page loads: each minified and compressed by itself, as it is sent. */
const MAX_GZIPPED_BYTES = 34 * 1024

const ALL = 'export * from "@keyshelf/client/product"'

const PAGE = `
import { createProductClient, isProblem, verifyWebhook } from "@keyshelf/client/product"

globalThis.useProduct = async (baseUrl, token, instance) => {
  const client = createProductClient({ baseUrl, token, mode: "remote" })
  const check = await client.check(instance, "sso")
  const key = crypto.randomUUID()
  const consumed = [1, 2].map(() => client.consume(instance, "exports", { requested: 3, idempotencyKey: key }))
  const [first, second] = await Promise.all(consumed)
  const usage = await client.usageBuffer()
  await usage.report(instance, "rows", "0.1")
  const { accepted } = await usage.flush()
  await client.flags({ targetingKey: instance })
  const flags = await client.flags({ targetingKey: instance })
  const seat = await client.acquireSeat(instance, "editors", { holder: "anna" })
  await seat.release()
  const file = await client.usageBuffer({ path: "usage.jsonl" }).catch((error) => error.name)
  const webhook = await verifyWebhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", {}, "{}").catch((error) => error.reason)
  const missing = await client.check("nothing", "sso").catch((error) => isProblem(error, "Instance.NotFound"))
  return {
    allowed: check.allowed,
    remaining: [first.remaining, second.remaining],
    accepted,
    flag: flags.boolean("new-search", false),
    isHeld: seat.isHeld,
    file,
    webhook,
    missing,
  }
}

globalThis.decideLocally = async (baseUrl, token, instance) => {
  const client = createProductClient({ baseUrl, token })
  const { allowed, source } = await client.check(instance, "sso")
  const flags = await client.flags({ targetingKey: "anna" })
  globalThis.localClient = client
  return { allowed, source, flag: flags.boolean("new-search", false), flagsBy: flags.source }
}
globalThis.stateOf = (instance) => globalThis.localClient.status(instance).state
globalThis.checkLocally = async (instance) => {
  const { allowed, reason, source } = await globalThis.localClient.check(instance, "sso")
  return { allowed, reason, source }
}
globalThis.msUntilDenied = async (instance) => {
  const from = performance.now()
  while ((await globalThis.localClient.check(instance, "sso")).allowed) await new Promise((done) => setTimeout(done, 5))
  return performance.now() - from
}
`

/** A way to a service that a test can end: what goes through it, and what comes later, is cut. */
const wayTo = (origin: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const { hostname, port } = new URL(origin)
      const sockets = new Set<Socket>()
      const server = createServer((client) => {
        const upstream = connect(Number(port), hostname)
        for (const socket of [client, upstream]) {
          sockets.add(socket.on("error", () => undefined))
          socket.on("close", () => {
            sockets.delete(socket)
            client.destroy()
            upstream.destroy()
          })
        }
        client.pipe(upstream).pipe(client)
      })
      await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
      const end = () => {
        server.close()
        for (const socket of sockets) socket.destroy()
      }
      return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, end }
    }),
    ({ end }) => Effect.sync(end),
  )

/** A page that has loaded the module. Returns how its functions are called. */
const openPage = Effect.gen(function* () {
  const { directory } = yield* consumer({ effect: false })
  const code = yield* bundleIn(directory, PAGE)
  const { page } = yield* (yield* Browser.shared).newTab()
  const origin = yield* startPage(code)
  yield* Effect.promise(async () => {
    await page.goto(origin)
    await page.waitForFunction("globalThis.useProduct !== undefined")
  })
  const call = <A>(name: string, ...args: ReadonlyArray<string>): Effect.Effect<A> =>
    Effect.promise(() => page.evaluate<A>(`globalThis.${name}(...${JSON.stringify(args)})`))
  return { directory, code, call }
})

const service = TestService.separate.pipe(Layer.provide(Layer.succeed(Cors.AllowedOrigins, "*")))

layer(service, { excludeTestServices: true, timeout: 120_000 })("the client of a product for browsers", (it) => {
  it.effect.skipIf(Browser.whyNoBrowser !== undefined || whyNoPackage !== undefined)(
    withPackage(Browser.inBrowser("checks, consumes, reports, holds a seat and reads flags from another origin")),
    () =>
      Effect.gen(function* () {
        const { origins } = yield* TestService
        const { environment, usageOf } = yield* newInstance
        const { call, code, directory } = yield* openPage
        assert.notInclude(code, "node:")
        const sizes = (yield* chunksIn(directory, ALL)).map((chunk) => gzipSync(chunk).byteLength)
        assert.isAtMost(
          sizes.reduce((sum, size) => sum + size, 0),
          MAX_GZIPPED_BYTES,
        )
        const used = yield* call("useProduct", origins.core, environment.KEYSHELF_TOKEN, environment.KEYSHELF_INSTANCE)
        assert.deepStrictEqual(used, {
          allowed: true,
          remaining: ["7", "7"],
          accepted: 1,
          flag: true,
          isHeld: false,
          file: "TypeError",
          webhook: "MISSING_HEADER",
          missing: true,
        })
        assert.include(yield* usageOf("exports"), { value: 3, event_count: 1 })
        assert.include(yield* usageOf("rows"), { value: 0.1, event_count: 1 })
      }),
    180_000,
  )

  it.effect.skipIf(Browser.whyNoBrowser !== undefined || whyNoPackage !== undefined)(
    withPackage(Browser.inBrowser("decides locally, a change within a second, and also when its service is away")),
    () =>
      Effect.gen(function* () {
        const { core, origins } = yield* TestService
        const { environment, owner } = yield* newInstance
        const { KEYSHELF_INSTANCE: instance, KEYSHELF_TOKEN: token } = environment
        const { call } = yield* openPage
        const way = yield* wayTo(origins.core)
        assert.deepStrictEqual(yield* call("decideLocally", way.url, token, instance), {
          allowed: true,
          source: "snapshot",
          flag: true,
          flagsBy: "snapshot",
        })
        const becomes = (state: string) =>
          until(
            `the state ${state}`,
            Effect.map(call<string>("stateOf", instance), (now) => now === state),
          )
        yield* becomes("LIVE")
        const [passedMs] = yield* Effect.all(
          [
            call<number>("msUntilDenied", instance),
            core("PUT", "/licenses/pro/entitlements/sso", { token: owner, body: { value: false } }),
          ],
          { concurrency: 2 },
        )
        assert.isBelow(passedMs, 1_000)
        way.end()
        yield* becomes("POLLING")
        assert.deepStrictEqual(yield* call("checkLocally", instance), {
          allowed: false,
          reason: "NOT_GRANTED",
          source: "snapshot",
        })
      }),
    180_000,
  )
})
