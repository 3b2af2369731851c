/** The client of a product in a browser: the same build, bundled by a vendor, without a module of Node.js. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { gzipSync } from "node:zlib"
import * as Cors from "../../../src/http/middleware/Cors.ts"
import { consumer, whyNoPackage, withPackage } from "../../client/packed.ts"
import { bundleIn, startPage } from "../../client/page.ts"
import * as Browser from "../../support/Browser.ts"
import { TestService } from "../../support/TestService.ts"
import { newInstance } from "../world.ts"

/** As for the typed client. The checks of settings and requests are 1.5 kB of it. */
const MAX_GZIPPED_BYTES = 10 * 1024

const PAGE = `
import { createProductClient, isProblem, lastKnown, verifyWebhook } from "@keyshelf/client/product"

globalThis.useProduct = async (baseUrl, token, instance) => {
  const client = createProductClient({ baseUrl, token })
  const check = await client.check(instance, "sso", { whenAway: lastKnown(60_000) })
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
`

const service = TestService.separate.pipe(Layer.provide(Layer.succeed(Cors.AllowedOrigins, "*")))

layer(service, { excludeTestServices: true, timeout: 120_000 })("the client of a product for browsers", (it) => {
  it.effect.skipIf(Browser.whyNoBrowser !== undefined || whyNoPackage !== undefined)(
    withPackage(Browser.inBrowser("checks, consumes, reports, holds a seat and reads flags from another origin")),
    () =>
      Effect.gen(function* () {
        const { origins } = yield* TestService
        const { environment, usageOf } = yield* newInstance
        const { directory } = yield* consumer({ effect: false })
        const code = yield* bundleIn(directory, PAGE)
        assert.notInclude(code, "node:")
        assert.isBelow(gzipSync(code).byteLength, MAX_GZIPPED_BYTES)
        const browser = yield* Browser.shared
        const tab = yield* browser.newTab()
        const origin = yield* startPage(code)
        const used = yield* Effect.promise(async () => {
          await tab.page.goto(origin)
          await tab.page.waitForFunction("globalThis.useProduct !== undefined")
          const args = [origins.core, environment.KEYSHELF_TOKEN, environment.KEYSHELF_INSTANCE]
          return tab.page.evaluate(`globalThis.useProduct(...${JSON.stringify(args)})`)
        })
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
})
