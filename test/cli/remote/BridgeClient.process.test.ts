import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdirSync, readdirSync, symlinkSync } from "node:fs"
import { join, resolve } from "node:path"
import manifest from "../../../package.json" with { type: "json" }
import { runNode } from "../../support/runNode.ts"
import { temporaryDirectory } from "../../support/temporaryDirectory.ts"

const root = resolve(import.meta.dirname, "../../..")

/** The sources with the packages of an installation, except those of NATS' client. */
const installWithoutNats = (directory: string) => {
  for (const name of ["src", "migrations", "openapi", "clients", "release", "package.json"]) {
    symlinkSync(join(root, name), join(directory, name))
  }
  mkdirSync(join(directory, "node_modules"))
  for (const name of readdirSync(join(root, "node_modules"))) {
    if (name !== "@nats-io") symlinkSync(join(root, "node_modules", name), join(directory, "node_modules", name))
  }
}

it.effect("the bridge names the packages that are not installed, and the command that installs them", () =>
  Effect.gen(function* () {
    const directory = yield* temporaryDirectory
    installWithoutNats(directory)
    // Links stay links, so that no package is found beside what they lead to.
    const links = ["--preserve-symlinks", "--preserve-symlinks-main"]
    const run = (...args: ReadonlyArray<string>) =>
      Effect.promise(() =>
        runNode([...links, join(directory, "src/cli.ts"), ...args], { cwd: directory, env: process.env }),
      )
    const { code, stderr, stdout } = yield* run("events", "bridge", "nats")
    assert.strictEqual(code, 1, stdout + stderr)
    const { "@nats-io/jetstream": jetstream, "@nats-io/kv": kv } = manifest.peerDependencies
    const transport = manifest.peerDependencies["@nats-io/transport-node"]
    assert.include(
      stderr,
      `npm install --no-save @nats-io/jetstream@${jetstream} @nats-io/kv@${kv} @nats-io/transport-node@${transport}`,
    )
    assert.notInclude(stderr, "    at ")
    // All else works without them.
    const help = yield* run("events", "bridge", "nats", "--help")
    assert.strictEqual(help.code, 0, help.stderr)
  }).pipe(Effect.scoped),
)
