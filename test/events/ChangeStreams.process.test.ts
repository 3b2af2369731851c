import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { changeClients } from "../support/changeStreams.ts"
import { request } from "../support/http.ts"
import { heapSize } from "../support/heapSize.ts"
import { furnishInstance, installation } from "../support/Nodes.ts"
import { freePorts } from "../support/ServiceProcess.ts"
import { TestDatabase } from "../support/TestDatabase.ts"

const STREAMS = 1000

/** What is left of a stream after a garbage collection. `npm run bench -- --only streams` measures all memory of the process. */
const MAX_BYTES = 15 * 1024

describe("a node with a thousand streams of changes", () => {
  it.live("needs little memory for them, reaches all within a second, and ends them when it stops", () =>
    Effect.gen(function* () {
      const { node, tenant } = installation((yield* TestDatabase).url)
      const [inspector = 0] = yield* freePorts(1)
      const service = yield* node({
        SERVICE_CHANGE_STREAMS: String(3 * STREAMS),
        NODE_OPTIONS: `--inspect=127.0.0.1:${inspector}`,
      })
      const token = yield* tenant(service)
      const post = (path: string, body: object) =>
        Effect.promise(() => request("POST", `${service.core}/api${path}`, { token, body }))
      yield* furnishInstance(post, "seats", 5)
      const key = yield* post("/instances/prod/keys", { name: "on site", scopes: ["read:instances"] })
      const clients = yield* Effect.acquireRelease(
        Effect.sync(() => changeClients(service.core)),
        (all) => Effect.sync(() => all.close()),
      )
      const open = (count: number) => Effect.promise(() => clients.open(String(key.body.token), count))
      // The first ones pay for compilation.
      yield* open(STREAMS / 5)
      const before = yield* Effect.promise(() => heapSize(inspector))
      yield* open(STREAMS - STREAMS / 5)
      const each = ((yield* Effect.promise(() => heapSize(inspector))) - before) / (STREAMS - STREAMS / 5)
      assert.isAbove(each, 0)
      assert.isBelow(each, MAX_BYTES)
      const change = () =>
        request("POST", `${service.core}/api/entitlements`, { token, body: { name: "Reports", type: "BOOLEAN" } })
      assert.isBelow(yield* Effect.promise(() => clients.framesOf(change, STREAMS)), 1000)
      service.process.kill("SIGTERM")
      yield* Effect.promise(() => clients.ended())
      assert.strictEqual((yield* service.ended).code, 0)
    }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer)),
  )
})
