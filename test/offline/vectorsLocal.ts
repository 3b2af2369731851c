/**
 * Runs a file of local decisions in each language: `npm run vectors:local -- FILE`. It ends with 0 only if all languages that are
 * installed give the results that the file expects.
 */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { runLocal } from "./local.ts"
import type { LocalDecisions } from "./local.ts"

const root = resolve(import.meta.dirname, "../..")
const [file] = process.argv.slice(2)
if (file === undefined || file === "") {
  console.error("Name a file: npm run vectors:local -- clients/vectors/local-decisions.json")
  process.exit(2)
}
// npm runs scripts in the folder of the package.
const path = resolve(process.env["INIT_CWD"] ?? process.cwd(), file)

const runTypeScript = async (): Promise<boolean> => {
  const decisions: LocalDecisions = JSON.parse(readFileSync(path, "utf8"))
  const results = await runLocal(decisions)
  const compared = results.flatMap((result) => ("matches" in result ? [result] : []))
  for (const result of results) if ("skipped" in result) console.log(`skipped ${result.id}: ${result.skipped}`)
  const wrong = compared.filter(({ matches }) => !matches)
  for (const { actual, expected, id } of wrong) {
    console.log(`wrong ${id}\n  actual   ${JSON.stringify(actual)}\n  expected ${JSON.stringify(expected)}`)
  }
  console.log(`${compared.length - wrong.length} of ${compared.length} match`)
  return wrong.length === 0 && compared.length > 0
}

/** Runs a program, unless its language is not installed. */
const run = (command: string, version: string, args: ReadonlyArray<string>, folder: string, env: NodeJS.ProcessEnv) => {
  if (spawnSync(command, [version], { stdio: "ignore" }).status !== 0) {
    console.log(`skipped: ${command} is not installed`)
    return true
  }
  const options = { cwd: join(root, folder), env: { ...process.env, ...env }, stdio: "inherit" } as const
  return spawnSync(command, args, options).status === 0
}

const languages: Readonly<Record<string, () => boolean | Promise<boolean>>> = {
  TypeScript: runTypeScript,
  Python: () =>
    run("python3", "--version", ["-m", "tests.local_decisions", path], "clients/python", { PYTHONPATH: "src" }),
  Go: () => {
    const args = ["test", "-count=1", "-v", "-run", "^TestLocalDecisions$", "./offline", "./internal/..."]
    return run("go", "version", args, "clients/go", { KEYSHELF_LOCAL_DECISIONS: path })
  },
}

const failed: Array<string> = []
for (const [name, isRight] of Object.entries(languages)) {
  console.log(`\n=== ${name}`)
  const right = await Promise.resolve()
    .then(isRight)
    .catch((error: unknown) => {
      console.log(error instanceof Error ? error.message : error)
      return false
    })
  if (!right) failed.push(name)
}
if (failed.length > 0) {
  console.error(`\n${failed.join(", ")}: not all match`)
  process.exit(1)
}
console.log("\nAll match.")
