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
  it.effect("tells the database's time on a machine whose own clock is hours off, either way", () =>
    Effect.gen(function* () {
      for (const millis of [-5 * HOUR, 2 * HOUR]) {
        const told = yield* timeOn(offBy(millis))
        assert.isBelow(Math.abs(told - Date.now()), 2_000)
      }
    }),
  )

  it.effect("leaves a clock alone that agrees with the database", () =>
    Effect.gen(function* () {
      const before = Date.now()
      const told = yield* timeOn(offBy(0))
      assert.isTrue(told >= before && told <= Date.now())
    }),
  )
})
