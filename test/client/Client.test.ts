import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import * as client from "../../src/client/index.ts"
import { TestService } from "../support/TestService.ts"
import { scripted } from "./scripted.ts"

const source = resolve(import.meta.dirname, "../../src")

/** The run-time imports of a file, without type imports. */
const importsOf = (file: string): ReadonlyArray<string> =>
  [...readFileSync(file, "utf8").matchAll(/^(?:import|export) (?!type )(?:[^;"]*? from )?"([^"\n]+)"$/gm)].map(
    (match) => match[1] ?? "",
  )

const reached = (entry: string) => {
  const files = new Set<string>()
  const packages = new Set<string>()
  const walk = (file: string): void => {
    if (files.has(file)) return
    files.add(file)
    for (const target of importsOf(file)) {
      if (target.startsWith(".")) walk(resolve(dirname(file), target))
      else packages.add(target)
    }
  }
  walk(entry)
  return { files: [...files].map((file) => relative(source, file)), packages: [...packages] }
}

describe("the imports of the client", () => {
  const { files, packages } = reached(join(source, "client/index.ts"))

  it("include only API definitions, models, errors, rules, the kernel, values and rules of the other client, and no server code", () => {
    assert.include(files, "domains/instances/Api.ts")
    const contract =
      /^(client\/.*|\.\.\/clients\/typescript\/src\/(Errors|Responses|Retry|Settings)\.ts|kernel\/.*|offline\/values\/\w+\.ts|api\/\w+\.ts|domains\/(\w+\/)+(\w*Api|\w*Model|Errors|Rules|rules\/\w+)\.ts)$/
    assert.deepStrictEqual(
      files.filter((file) => !contract.test(file)),
      [],
    )
  })

  it("include no package but effect: no driver, no module of Node.js", () => {
    assert.deepStrictEqual(
      packages.filter((name) => !/^effect(\/(http|http-api|crypto|net))?$/.test(name)),
      [],
    )
  })

  it("include every problem class of every domain", async () => {
    const domains = readdirSync(join(source, "domains")).filter((folder) =>
      existsSync(join(source, "domains", folder, "Errors.ts")),
    )
    assert.isAbove(domains.length, 10)
    for (const domain of domains) {
      const errors: Record<string, unknown> = await import(join(source, "domains", domain, "Errors.ts"))
      for (const [name, value] of Object.entries(errors)) {
        assert.strictEqual((client as Record<string, unknown>)[name], value, `${domain}/Errors.ts: ${name}`)
      }
    }
  })
})

const coreAt = (baseUrl: string, retries?: number) =>
  client.makeCoreClient({ baseUrl, token: Redacted.make("ksh_x"), ...(retries === undefined ? {} : { retries }) })

const now = { "retry-after": "0" }
const entitlement = { name: "Sso", type: "BOOLEAN" as const }

describe("retries", () => {
  it.live("a read is retried after 502 and 429", () =>
    Effect.gen(function* () {
      const server = yield* scripted([[502, now], [429, now], [200]])
      const core = yield* coreAt(server.url)
      assert.deepStrictEqual((yield* core.entitlements.list({ query: {} })).items, [])
      assert.strictEqual(server.calls(), 3)
    }).pipe(Effect.provide(FetchHttpClient.layer)),
  )

  it.live("a create is retried after 503 only with an idempotency key, and always after 429", () =>
    Effect.gen(function* () {
      const bare = yield* scripted([[503, now]])
      const create = (baseUrl: string, headers: object) =>
        Effect.flatMap(coreAt(baseUrl), (core) =>
          Effect.exit(core.entitlements.create({ headers, payload: entitlement })),
        )
      yield* create(bare.url, {})
      assert.strictEqual(bare.calls(), 1)
      const keyed = yield* scripted([[503, now]])
      yield* create(keyed.url, client.idempotent())
      assert.strictEqual(keyed.calls(), 3)
      const limited = yield* scripted([[429, now]])
      yield* create(limited.url, {})
      assert.strictEqual(limited.calls(), 3)
    }).pipe(Effect.provide(FetchHttpClient.layer)),
  )

  it.live("Retry-After is seconds or a date that counts from the response's own, in each of its three forms", () =>
    Effect.gen(function* () {
      const date = "Wed, 21 Oct 2026 07:28:00 GMT"
      const delays = [
        ["7", 7_000],
        ["Wed, 21 Oct 2026 07:28:05 GMT", 5_000],
        ["Wednesday, 21-Oct-26 07:28:05 GMT", 5_000],
        ["Wed Oct 21 07:28:05 2026", 5_000],
        ["Wed, 21 Oct 2026 07:27:00 GMT", undefined],
        ["tomorrow", undefined],
        ["", undefined],
      ] as const
      for (const [retryAfter, afterMs] of delays) {
        const server = yield* scripted([[503, { date, "retry-after": retryAfter }]])
        const core = yield* coreAt(server.url, 0)
        const error = yield* Effect.flip(core.entitlements.list({ query: {} }))
        assert.strictEqual(client.retryAdvice(error).afterMs, afterMs, retryAfter)
      }
    }).pipe(Effect.provide(FetchHttpClient.layer)),
  )

  it.live("no request is retried after 500, 404 or a 503 with a long Retry-After", () =>
    Effect.gen(function* () {
      for (const response of [[500], [404], [503, { "retry-after": "3600" }]] as const) {
        const server = yield* scripted([response])
        const core = yield* coreAt(server.url)
        const error = yield* Effect.flip(core.entitlements.list({ query: {} }))
        assert.strictEqual(server.calls(), 1)
        assert.strictEqual(client.retryAdvice(error).retry, response[0] === 503)
      }
    }).pipe(Effect.provide(FetchHttpClient.layer)),
  )
})

layer(TestService.layer, { excludeTestServices: true })("the typed client", (it) => {
  it.effect("calls the Core and Platform APIs with their credentials", () =>
    Effect.gen(function* () {
      const { operator, origins, tenant } = yield* TestService
      const { organizationId, token } = yield* tenant()
      const core = yield* client.makeCoreClient({ baseUrl: origins.core, token: Redacted.make(token) })
      const platform = yield* client.makePlatformClient({ baseUrl: origins.platform, token: Redacted.make(operator) })
      assert.strictEqual((yield* core.me.me()).organizationId, organizationId)
      const found = yield* platform.organizations.get({ params: { orgId: organizationId } })
      assert.strictEqual(found.id, organizationId)
    }).pipe(Effect.provide(FetchHttpClient.layer)),
  )

  it.effect("fails with the problem's class, whose tag is the code and which contains the validation errors", () =>
    Effect.gen(function* () {
      const { origins, tenant } = yield* TestService
      const { token } = yield* tenant()
      const core = yield* client.makeCoreClient({ baseUrl: origins.core, token: Redacted.make(token) })
      const unknown = yield* Effect.flip(core.customers.get({ params: { customerSlug: "nobody" } }))
      assert.instanceOf(unknown, client.CustomerNotFound)
      const locations = yield* core.instances
        .create({
          payload: {
            name: "x",
            customerSlug: "nobody",
            licenseSlug: "nothing",
            startLicenseDate: new Date(0),
            endLicenseDate: new Date(1e12),
          },
        })
        .pipe(
          Effect.as([]),
          Effect.catchTag("Request.ValidationFailed", ({ errors }) =>
            Effect.succeed(errors.map(({ location }) => location)),
          ),
        )
      assert.include(locations, "body.customerSlug")
      const stranger = yield* client.makeCoreClient({ baseUrl: origins.core, token: Redacted.make("ksh_wrong") })
      assert.instanceOf(yield* Effect.flip(stranger.me.me()), client.InvalidCredential)
    }).pipe(Effect.provide(FetchHttpClient.layer)),
  )
})
