import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { bundles } from "../offline/vectors.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { shell } from "./shell.ts"

const caseOf = (id: string) => bundles.cases.find((one) => one.id === id) ?? assert.fail(`no vector ${id}`)

/** A folder with the files that an operator has. */
const files = Effect.gen(function* () {
  const directory = yield* temporaryDirectory
  const write = (name: string, text: string) => writeFileSync(join(directory, name), text)
  write("keys.json", JSON.stringify({ keys: [bundles.keys["current"]] }))
  write("other.json", JSON.stringify({ keys: [bundles.keys["stranger"]] }))
  write("empty.json", "{}")
  write("bundle.txt", `${caseOf("good").token}\n`)
  write("bound.txt", caseOf("bound").token)
  write("expired-list.txt", caseOf("list-stale").revocations ?? "")
  write("list.txt", caseOf("revoked").revocations ?? "")
  // No settings: a command that needs the service or its database fails here.
  return (line: string) =>
    shell(`cd ${directory}; keyshelf offline verify ${line}`, { SERVICE_DATABASE_URL: "nonsense" })
})

const AT = "--at 2026-01-12T08:00:00Z"

describe("keyshelf offline verify", { timeout: 120_000 }, () => {
  it.live("prints the status and the claims of a valid bundle, from a file and from standard input", () =>
    Effect.gen(function* () {
      const verify = yield* files
      const { code, stderr, stdout } = yield* verify(`bundle.txt --keys keys.json ${AT}`)
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.match(stdout, /^status +VALID\nrenewDue +false$/m)
      assert.match(stdout, /^iss +urn:keyshelf:organization:0198c2b0-0a11-7d52-8a39-2f6c1e8a7054$/m)
      assert.match(stdout, /^instance +globex-production$/m)
      assert.match(stdout, /^exp +2026-02-16T12:00:00\.000Z$/m)
      assert.match(stdout, /^tokens +NUMBER +123456789012345678 /m)

      const piped = yield* verify(`- --keys keys.json ${AT} --json --instance globex-production < bundle.txt`)
      assert.strictEqual(piped.code, 0, piped.stderr)
      const { claims, renewDue, status } = JSON.parse(piped.stdout)
      assert.deepStrictEqual(
        [status, renewDue, claims.seq, claims.instance.slug],
        ["VALID", false, 7, "globex-production"],
      )
    }).pipe(Effect.scoped),
  )

  it.live("ends with 3 if the bundle is not valid, and shows what is known of it", () =>
    Effect.gen(function* () {
      const verify = yield* files
      for (const [line, status] of [
        ["bundle.txt --keys keys.json --at 2026-02-16T12:00:00Z", "BUNDLE_EXPIRED"],
        [`bundle.txt --keys keys.json ${AT} --instance globex-staging`, "WRONG_INSTANCE"],
        [`bundle.txt --keys keys.json ${AT} --revocations list.txt`, "REVOKED"],
        [`bundle.txt --keys keys.json ${AT} --revocations bundle.txt`, "REVOCATIONS_INVALID"],
        [`bound.txt --keys keys.json ${AT}`, "NOT_BOUND"],
      ] as const) {
        const { code, stderr, stdout } = yield* verify(line)
        assert.deepStrictEqual([code, stderr], [3, `The bundle is not valid: ${status}\n`])
        assert.match(stdout, new RegExp(`^status +${status}$`, "m"))
        assert.match(stdout, /^instance +globex-production$/m)
      }
      for (const [line, status] of [
        [`bundle.txt --keys other.json ${AT}`, "UNKNOWN_KEY"],
        [`keys.json --keys keys.json ${AT}`, "MALFORMED"],
      ] as const) {
        const { code, stdout } = yield* verify(`${line} --json`)
        assert.strictEqual(code, 3)
        assert.deepStrictEqual(JSON.parse(stdout), { status, renewDue: false, claims: null })
      }
    }).pipe(Effect.scoped),
  )

  it.live("takes a revocation list that names others, and the fingerprints of a machine", () =>
    Effect.gen(function* () {
      const verify = yield* files
      const listed = yield* verify(`bundle.txt --keys keys.json ${AT} --revocations expired-list.txt`)
      assert.strictEqual(listed.code, 0, listed.stderr)
      const shown = (caseOf("bound").fingerprints ?? []).map((one) => `--fingerprint ${one}`).join(" ")
      const bound = yield* verify(`bound.txt --keys keys.json ${AT} ${shown}`)
      assert.strictEqual(bound.code, 0, bound.stderr)
    }).pipe(Effect.scoped),
  )

  it.live("says in a sentence which file is missing, or is not a key set", () =>
    Effect.gen(function* () {
      const verify = yield* files
      for (const [line, expected] of [
        ["bundle.txt", /--keys/],
        ["missing.txt --keys keys.json", /^The bundle cannot be read from missing\.txt: ENOENT/m],
        ["bundle.txt --keys missing.json", /^The key set cannot be read from missing\.json: ENOENT/m],
        ["bundle.txt --keys empty.json", /^empty\.json is not a key set\. Save the JSON of GET/m],
        ["bundle.txt --keys bundle.txt", /^bundle\.txt is not a key set\./m],
        ["bundle.txt --keys keys.json --revocations missing.txt", /^The revocation list cannot be read/m],
        ["bundle.txt --keys keys.json --at soon", /--at/],
      ] as const) {
        const { code, stderr, stdout } = yield* verify(line)
        assert.strictEqual(code, 1, line)
        assert.match(stderr + stdout, expected)
        assert.notInclude(stderr + stdout, "    at ")
      }
    }).pipe(Effect.scoped),
  )
})
