/** Every route of the Core API's console with its tabs, full of data. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { describeConsole } from "../Console.ts"
import { viewsOf, walked } from "../Matrix.ts"
import { ALL, World } from "../World.ts"

// One test of all would take minutes.
const PARTS = [0, 1, 2, 3]

describeConsole(
  "the console: all screens with data",
  (it) => {
    it.effect(
      "leads to each of its screens by links",
      () => Effect.map(viewsOf("core"), (views) => assert.isAtLeast(views.length, 25)),
      120_000,
    )

    for (const part of PARTS) {
      it.effect(
        `has no fault on any screen with data, in either theme, on a desk and on a phone, part ${part + 1} of ${PARTS.length}`,
        () =>
          Effect.gen(function* () {
            const { core, furnished } = yield* World
            const views = (yield* viewsOf("core")).filter((_, index) => index % PARTS.length === part)
            const walk = { surface: "core", state: "data", origin: core, secret: furnished.token, views } as const
            assert.deepStrictEqual(yield* walked(walk), [])
          }),
        120_000,
      )
    }
  },
  ALL,
)
