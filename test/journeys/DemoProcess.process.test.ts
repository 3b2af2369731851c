import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Schedule } from "effect"
import { randomBytes } from "node:crypto"
import { request } from "../support/http.ts"
import { freePorts, randomCredential, start } from "../support/ServiceProcess.ts"
import type { Ended } from "../support/ServiceProcess.ts"
import { TestDatabase } from "../support/TestDatabase.ts"

const DAY_MS = 86_400_000

/** A service on ports of its own, and a function that runs the demo with the same settings. */
const openService = Effect.fnUntraced(function* (more: Record<string, string>) {
  const { url } = yield* TestDatabase
  const [core, platform, internal] = yield* freePorts(3)
  const env = {
    SERVICE_DATABASE_URL: Redacted.value(url),
    SERVICE_SECRET_KEY: randomBytes(32).toString("base64"),
    SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL: randomCredential(),
    SERVICE_CORE_PORT: String(core),
    SERVICE_PLATFORM_PORT: String(platform),
    SERVICE_INTERNAL_PORT: String(internal),
    ...more,
  }
  const service = yield* start(["serve"], env)
  yield* service.ready
  const demo = (...args: ReadonlyArray<string>): Effect.Effect<Ended> =>
    Effect.scoped(Effect.flatMap(start(["demo", ...args], env), ({ ended }) => ended))
  return { demo, service }
})

const inDatabase = <A, E>(test: Effect.Effect<A, E, TestDatabase | import("effect").Scope.Scope>) =>
  test.pipe(Effect.scoped, Effect.provide(TestDatabase.layer))

describe("the demo against a service with settings of its own", { timeout: 180_000 }, () => {
  it.live("finds the service, and receives the event of a change at a receiver of its own", () =>
    inDatabase(
      Effect.gen(function* () {
        const { demo } = yield* openService({ SERVICE_WEBHOOKS_ALLOW_INSECURE: "true" })
        const { code, output } = yield* demo()
        assert.strictEqual(code, 0, output)
        assert.include(output, "It received, with a genuine signature:")
        assert.match(output, /"type":"CUSTOMER_UPDATED".*"name":"Acme International"/)
        assert.include(output, "every response was as expected")
        assert.notMatch(output, /(ks[hm]_|whsec_)[A-Za-z0-9_+/-]{5}/)
      }),
    ),
  )

  it.live("says which setting the webhook step needs, and plays the rest", () =>
    inDatabase(
      Effect.gen(function* () {
        const { demo } = yield* openService({})
        const { code, output } = yield* demo()
        assert.strictEqual(code, 0, output)
        assert.include(output, "SERVICE_WEBHOOKS_ALLOW_INSECURE=true")
        assert.include(output, "every response was as expected")
      }),
    ),
  )

  it.live(
    "--keep leaves customers, instances, licenses, a year of usage and failed deliveries, and prints the token",
    () =>
      inDatabase(
        Effect.gen(function* () {
          const { demo, service } = yield* openService({})
          const { code, output } = yield* demo("--keep")
          assert.strictEqual(code, 0, output)
          const [token = ""] = /ksh_[A-Za-z0-9_-]+/.exec(output) ?? []
          const get = (path: string) =>
            Effect.promise(async () => {
              const { body, status } = await request("GET", `${service.core}/api${path}`, { token })
              assert.strictEqual(status, 200, path)
              return body
            })
          const all = Effect.fnUntraced(function* (path: string) {
            const found: Array<{ readonly slug: string }> = []
            for (let cursor = ""; ;) {
              const page = yield* get(`${path}?limit=200${cursor === "" ? "" : `&cursor=${cursor}`}`)
              found.push(...page.items)
              if (!page.hasMore) return found
              cursor = encodeURIComponent(page.nextCursor)
            }
          })
          assert.lengthOf(yield* all("/customers"), 50)
          const instances = yield* all("/instances")
          assert.lengthOf(instances, 200)
          assert.lengthOf(yield* all("/license-families"), 3)
          assert.lengthOf(yield* all("/licenses"), 6)

          // Every month of the last year has usage.
          for (const daysAgo of [1, 40, 100, 200, 300, 360]) {
            // At its end: on the first days of a month, none may have been reported yet.
            const day = new Date(Date.now() - daysAgo * DAY_MS)
            const end = Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + 1, 1) - 1
            const at = new Date(Math.min(end, Date.now())).toISOString()
            const checked = yield* Effect.promise(() =>
              request("POST", `${service.core}/api/instances/${instances[0]?.slug}/check`, {
                token,
                body: { checks: [{ entitlement: "api-calls" }], at },
              }),
            )
            assert.isAbove(checked.body.checks[0].usage, 0, `${daysAgo} days ago`)
          }
          const warned = yield* get("/events?type=ENTITLEMENT_USAGE_WARNING_THRESHOLD_REACHED")
          assert.isNotEmpty(warned.items)

          // The first attempts may still be under way.
          yield* get("/webhooks/history?state=Failure").pipe(
            Effect.repeat({ until: ({ items }) => items.length > 0, schedule: Schedule.spaced("100 millis") }),
          )
        }),
      ),
  )
})
