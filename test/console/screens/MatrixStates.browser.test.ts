/** Every route of the Core API's console while it is empty, fails, is not allowed, or may only be read. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { describeConsole } from "../Console.ts"
import { readOnlyFaults, screensOnly, viewsOf, walked, withoutRecord } from "../Matrix.ts"
import { World } from "../World.ts"

describeConsole("the console: all screens without data or scopes", (it) => {
  it.effect(
    "has no fault on any screen that fails",
    () =>
      Effect.gen(function* () {
        const { core, furnished } = yield* World
        const views = screensOnly(yield* viewsOf("core"))
        const walk = { surface: "core", state: "error", origin: core, secret: furnished.token, views } as const
        assert.deepStrictEqual(yield* walked(walk), [])
      }),
    120_000,
  )

  it.effect(
    "has no fault on any screen that is empty",
    () =>
      Effect.gen(function* () {
        const { core, empty } = yield* World
        const views = withoutRecord(yield* viewsOf("core"))
        const walk = { surface: "core", state: "empty", origin: core, secret: empty.token, views } as const
        assert.deepStrictEqual(yield* walked(walk), [])
      }),
    120_000,
  )

  it.effect(
    "has no fault on any screen that is not allowed",
    () =>
      Effect.gen(function* () {
        const { core, tokenWith } = yield* World
        const views = screensOnly(yield* viewsOf("core"))
        // A scope that no operation of the Core API needs.
        const secret = yield* tokenWith(["delete:organizations"])
        const walk = { surface: "core", state: "no-permission", origin: core, secret, views } as const
        assert.deepStrictEqual(yield* walked(walk), [])
      }),
    120_000,
  )

  it.effect(
    "offers and sends no change to those who may only read",
    () =>
      Effect.gen(function* () {
        const { core, tokenWith } = yield* World
        const views = yield* viewsOf("core")
        assert.deepStrictEqual(yield* readOnlyFaults(core, yield* tokenWith(["read:*"]), views), [])
      }),
    120_000,
  )
})
