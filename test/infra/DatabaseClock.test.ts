import { assert, layer } from "@effect/vitest"
import { Clock, Context, Effect, Layer } from "effect"
import * as DatabaseClock from "../../src/infra/database/DatabaseClock.ts"
import { testSql } from "../support/TestDatabase.ts"

const HOUR = 3_600_000

const offBy = (millis: number) =>
  Layer.effect(
    Clock.Clock,
    Effect.map(Clock.Clock, (system) =>
      Object.assign(Object.create(system) as Clock.Clock, {
        currentTimeMillisUnsafe: () => system.currentTimeMillisUnsafe() + millis,
        currentTimeMillis: Effect.sync(() => system.currentTimeMillisUnsafe() + millis),
      }),
    ),
  )

const timeOn = (machine: Layer.Layer<never>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const services = yield* Layer.build(DatabaseClock.layer.pipe(Layer.provide(machine)))
      return Context.get(services, Clock.Clock).currentTimeMillisUnsafe()
    }),
  )

layer(testSql, { excludeTestServices: true })("the service's clock", (it) => {
  it.effect("the clock returns the database's time on a machine whose clock is hours ahead or behind", () =>
    Effect.gen(function* () {
      for (const millis of [-5 * HOUR, 2 * HOUR]) {
        const time = yield* timeOn(offBy(millis))
        assert.isBelow(Math.abs(time - Date.now()), 2_000)
      }
    }),
  )

  it.effect("the clock returns the machine's time if it agrees with the database's", () =>
    Effect.gen(function* () {
      const before = Date.now()
      const time = yield* timeOn(offBy(0))
      assert.isTrue(time >= before && time <= Date.now())
    }),
  )
})
