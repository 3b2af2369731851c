/**
 * Limits what a request on the hot path allocates in this process. Unlike time, this figure does not depend on the
 * machine or its load. A figure above its bound is a regression: find it with a profiler. If a figure drops
 * permanently, lower its bound.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { getHeapStatistics } from "node:v8"
import { TestService } from "../support/TestService.ts"
import { open, requestBytes } from "../support/RawConnection.ts"

const allocated = (): number => getHeapStatistics().total_allocated_bytes

// Until then V8 compiles the code again, which allocates up to a half more.
const WARM_UP = 700
const MEASURED = 150

/** The median of three measurements of the allocations per request, in KiB. */
const perRequest = async (send: () => Promise<number>): Promise<number> => {
  for (let n = 0; n < WARM_UP; n++) await send()
  const figures: Array<number> = []
  for (let round = 0; round < 3; round++) {
    const before = allocated()
    for (let n = 0; n < MEASURED; n++) await send()
    figures.push((allocated() - before) / MEASURED / 1024)
  }
  return figures.sort((a, b) => a - b)[1] ?? Number.NaN
}

layer(TestService.separate, { excludeTestServices: true })("the hot path", (it) => {
  it.effect(
    "allocates no more per request than its bounds",
    () =>
      Effect.gen(function* () {
        const { core, origins, tenant } = yield* TestService
        const { token } = yield* tenant()
        const post = (path: string, body: object) => core("POST", path, { token, body })
        yield* post("/customers", { name: "Globex", slug: "globex" })
        for (let n = 0; n < 50; n++) yield* post("/entitlements", { name: `E ${n}`, slug: `e-${n}`, type: "NUMBER" })
        yield* post("/licenses", { name: "Pro", slug: "pro", type: "PAID", isDefault: true })
        for (let n = 0; n < 10; n++) {
          yield* post("/licenses/pro/entitlements", { entitlementSlug: `e-${n}`, value: 1_000_000_000 })
        }
        yield* post("/instances", {
          name: "Production",
          slug: "production",
          customerSlug: "globex",
          licenseSlug: "pro",
          startLicenseDate: "2026-01-01T00:00:00Z",
          endLicenseDate: "2099-01-01T00:00:00Z",
        })
        const checks = Array.from({ length: 10 }, (_, n) => ({ entitlement: `e-${n}` }))
        const check = "/api/instances/production/check"
        let serial = 0
        const operations: Record<string, { readonly bound: number; readonly request: () => Buffer }> = {}
        const fixed = (name: string, bound: number, request: Buffer) =>
          (operations[name] = { bound, request: () => request })
        fixed("read a customer", 98, requestBytes("GET", "/api/customers/globex", token))
        fixed("list 50 entitlements", 380, requestBytes("GET", "/api/entitlements?limit=50", token))
        fixed("check one entitlement", 125, requestBytes("POST", check, token, { checks: checks.slice(0, 1) }))
        fixed("check ten entitlements", 125, requestBytes("POST", check, token, { checks }))
        fixed("consume", 185, requestBytes("POST", check, token, { checks: checks.slice(0, 1), consume: true }))
        operations["create a component"] = {
          bound: 122,
          request: () => requestBytes("POST", "/api/components", token, { name: "part", version: `${++serial}` }),
        }
        const event = (n: number) => ({
          specversion: "1.0",
          id: `${++serial}`,
          source: "/gateway",
          subject: "production",
          type: `e-${n % 10}`,
          data: { value: 1 },
        })
        operations["count a batch of 100 events"] = {
          bound: 610,
          request: () =>
            requestBytes(
              "POST",
              "/api/usage-events",
              token,
              Array.from({ length: 100 }, (_, n) => event(n)),
            ),
        }
        const connection = yield* Effect.promise(() => open(origins.core))
        // Code that is not compiled yet allocates more. Warm up, or the first operation would include that.
        yield* Effect.promise(async () => {
          for (let n = 0; n < 1000; n++) await connection.send(requestBytes("GET", "/api/customers/globex", token))
        })
        const measured: Record<string, number> = {}
        for (const [name, { request }] of Object.entries(operations)) {
          measured[name] = yield* Effect.promise(() =>
            perRequest(async () => {
              const status = await connection.send(request())
              if (status >= 300) throw new Error(`${name}: ${status}`)
              return status
            }),
          )
        }
        connection.close()
        // The figures are in KiB per request.
        const exceeded = Object.entries(measured).filter(([name, figure]) => figure > (operations[name]?.bound ?? 0))
        assert.deepStrictEqual(exceeded, [])
      }),
    120_000,
  )
})
