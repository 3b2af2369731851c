import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { shell } from "./shell.ts"

describe("wrong arguments", { timeout: 120_000 }, () => {
  it.live("print help and the error on standard error, and only JSON there with --json", () =>
    Effect.gen(function* () {
      for (const line of [
        "keyshelf customers list --nam x",
        "keyshelf customers",
        "keyshelf check",
        "keyshelf apply",
      ]) {
        const { code, stderr, stdout } = yield* shell(line, {})
        assert.deepStrictEqual([code, stdout], [1, ""], line)
        assert.include(stderr, "USAGE", line)
      }
      const { code, stderr, stdout } = yield* shell("keyshelf customers list --nam x --json", {})
      assert.deepStrictEqual([code, stdout], [1, ""])
      const problem = JSON.parse(stderr)
      assert.strictEqual(problem.code, "CommandLine.Invalid")
      assert.include(problem.detail, "--nam")
      assert.strictEqual((yield* shell("keyshelf customers --help", {})).stderr, "")
    }),
  )
})
