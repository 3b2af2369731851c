/** Every route of the operator's console, in every state. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { describeConsole } from "../Console.ts"
import { readOnlyFaults, screensOnly, viewsOf, walked } from "../Matrix.ts"
import type { View } from "../Views.ts"
import { World } from "../World.ts"

const all = (views: ReadonlyArray<View>) => views

describeConsole("the console: all screens of operators", (it) => {
  for (const [what, state, chosen] of [
    ["with data", "data", all],
    ["that is empty", "empty", all],
    ["that fails", "error", screensOnly],
  ] as const) {
    it.effect(
      `has no fault on any of the operator's screens ${what}`,
      () =>
        Effect.gen(function* () {
          const { operator, platform } = yield* World
          const views = chosen(yield* viewsOf("platform"))
          const walk = { surface: "platform", state, origin: platform, secret: operator, views } as const
          assert.deepStrictEqual(yield* walked(walk), [])
        }),
      120_000,
    )
  }

  it.effect(
    "has no fault on any of the operator's screens that is not allowed",
    () =>
      Effect.gen(function* () {
        const { platform, platformCredential } = yield* World
        const views = screensOnly(yield* viewsOf("platform"))
        const secret = yield* platformCredential(["delete:users"])
        const walk = { surface: "platform", state: "no-permission", origin: platform, secret, views } as const
        assert.deepStrictEqual(yield* walked(walk), [])
      }),
    120_000,
  )

  it.effect(
    "offers and sends no change to an operator who may only read",
    () =>
      Effect.gen(function* () {
        const { platform, platformCredential } = yield* World
        const views = yield* viewsOf("platform")
        assert.deepStrictEqual(yield* readOnlyFaults(platform, yield* platformCredential(["read:*"]), views), [])
      }),
    120_000,
  )
})
