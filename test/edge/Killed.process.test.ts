/** Edges that are killed while they hold units that their origin has not counted. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { request } from "../support/http.ts"
import { freePorts } from "../support/ServiceProcess.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { TestService } from "../support/TestService.ts"
import { until } from "../support/until.ts"
import { ended, isReady, startCommand } from "./command.ts"
import { tokensFile } from "./edge.ts"
import { openWorld } from "./World.ts"

const open = Effect.gen(function* () {
  const world = yield* openWorld
  const { origin, service, tenant } = world
  const { token } = tenant
  const folder = yield* temporaryDirectory
  const tokens = yield* tokensFile(folder, [token])
  const [port = 0] = yield* freePorts(1)
  const flags = ["--origin", origin, "--tokens", tokens, "--directory", join(folder, "state"), "--port", String(port)]
  const start = Effect.tap(startCommand(flags), isReady)
  const consume = (entitlement: string, requested: number) =>
    Effect.promise(() =>
      request("POST", `http://127.0.0.1:${port}/api/instances/prod/check`, {
        token,
        body: { consume: true, checks: [{ entitlement, requested }] },
      }),
    )
  const usageOf = (entitlement: string) =>
    Effect.map(
      service.core("POST", "/instances/prod/check", { token, body: { checks: [{ entitlement }], explain: true } }),
      ({ body }) => ({ usage: Number(body.checks[0].usage), held: Number(body.checks[0].explanation.held) }),
    )
  return { ...world, start, consume, usageOf }
})

layer(TestService.layer, { excludeTestServices: true, timeout: 120_000 })("an edge that is killed", (it) => {
  it.effect("and started again has counted each unit once, without a request for the instance", () =>
    Effect.gen(function* () {
      const { cable, consume, start, usageOf } = yield* open
      const first = yield* start
      yield* until(
        "the edge answers consumption itself",
        Effect.map(consume("sso", 1), ({ headers }) => headers.has("keyshelf-age")),
      )
      let [limited, unlimited] = [0, 0]
      const spend = Effect.gen(function* () {
        const exports = yield* consume("exports", 2)
        if (exports.body.checks?.[0].allowed === true) limited += 2
        const messages = yield* consume("messages", 5)
        if (messages.body.checks?.[0].allowed === true) unlimited += 5
      })
      for (let index = 0; index < 10; index++) yield* spend
      cable.cut()
      // From here on nothing is settled.
      for (let index = 0; index < 5; index++) yield* spend
      assert.isAbove(unlimited, 70)
      first.child.kill("SIGKILL")
      yield* ended(first)
      const away = yield* start
      away.child.kill("SIGKILL")
      yield* ended(away)
      cable.mend()
      const again = yield* start
      yield* until(
        "all is counted",
        Effect.all([usageOf("exports"), usageOf("messages")]).pipe(
          Effect.map(([one, other]) => one.usage === limited && other.usage === unlimited),
        ),
      )
      again.child.kill("SIGTERM")
      yield* ended(again)
      assert.deepStrictEqual(yield* usageOf("exports"), { usage: limited, held: 0 })
      assert.deepStrictEqual(yield* usageOf("messages"), { usage: unlimited, held: 0 })
    }),
  )
})
