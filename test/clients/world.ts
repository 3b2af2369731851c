/** An organization with a customer's instance, and how a product reaches the service: well, or through a bad network. */
import { Effect } from "effect"
import type { Scope } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { TestService } from "../support/TestService.ts"

/** An address at which nothing listens: port 1 is reserved. */
export const STOPPED = "http://127.0.0.1:1"

const YEAR_MS = 365 * 86_400_000

/** The year of the license, of which a month has passed, does not end while a test runs. */
const yearly = { type: "NUMBER", resetPeriod: "YEAR", resetAnchor: "LICENSE_START" } as const

/** What the license grants. */
const entitlements = [
  { slug: "api-calls", ...yearly, value: 100_000 },
  { slug: "exports", ...yearly, value: 10 },
  { slug: "rows", ...yearly, value: 100_000 },
  { slug: "editors", type: "NUMBER", aggregationMethod: "CONCURRENT", value: 1 },
  { slug: "sso", type: "BOOLEAN", value: true },
] as const

/** The instance `globex-prod` of a new organization, with a license key and an offline bundle. */
export const newInstance = Effect.gen(function* () {
  const { core, tenant } = yield* TestService
  const { organizationId, token } = yield* tenant()
  const post = (path: string, body: unknown) =>
    Effect.flatMap(core("POST", path, { token, body }), (response) =>
      response.status < 300
        ? Effect.succeed(response.body)
        : Effect.die(new Error(`POST ${path}: ${response.status} ${response.text}`)),
    )
  yield* post("/licenses", { name: "Pro", slug: "pro", type: "PAID" })
  for (const { value, ...entitlement } of entitlements) {
    yield* post("/entitlements", { name: entitlement.slug, ...entitlement })
    yield* post("/licenses/pro/entitlements", { entitlementSlug: entitlement.slug, value })
  }
  const variants = [
    { name: "on", value: true },
    { name: "off", value: false },
  ]
  yield* post("/feature-flags", { key: "new-search", type: "boolean", variants, defaultVariant: "on" })
  yield* post("/customers", { name: "Globex", slug: "globex" })
  yield* post("/instances", {
    name: "Globex production",
    slug: "globex-prod",
    customerSlug: "globex",
    licenseSlug: "pro",
    startLicenseDate: new Date(Date.now() - YEAR_MS / 12).toISOString(),
    endLicenseDate: new Date(Date.now() + YEAR_MS).toISOString(),
  })
  const key = yield* post("/instances/globex-prod/keys", { name: "product" })
  const { bundle } = yield* post("/instances/globex-prod/offline-bundles", {})
  const keySet = yield* core("GET", `/offline/${organizationId}/keys`)
  const usageOf = (entitlement: string) =>
    Effect.map(
      core("GET", `/instances/globex-prod/entitlements/${entitlement}/usage`, { token }),
      ({ body }): { readonly value: number; readonly event_count: number } => body.usageValue,
    )
  return {
    usageOf,
    /** A token with all scopes, and the slug of the product's license key. */
    owner: token,
    productKey: String(key.slug),
    /** What a product is installed with. */
    environment: {
      KEYSHELF_TOKEN: String(key.token),
      KEYSHELF_INSTANCE: "globex-prod",
      KEYSHELF_BUNDLE: String(bundle),
      KEYSHELF_KEYS: keySet.text,
      KEYSHELF_ISSUER: `urn:keyshelf:organization:${organizationId}`,
    },
    /** What the vendor changes terms with. */
    vendor: {
      KEYSHELF_VENDOR_TOKEN: token,
    },
  }
})

/** A proxy that passes requests on and waits for the response, but sends each third response to nobody. */
export const dropEachThird = (
  origin: string,
): Effect.Effect<{ readonly url: string; readonly dropped: () => number }, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      let count = 0
      let dropped = 0
      const server = createServer((request, response) => {
        const chunks: Array<Buffer> = []
        request.on("data", (chunk: Buffer) => chunks.push(chunk))
        request.on("end", async () => {
          const { connection: _connection, host: _host, ...headers } = request.headers
          const body = Buffer.concat(chunks)
          const answer = await fetch(origin + request.url, {
            method: request.method ?? "GET",
            headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
            ...(body.length === 0 ? {} : { body }),
          })
          const content = Buffer.from(await answer.arrayBuffer())
          count++
          if (count % 3 === 0) {
            dropped++
            request.socket.destroy()
            return
          }
          const kept = ["content-type", "etag", "retry-after"].flatMap((name) => {
            const value = answer.headers.get(name)
            return value === null ? [] : [[name, value] as const]
          })
          response.writeHead(answer.status, Object.fromEntries(kept)).end(content)
        })
      })
      await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      return { server, url, dropped: () => dropped }
    }),
    ({ server }) => Effect.sync(() => server.close().closeAllConnections()),
  )
