/** Commands whose reader goes away, whose disk is full, or that a signal stops. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { TestService } from "../../support/TestService.ts"
import { commandLine } from "./world.ts"

const ROWS = 240

/** Prints the exit code of the command before the pipe, which a shell does not return. */
const piped = (command: string, reader: string) => `{ ${command}; echo $? > code; } | ${reader}`

layer(TestService.separate, { excludeTestServices: true, timeout: 120_000 })("the end of a command", (it) => {
  it.effect(
    "a change is made completely, and ends with 0, if nobody reads what it prints",
    () =>
      Effect.gen(function* () {
        const { directory, get, run, write } = yield* commandLine
        const code = () => readFileSync(join(directory, "code"), "utf8").trim()
        // Rejected rows are printed on standard output.
        const rows = (prefix: string) =>
          Array.from({ length: ROWS }, (_, n) => `${n % 3 === 0 ? "" : "C"},${prefix}-${n}`).join("\n")
        const isImported = Effect.fnUntraced(function* (prefix: string) {
          const last = yield* get(`/customers?externalCustomerId=${prefix}-${ROWS - 1}`)
          assert.lengthOf(last.body.items, 1)
        })
        for (const [prefix, command, reader] of [
          ["a", "keyshelf import customers a.csv --batch 40", "head -2"],
          ["b", "keyshelf import customers b.csv --batch 40 2>&1", "head -1"],
          ["d", "keyshelf import customers d.csv --batch 40 > /dev/full 2>&1", "cat"],
          ["e", "keyshelf import customers e.csv --batch 40 >&- 2>&-", "cat"],
        ] as const) {
          write(`${prefix}.csv`, `name,externalCustomerId\n${rows(prefix)}\n`)
          yield* run(piped(command, reader))
          assert.strictEqual(code(), "2", command)
          yield* isImported(prefix)
        }
        const entitlements = Array.from({ length: 12 }, (_, n) => `  - { slug: e-${n}, name: E, type: NUMBER }`)
        write("catalog.yaml", `entitlements:\n${entitlements.join("\n")}\n`)
        yield* run(piped("keyshelf apply catalog.yaml --yes 2>&1", "head -1"))
        assert.strictEqual(code(), "0")
        assert.lengthOf((yield* get("/entitlements")).body.items, 12)
      }).pipe(Effect.scoped),
    240_000,
  )

  it.effect(
    "output that is what a command is for, and cannot be written, is a failure",
    () =>
      Effect.gen(function* () {
        const { directory, get, run, write } = yield* commandLine
        const code = () => readFileSync(join(directory, "code"), "utf8").trim()
        const entitlements = Array.from({ length: 40 }, (_, n) => `  - { slug: e-${n}, name: E, type: NUMBER }`)
        write("catalog.yaml", `entitlements:\n${entitlements.join("\n")}\n`)
        yield* run("keyshelf apply catalog.yaml --yes")

        for (const command of ["keyshelf export", "keyshelf entitlements list --all"]) {
          const { stderr } = yield* run(piped(command, "true"))
          assert.deepStrictEqual([code(), stderr], ["141", ""], command)
          const full = yield* run(`${command} > /dev/full`)
          assert.strictEqual(full.code, 1, command)
          assert.match(full.stderr, /^Standard output cannot be written: ENOSPC: .*\.\n$/)
        }
        // A disk that takes a part of a write only.
        const limited = yield* run("ulimit -f 1; keyshelf export > part.yaml")
        assert.strictEqual(limited.code, 1)
        assert.match(limited.stderr, /^Standard output cannot be written: EFBIG/)
        assert.isTrue(existsSync(join(directory, "part.yaml")))
        assert.isAtMost(statSync(join(directory, "part.yaml")).size, 1024)

        // The record is created; its response is lost.
        yield* run(piped("keyshelf customers create --name Lost --slug lost", "true"))
        assert.strictEqual(code(), "141")
        assert.strictEqual((yield* get("/customers/lost")).status, 200)
        // A failure keeps its own code.
        yield* run(piped("keyshelf customers get nobody", "true"))
        assert.strictEqual(code(), "5")
      }).pipe(Effect.scoped),
    240_000,
  )

  it.effect(
    "a signal stops an import with its code, and says where to go on",
    () =>
      Effect.gen(function* () {
        const { run } = yield* commandLine
        for (const [signal, expected] of [
          ["INT", 130],
          ["TERM", 143],
        ] as const) {
          // More rows than are sent before the signal, through a pipe that stays open.
          const { code, stderr } = yield* run(
            `mkfifo rows-${signal}
             "$NODE" "$KEYSHELF" import customers - --batch 2 < rows-${signal} 2> log & id=$!
             exec 3> rows-${signal}; { echo name; seq -f 'Name %.0f' 1 20000; } >&3 2> /dev/null &
             until grep -q "^2 rows" log; do sleep 0.1; done
             kill -${signal} $id; wait $id; code=$?; cat log >&2; exit $code`,
            { NODE: process.execPath, KEYSHELF: join(import.meta.dirname, "../../../bin/keyshelf.mjs") },
          )
          assert.strictEqual(code, expected, stderr)
          const [, imported = "", next] =
            /Rows up to ([\d,]+) are imported\. Go on with --from (\d+)\./.exec(stderr) ?? []
          const count = Number(imported.replaceAll(",", ""))
          assert.isAtLeast(count, 2, stderr)
          assert.strictEqual(Number(next), count + 1)
        }
      }).pipe(Effect.scoped),
    120_000,
  )
})
