/**
 * Runs the examples of the pages as a reader does: every block of shell of a page in order, in one shell, against a fresh service
 * after the README's first steps. What a page shows as output must be what the service returns.
 */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import type { Scope } from "effect"
import { spawn } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { delimiter, dirname, join, resolve } from "node:path"
import { blocksOf, differences, documentsIn, examplesOf } from "../support/pageScript.ts"
import type { Example } from "../support/pageScript.ts"
import { randomCredential, settings, settingsOn, start } from "../support/ServiceProcess.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { NOT_RUN } from "./notRun.ts"

const root = resolve(import.meta.dirname, "../..")
const read = (page: string) => readFileSync(join(root, page), "utf8")

const markdownIn = (folder: string) =>
  readdirSync(join(root, folder))
    .filter((file) => file.endsWith(".md"))
    .map((file) => join(folder, file))

const pages = ["", "docs", "docs/maintainers"].flatMap(markdownIn)

const FIRST_STEPS = /\n## First steps\n([\s\S]*?)\n## /

/** The README's section that every other page begins with. */
const firstSteps = examplesOf(FIRST_STEPS.exec(read("README.md"))?.[1] ?? "")

const MAX_PAGE_MS = 120_000

/** An error response in the output of an example that does not show one is a fault of the page. curl reports it then. */
const STRICT_CURL = "fail-with-body\nshow-error\n"

const showsProblem = ({ shown }: Example) => JSON.stringify(shown).includes('"errorId"')

interface Outcome {
  readonly code: number | null
  readonly errors: string
  /** The standard output of each example that was begun. */
  readonly outputs: ReadonlyArray<string>
}

/** Sets the variables of the first steps to the service of this test. Nothing else in a script is changed. */
const withValues = (script: string, values: Record<string, string>) =>
  script.replaceAll(/\b(CORE|PLATFORM|INTERNAL|OPERATOR)=\S+/g, (text, name: string) => {
    const value = values[name]
    return value === undefined ? text : `${name}=${value}`
  })

/** Runs examples in one shell that ends at the first command that fails. */
const run = (
  examples: ReadonlyArray<Example>,
  env: Record<string, string>,
  directory: string,
): Effect.Effect<Outcome, never, Scope.Scope> => {
  const strict = join(directory, "strict")
  mkdirSync(strict)
  writeFileSync(join(strict, ".curlrc"), STRICT_CURL)
  const output = (index: number) => join(directory, `${index}.out`)
  const script = examples
    .map((example, index) => {
      const home = showsProblem(example) ? directory : strict
      return `exec > '${output(index)}'\nexport CURL_HOME='${home}'\n${example.script}`
    })
    .join("\n")
  return Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn("bash", ["-c", `set -eo pipefail\n${script}`], {
        cwd: root,
        env: { ...env, HOME: directory, PATH: [dirname(process.execPath), process.env["PATH"]].join(delimiter) },
        stdio: ["ignore", "ignore", "pipe"],
        detached: true,
      })
      let errors = ""
      child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()))
      return { child, closed: new Promise<Outcome>((done) => child.on("close", (code) => done(outcomeOf(code)))) }

      function outcomeOf(code: number | null): Outcome {
        const begun = readdirSync(directory).filter((file) => file.endsWith(".out")).length
        return {
          code,
          errors,
          outputs: Array.from({ length: begun }, (_, index) => readFileSync(output(index), "utf8")),
        }
      }
    }),
    // A page that hangs leaves a shell and its commands behind.
    ({ child }) =>
      Effect.sync(() => {
        if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, "SIGKILL")
      }),
  ).pipe(Effect.flatMap(({ closed }) => Effect.promise(() => closed)))
}

/** Settings of a fresh service: the README's first start creates its database, that of other pages is a copy of a migrated one. */
const freshSettings = Effect.fnUntraced(function* (page: string, directory: string, credential: string) {
  if (page === "README.md") return yield* settings(directory, credential)
  const { url } = Context.get(yield* Layer.build(TestDatabase.layer), TestDatabase)
  return yield* settingsOn(url, credential)
})

/** Runs a page against a fresh service. */
const runPage = Effect.fnUntraced(function* (page: string) {
  const directory = yield* temporaryDirectory
  const credential = randomCredential()
  const env = yield* freshSettings(page, directory, credential)
  const service = yield* start(["serve"], env)
  yield* service.ready
  const values = {
    CORE: `${service.core}/api`,
    PLATFORM: `${service.platform}/api`,
    INTERNAL: `http://127.0.0.1:${env.SERVICE_INTERNAL_PORT}`,
    OPERATOR: credential,
  }
  const own = examplesOf(read(page))
  const before = page === "README.md" ? [] : firstSteps
  const examples = [...before, ...own].map((example) => ({ ...example, script: withValues(example.script, values) }))
  const work = join(directory, "work")
  mkdirSync(work)
  const { code, errors, outputs } = yield* run(examples, env, work)
  const last = examples[outputs.length - 1]
  assert.strictEqual(
    code,
    0,
    `${page}:${last?.line} fails.\n${errors}\n${outputs.at(-1)}\nThe script:\n${last?.script}`,
  )
  for (const [index, { line, shown }] of own.entries()) {
    if (shown.length === 0) continue
    const real = documentsIn(outputs[before.length + index] ?? "").slice(-shown.length)
    assert.deepStrictEqual(differences(shown, real), [], `${page}:${line} returned ${JSON.stringify(real)}`)
  }
})

describe("the examples of the pages", () => {
  const withExamples = pages.filter((page) => examplesOf(read(page)).length > 0)

  for (const page of withExamples) {
    it.live(`of ${page} run, and print what the page shows`, () => Effect.scoped(runPage(page)), MAX_PAGE_MS)
  }

  it("begin with a link to the first steps where they use their variables", () => {
    assert.isAbove(firstSteps.length, 0)
    for (const page of withExamples.filter((name) => name.startsWith("docs/"))) {
      const used = examplesOf(read(page)).some(({ script }) =>
        /\$(CORE|PLATFORM|TOKEN|OPERATOR)\b|^(post|put|get) /m.test(script),
      )
      if (used) assert.include(read(page), "README.md#first-steps", page)
    }
  })

  it("name no address but through a variable", () => {
    for (const page of withExamples) {
      for (const { line, script } of examplesOf(read(page))) {
        const rest = script.replaceAll(/\b(CORE|PLATFORM|INTERNAL|EDGE)=\S+/g, "")
        assert.notMatch(rest, /127\.0\.0\.1:\d|localhost:\d/, `${page}:${line}`)
      }
    }
  })

  it("are run, except for the listed ones, each of which exists", () => {
    const excluded = pages.flatMap((page) =>
      blocksOf(read(page))
        .filter(({ tag }) => tag === "console")
        .map(({ text }) => `${page}: ${text.split("\n")[0]}`),
    )
    assert.sameMembers(
      excluded,
      NOT_RUN.map(({ begins, page }) => `${page}: ${begins}`),
    )
    for (const { page, reason } of NOT_RUN) assert.isAbove(reason.length, 10, page)
  })

  it("use only known tags for their blocks", () => {
    const tags = [
      "sh",
      "console",
      "go",
      "json",
      "js",
      "ts",
      "sql",
      "ini",
      "nginx",
      "yaml",
      "http",
      "text",
      "python",
      "",
    ]
    for (const page of pages) {
      for (const { line, tag } of blocksOf(read(page))) assert.include(tags, tag, `${page}:${line}`)
    }
  })
})
