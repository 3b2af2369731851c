/** What a command loads. Loading takes most of the time of a short command. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"

const root = resolve(import.meta.dirname, "../../../src")

/** Modules that a file loads at once: its imports of values, not those within functions. */
const IMPORT = /^(?:import|export) (?!type )(?:[^"]*? from )?"([^"]+)"/gm

/** A file and all files that it loads at once, and the packages that they load. */
const loadedBy = (entry: string): { readonly files: ReadonlyArray<string>; readonly packages: ReadonlySet<string> } => {
  const files = new Set([join(root, entry)])
  const packages = new Set<string>()
  for (const file of files) {
    if (!file.endsWith(".ts")) continue
    for (const [, name = ""] of readFileSync(file, "utf8").matchAll(IMPORT)) {
      if (name.startsWith(".")) files.add(resolve(dirname(file), name))
      else packages.add(name)
    }
  }
  return { files: [...files].map((file) => relative(root, file)), packages }
}

const isOfService = (file: string) => /^(app|http|demo)\/|^infra\/database\/|Repo\.ts$|LocalCommands\.ts$/.test(file)

describe("a command that calls a service", () => {
  it("loads neither the service nor its database", () => {
    for (const entry of ["cli.ts", "cli/remote/Commands.ts"]) {
      const { files, packages } = loadedBy(entry)
      assert.include(files, "cli/Ending.ts")
      assert.deepStrictEqual(files.filter(isOfService), [], entry)
      for (const name of ["@effect/sql-pg", "redis", "yaml", "ajv"]) assert.notInclude([...packages], name, entry)
    }
  })

  it("is loaded alone: the entry loads no command", () => {
    assert.deepStrictEqual(
      loadedBy("cli.ts").files.filter((file) => file.endsWith("Command.ts") || file.startsWith("cli/remote/")),
      [],
    )
    assert.isTrue(isOfService("cli/LocalCommands.ts"))
    assert.isAbove(loadedBy("cli/LocalCommands.ts").files.filter(isOfService).length, 50)
  })
})
