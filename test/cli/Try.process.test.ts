import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { statSync } from "node:fs"
import { join } from "node:path"
import { request } from "../support/http.ts"
import { freeListeners, start } from "../support/ServiceProcess.ts"
import type { ServiceProcess } from "../support/ServiceProcess.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { until } from "../support/until.ts"

/** Waits for the last of the four lines. */
const shown = (service: ServiceProcess) =>
  until(
    "the tour is shown",
    Effect.sync(() => {
      if (service.process.exitCode !== null) throw new Error(service.output())
      return / {2}Stop {5}Ctrl-C/.test(service.output())
    }),
  )

const line = (service: ServiceProcess, name: string): string =>
  new RegExp(`^  ${name} +(.*)$`, "m").exec(service.output())?.[1] ?? ""

const stop = Effect.fnUntraced(function* (service: ServiceProcess) {
  service.process.kill("SIGINT")
  assert.strictEqual((yield* service.ended).code, 0)
})

describe("keyshelf try", { timeout: 180_000 }, () => {
  it.live("shows the console, a token and a denied check, and again the same after a second start", () =>
    Effect.gen(function* () {
      const dataDir = join(yield* temporaryDirectory, "data")
      const env = { ...(yield* freeListeners), SERVICE_DATA_DIR: dataDir }
      const first = yield* start(["try"], env)
      yield* shown(first)
      assert.strictEqual(line(first, "Console"), `${first.core}/console`)
      const [token = ""] = line(first, "Token").split(" ")
      assert.match(token, /^ksh_/)
      assert.match(line(first, "Check"), /: denied, LIMIT_REACHED \(\d+ of 1000 used\)$/)
      assert.include(line(first, "Stop"), dataDir)
      assert.strictEqual(statSync(join(dataDir, "try.json")).mode & 0o777, 0o600)
      const customers = yield* Effect.promise(() => request("GET", `${first.core}/api/customers`, { token }))
      assert.strictEqual(customers.status, 200)
      yield* stop(first)
      const second = yield* start(["try"], env)
      yield* shown(second)
      assert.strictEqual(line(second, "Token"), line(first, "Token"))
      assert.strictEqual(line(second, "Check"), line(first, "Check"))
      assert.notInclude(second.output(), "Furnishing")
      yield* stop(second)
    }),
  )

  it.live("refuses the settings of another database", () =>
    Effect.gen(function* () {
      const env = {
        SERVICE_DATABASE_URL: "postgres://u@127.0.0.1:1/x",
        SERVICE_SECRET_KEY: Buffer.alloc(32).toString("base64"),
      }
      const { code, output } = yield* (yield* start(["try"], env)).ended
      assert.strictEqual(code, 1)
      assert.match(output, /^This command uses an embedded database of its own, but SERVICE_DATABASE_URL is set\./m)
    }),
  )
})
