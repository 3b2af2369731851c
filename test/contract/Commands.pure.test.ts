import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { join, relative, resolve } from "node:path"

const root = resolve(import.meta.dirname, "../..")

const TEXT = String.raw`(?:"(?:[^"\\]|\\.)*"|${"`"}(?:[^${"`"}\\]|\\.)*${"`"})`

/** Help and API documents describe a command by its name, as the line USAGE of its help does. */
const HELP = [
  new RegExp(String.raw`\bwith(?:Short)?Description\(\s*${TEXT},?\s*\)`, "g"),
  new RegExp(String.raw`\bdescription:\s*${TEXT}`, "g"),
  /\bwithExamples\(\[[\s\S]*?\]\)/g,
]

const COMMENTS = /^\s*(?:\/\*\*|\*|\/\/).*$|\s\/\/ .*$/gm

/** Texts that no user runs, and the one command that installs what it names. */
const NO_COMMAND: Readonly<Record<string, ReadonlyArray<string>>> = {
  "src/cli/remote/events/bridge/JetStream.ts": ["keyshelf events"],
  "src/cli/remote/mcp/Selection.ts": ["keyshelf import", "keyshelf offline"],
  "src/infra/database/Distribution.ts": ["keyshelf distribute"],
  "src/infra/database/ListenNotify.ts": ["keyshelf listener"],
  "src/infra/database/LivenessSession.ts": ["keyshelf liveness"],
  "src/infra/embedded/Binaries.ts": ["npx keyshelf try"],
}

/** Commands that a text of the source names itself, instead of by `commandLine`. */
const commandsIn = (source: string): ReadonlyArray<string> => {
  const code = [COMMENTS, ...HELP].reduce((text, ignored) => text.replaceAll(ignored, ""), source)
  return code.match(/(?:\bnpx |\bnpm run )?\bkeyshelf (?:-- )?[a-z][a-z-]*/g) ?? []
}

const sources = ["src", "bin"]
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((file) => join(root, folder, file)),
  )
  .filter((file) => /\.m?[jt]s$/.test(file))
  // What says how a command is run.
  .filter((file) => !file.endsWith("/infra/PackageFiles.ts"))

describe("a message that names a command", () => {
  it("is found by its text, but not help, comments and what commandLine makes", () => {
    assert.deepStrictEqual(commandsIn('fail("It is empty. Run `keyshelf migrate`.")'), ["keyshelf migrate"])
    assert.deepStrictEqual(commandsIn("log(`Create one:\n  npx keyshelf try`)"), ["npx keyshelf try"])
    for (const source of [
      "/** `keyshelf migrate` applies them. */\nrun() // keyshelf migrate",
      'Command.withDescription(\n  "Write it. keyshelf apply reads it.",\n)',
      'Command.withExamples([\n  { command: "keyshelf export > catalog.yaml" },\n])',
      '.annotate({ description: "The file of `keyshelf apply`" })',
      'fail(`Run \\`${commandLine("migrate")}\\`.`)',
    ]) {
      assert.deepStrictEqual(commandsIn(source), [], source)
    }
  })

  it("names it as the user of the installation runs it: commandLine(...)", () => {
    assert.isAbove(sources.length, 500)
    const found = sources.map((file) => [relative(root, file), commandsIn(readFileSync(file, "utf8"))] as const)
    assert.deepStrictEqual(Object.fromEntries(found.filter(([, commands]) => commands.length > 0)), NO_COMMAND)
  })
})
