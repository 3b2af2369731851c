import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"
import { openMetered } from "./Metered.ts"

layer(TestService.layer, { excludeTestServices: true })("bench", (it) => {
  it.effect("x", () =>
    Effect.gen(function* () {
      const { call, check, metered, report } = yield* openMetered
      yield* metered("calls", -1)
      const timed = (name: string, n: number, work: Effect.Effect<unknown>) =>
        Effect.gen(function* () {
          const t = performance.now()
          yield* Effect.all(Array.from({ length: n }, () => work), { concurrency: 32 })
          const ms = performance.now() - t
          console.log(name, (ms / n).toFixed(2), "ms each")
        })
      let k = 0
      yield* timed("check", 1000, call("POST", "/instances/prod/check", { checks: [{ entitlement: "calls" }] }))
      yield* timed("report", 500, report("calls", { value: 1 }))
      yield* timed("consume", 1000, check([{ entitlement: "calls" }]))
      yield* timed("consume1", 1000, check([{ entitlement: "calls" }]))
      yield* timed("component create", 300, Effect.suspend(() => call("POST", "/components", { name: `c${k++}`, version: "1" })))
    }), 60000)
})
