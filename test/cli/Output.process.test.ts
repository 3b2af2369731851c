import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { request } from "../support/http.ts"
import { randomCredential, settings, start } from "../support/ServiceProcess.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { shell } from "./shell.ts"

const Report = Schema.fromJsonString(
  Schema.Struct({
    result: Schema.Literals(["ok", "warning", "FAILED"]),
    findings: Schema.Array(
      Schema.Struct({ state: Schema.Literals(["ok", "warning", "FAILED"]), part: Schema.String, text: Schema.String }),
    ),
  }),
)

const environment = Effect.gen(function* () {
  const directory = yield* temporaryDirectory
  return yield* settings(directory, randomCredential())
})

describe("the output of commands", { timeout: 120_000 }, () => {
  it.live("doctor --json is one document with the result and a finding per check", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* shell("keyshelf doctor --json", yield* environment)
      const { findings, result } = yield* Schema.decodeUnknownEffect(Report)(stdout)
      assert.strictEqual(code, 0)
      assert.notStrictEqual(result, "FAILED")
      assert.includeMembers(
        findings.map(({ part }) => part),
        ["settings", "ports", "database"],
      )
    }).pipe(Effect.scoped),
  )

  it.live("doctor --json names what failed, and exits with 1", () =>
    Effect.gen(function* () {
      const env = { ...(yield* environment), SERVICE_CORE_PORT: "eighty" }
      const { code, stderr, stdout } = yield* shell("keyshelf doctor --json", env)
      const { findings, result } = yield* Schema.decodeUnknownEffect(Report)(stdout)
      assert.strictEqual(code, 1)
      assert.strictEqual(result, "FAILED")
      assert.isTrue(findings.some(({ state, text }) => state === "FAILED" && text.includes("SERVICE_CORE_PORT")))
      assert.match(stderr, /^\d+ of \d+ checks failed\.\n$/)
    }).pipe(Effect.scoped),
  )

  it.live("a reader that closes the pipe ends a command quietly", () =>
    Effect.gen(function* () {
      const env = yield* environment
      for (const command of ["doctor", "doctor --json", "--help", "--completions bash", "migrate --help"]) {
        // `true` closes the pipe before anything is written.
        const { code, stderr } = yield* shell(`keyshelf ${command} | true`, env)
        assert.deepStrictEqual([code, stderr], [0, ""], command)
      }
    }).pipe(Effect.scoped),
  )

  it.live("a service whose log is no longer read goes on", () =>
    Effect.gen(function* () {
      const service = yield* start(["serve"], yield* environment)
      yield* service.ready
      service.process.stdout?.destroy()
      service.process.stderr?.destroy()
      for (const _ of [1, 2, 3]) {
        const { status } = yield* Effect.promise(() => request("GET", `${service.core}/api/customers`))
        assert.strictEqual(status, 401)
      }
      assert.isNull(service.process.exitCode)
    }).pipe(Effect.scoped),
  )

  it.live("the completion script of bash is a script", () =>
    Effect.gen(function* () {
      const { code, stderr } = yield* shell("keyshelf --completions bash | bash -n", yield* environment)
      assert.deepStrictEqual([code, stderr], [0, ""])
    }).pipe(Effect.scoped),
  )
})
