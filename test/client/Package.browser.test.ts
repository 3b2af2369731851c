/** Both clients in a browser, from the page of a vendor. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Cors from "../../src/http/middleware/Cors.ts"
import * as Browser from "../support/Browser.ts"
import { TestService } from "../support/TestService.ts"
import { bundleIn, startPage } from "./page.ts"
import { consumer, whyNoPackage, withPackage } from "./packed.ts"

/** The page of a vendor: it uses both clients from another origin than the service's. */
const PAGE = `
import { createClient, isProblem } from "@keyshelf/client"
import { makeCoreClient } from "@keyshelf/client/effect"
import { Effect, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"

const metadata = { region: "eu", note: "größer" }
const dates = { startLicenseDate: "2026-01-01T00:00:00Z", endLicenseDate: "2027-01-01T00:00:00Z" }

globalThis.useBoth = async (baseUrl, token) => {
  const client = createClient({ baseUrl, token })
  await client.createLicense({ body: { name: "Pro", slug: "pro", type: "PAID" } })
  for (const key of Object.keys(metadata)) {
    const jsonSchema = { type: "string" }
    await client.createMetadataField({ body: { key, label: key, resourceType: "INSTANCE", jsonSchema } })
  }
  await client.createCustomer({ body: { name: "Globex" } })
  const created = await client.createInstance({
    body: { name: "Production", customerSlug: "globex", licenseSlug: "pro", metadata, ...dates },
    idempotencyKey: "order-1",
  })
  const missing = await client.getInstance({ path: { instanceSlug: "nothing" } }).catch((error) => error)
  const withEffect = Effect.gen(function* () {
    const core = yield* makeCoreClient({ baseUrl, token: Redacted.make(token) })
    yield* core.customers.create({ payload: { name: "Initech" } })
    return yield* core.instances.get({ params: { instanceSlug: created.slug } })
  })
  const read = await Effect.runPromise(withEffect.pipe(Effect.provide(FetchHttpClient.layer)))
  return { created: created.metadata, read: read.metadata, missing: isProblem(missing) ? missing.code : String(missing) }
}
`

const service = TestService.separate.pipe(Layer.provide(Layer.succeed(Cors.AllowedOrigins, "*")))

layer(service, { excludeTestServices: true, timeout: 120_000 })("the clients in a browser", (it) => {
  it.effect.skipIf(Browser.whyNoBrowser !== undefined || whyNoPackage !== undefined)(
    withPackage(Browser.inBrowser("both call the service from another origin, and decode metadata")),
    () =>
      Effect.gen(function* () {
        const { origins, tenant } = yield* TestService
        const { token } = yield* tenant()
        const { directory } = yield* consumer({ effect: true })
        const origin = yield* startPage(yield* bundleIn(directory, PAGE))
        const browser = yield* Browser.shared
        const tab = yield* browser.newTab()
        const used = yield* Effect.promise(async () => {
          await tab.page.goto(origin)
          await tab.page.waitForFunction("globalThis.useBoth !== undefined")
          return tab.page.evaluate(
            ([url, credential]) =>
              (globalThis as unknown as { useBoth: (...args: ReadonlyArray<unknown>) => unknown }).useBoth(
                url,
                credential,
              ),
            [origins.core, token],
          )
        })
        const metadata = { region: "eu", note: "größer" }
        assert.deepStrictEqual(used, { created: metadata, read: metadata, missing: "Instance.NotFound" })
        // Chromium reports the 404 that the page asked for.
        assert.lengthOf(tab.errors, 1)
        assert.match(tab.errors[0] ?? "", /404/)
      }),
    180_000,
  )
})
