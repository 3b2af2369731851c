import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chmod, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { json, localServer } from "../support/LocalServer.ts"
import { request } from "../support/http.ts"
import { freePorts } from "../support/ServiceProcess.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { until } from "../support/until.ts"
import { ended, isReady, startCommand } from "./command.ts"
import { tokensFile } from "./edge.ts"

const open = Effect.gen(function* () {
  const folder = yield* temporaryDirectory
  const tokens = yield* tokensFile(folder, ["ksh_one"])
  const origin = yield* localServer(json(404, {}))
  const [port = 0] = yield* freePorts(1)
  const needed = ["--origin", origin.url, "--tokens", tokens, "--directory", join(folder, "state")]
  const call = (path: string, token: string) =>
    Effect.promise(() => request("GET", `http://127.0.0.1:${port}${path}`, { token }))
  return { folder, tokens, origin, port, needed, call }
})

describe("keyshelf edge", { timeout: 120_000 }, () => {
  it.live("does not start if others than the owner can read its tokens, and shows no token", () =>
    Effect.gen(function* () {
      const { needed, port, tokens } = yield* open
      for (const mode of [0o640, 0o604]) {
        yield* Effect.promise(() => chmod(tokens, mode))
        const { code, output } = yield* Effect.flatMap(startCommand([...needed, "--port", String(port)]), ended)
        assert.strictEqual(code, 1, output)
        assert.include(output, `chmod 600 ${tokens}`)
        assert.notInclude(output, "ksh_one")
      }
    }).pipe(Effect.scoped),
  )

  it.live("does not start without tokens, for other machines unless that is allowed, or with keys that are none", () =>
    Effect.gen(function* () {
      const { folder, needed, tokens } = yield* open
      const failing = (flags: ReadonlyArray<string>) =>
        Effect.map(Effect.flatMap(startCommand(flags), ended), ({ code, output }) => {
          assert.strictEqual(code, 1, output)
          return output
        })
      assert.include(yield* failing([...needed, "--host", "0.0.0.0"]), "--allow-remote")
      const keys = join(folder, "keys.json")
      yield* Effect.promise(() => writeFile(keys, "{}"))
      assert.include(yield* failing([...needed, "--keys", keys]), "not a JSON Web Key Set")
      yield* Effect.promise(() => writeFile(tokens, "# none\n\n"))
      assert.include(yield* failing(needed), "has no token")
      yield* Effect.promise(() => writeFile(tokens, "ksh_one\nksh two\n"))
      assert.include(yield* failing(needed), "has no token in line 2")
    }).pipe(Effect.scoped),
  )

  it.live("takes its settings from the environment, reads the tokens again on SIGHUP, and ends with 0 on SIGTERM", () =>
    Effect.gen(function* () {
      const { call, folder, origin, port, tokens } = yield* open
      const edge = yield* startCommand([], {
        KEYSHELF_EDGE_ORIGIN: origin.url,
        KEYSHELF_EDGE_TOKENS: tokens,
        KEYSHELF_EDGE_DIRECTORY: join(folder, "state"),
        KEYSHELF_EDGE_HOST: "0.0.0.0",
        KEYSHELF_EDGE_ALLOW_REMOTE: "true",
        KEYSHELF_EDGE_PORT: String(port),
        KEYSHELF_EDGE_INSTANCES: "5",
      })
      yield* isReady(edge)
      assert.strictEqual((yield* call("/health/live", "")).status, 200)
      assert.strictEqual((yield* call("/api/me", "ksh_one")).status, 404)
      assert.strictEqual((yield* call("/api/me", "ksh_two")).status, 401)
      yield* tokensFile(folder, ["ksh_two"])
      edge.child.kill("SIGHUP")
      const status = (token: string) => Effect.map(call("/api/me", token), (response) => response.status)
      yield* until(
        "the new token is served",
        Effect.map(status("ksh_two"), (found) => found === 404),
      )
      assert.strictEqual(yield* status("ksh_one"), 401)
      // A file that cannot be used changes nothing.
      yield* Effect.promise(() => chmod(tokens, 0o644))
      edge.child.kill("SIGHUP")
      yield* until(
        "that is logged",
        Effect.sync(() => edge.output.includes("Tokens not read again")),
      )
      assert.strictEqual(yield* status("ksh_two"), 404)
      edge.child.kill("SIGTERM")
      const { code, output } = yield* ended(edge)
      assert.strictEqual(code, 0, output)
      assert.notMatch(output, /ksh_(one|two)/)
    }).pipe(Effect.scoped),
  )
})
