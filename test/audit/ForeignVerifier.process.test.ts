import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { allowInventedEvents } from "../support/recorded.ts"
import { withReason } from "../support/skipped.ts"
import { TestService } from "../support/TestService.ts"
import { deliveredText } from "./delivered.ts"
import { openLog } from "./support.ts"

allowInventedEvents()

/** The packages for signed notes and logs in the distribution of Go; `undefined` if Go is not installed. */
const packages = (() => {
  try {
    const root = execFileSync("go", ["env", "GOROOT"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim()
    const found = join(root, "src/cmd/vendor/golang.org/x/mod/sumdb")
    return existsSync(found) ? found : undefined
  } catch {
    return undefined
  }
})()

/** Builds `verifier.go` with those packages. */
const build = Effect.acquireRelease(
  Effect.sync(() => {
    const directory = mkdtempSync(join(tmpdir(), "keyshelf-verifier-"))
    for (const name of ["note", "tlog"]) cpSync(join(packages ?? "", name), join(directory, name), { recursive: true })
    const note = join(directory, "note/note.go")
    writeFileSync(note, readFileSync(note, "utf8").replace("golang.org/x/crypto/ed25519", "crypto/ed25519"))
    cpSync(join(import.meta.dirname, "verifier.go"), join(directory, "main.go"))
    writeFileSync(join(directory, "go.mod"), "module verifier\n\ngo 1.18\n")
    mkdirSync(join(directory, "cache"))
    const env = { ...process.env, GOCACHE: join(directory, "cache"), GOFLAGS: "-mod=mod", GOPROXY: "off" }
    execFileSync("go", ["build", "-o", "verifier", "."], { cwd: directory, env })
    return directory
  }),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true })),
)

const run = (directory: string, args: ReadonlyArray<string>) => {
  try {
    return execFileSync(join(directory, "verifier"), args, { encoding: "utf8" })
  } catch (error) {
    return String(Reflect.get(error as object, "stdout"))
  }
}

layer(TestService.separate, { excludeTestServices: true })("a foreign verifier", (it) => {
  it.effect.skipIf(packages === undefined)(
    withReason(
      "takes checkpoints and proofs, and rejects changed ones",
      packages === undefined ? "Go is not installed" : undefined,
    ),
    () =>
      Effect.gen(function* () {
        const { addMany, get, note } = yield* openLog
        yield* addMany(300)
        const older = yield* note
        yield* addMany(400)
        const newer = yield* note
        const sizes = [older, newer].map((text) => text.split("\n")[1])
        const event = (yield* get("/events?limit=200")).body.items[150]
        const proof = (yield* get(`/events/${event.id}/proof`)).text
        const { hashes } = (yield* get(`/events/consistency?from=${sizes[0]}&to=${sizes[1]}`)).body
        const items: ReadonlyArray<{ verifierKey: string }> = (yield* get("/signing-keys")).body.items
        const directory = yield* build
        const file = (name: string, text: string) => {
          writeFileSync(join(directory, name), text)
          return join(directory, name)
        }
        const verify = (texts: { readonly proof?: string; readonly older?: string; readonly event?: string }) =>
          run(directory, [
            items[0]?.verifierKey ?? "",
            file("proof", texts.proof ?? proof),
            file("older", texts.older ?? older),
            file("consistency", hashes.join("\n")),
            file("event", texts.event ?? deliveredText(event)),
          ])
        assert.strictEqual(verify({}), "verified\n")
        assert.notInclude(verify({ event: deliveredText({ ...event, id: event.organizationId }) }), "verified\n")
        assert.notInclude(verify({ proof: proof.replace("index 150", "index 151") }), "verified\n")
        assert.notInclude(
          verify({ older: older.replace(`\n${sizes[0]}\n`, `\n${Number(sizes[0]) - 1}\n`) }),
          "verified\n",
        )
      }).pipe(Effect.scoped),
    { timeout: 300_000 },
  )
})
