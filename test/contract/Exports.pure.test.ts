import { assert, describe, it } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"

const root = resolve(import.meta.dirname, "../..")

const FOLDERS = ["src", "console/src", "clients/typescript/src", "migrations", "test", "bench", "bin", "examples"]

const texts = new Map(
  FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => /\.(ts|tsx|mjs)$/.test(file) && !/(^|\/)(node_modules|dist|generated)\//.test(file))
      .map((file) => [join(folder, file), readFileSync(join(root, folder, file), "utf8")] as const),
  ),
)

const DECLARED = /^export (?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm
const LISTED = /^export (?:type )?\{([^}]*)\}(?! from)/gm

/** The names in braces: of `a as b` the first or the last. */
const namesIn = (braces: string, which: "first" | "last"): ReadonlyArray<string> =>
  braces
    .split(",")
    .map((part) => part.trim().replace(/^type /, ""))
    .filter((part) => part !== "")
    .flatMap((part) => part.split(" as ").at(which === "first" ? 0 : -1) ?? [])

const exportsOf = (text: string): ReadonlySet<string> =>
  new Set([
    ...Array.from(text.matchAll(DECLARED), ([, name = ""]) => name),
    ...Array.from(text.matchAll(LISTED), ([, braces = ""]) => namesIn(braces, "last")).flat(),
  ])

const FROM = /^(import|export)\s(?:type\s)?([^"]*?)\sfrom\s+"(\.[^"]+)"/gm
const DYNAMIC = /\bimport\(\s*"(\.[^"]+)"/g

/** What a file imports of another: some names, or, as a whole module, those in its text. */
interface Import {
  readonly from: string
  readonly names: ReadonlyArray<string> | "all" | "mentioned"
}

const importsIn = (file: string, text: string): ReadonlyArray<Import> => {
  const at = (path: string) => relative(root, resolve(root, dirname(file), path))
  return [
    ...Array.from(text.matchAll(FROM), ([, keyword, what = "", path = ""]): Import => {
      const braces = /\{([^}]*)\}/.exec(what)?.[1]
      if (braces !== undefined) return { from: at(path), names: namesIn(braces, "first") }
      return { from: at(path), names: keyword === "export" ? "all" : "mentioned" }
    }),
    ...Array.from(text.matchAll(DYNAMIC), ([, path = ""]): Import => ({ from: at(path), names: "mentioned" })),
  ]
}

/** The sources of what a package offers, by what its manifest names of the build. */
const entriesOf = (folder: string): ReadonlyArray<string> => {
  const manifest: { readonly exports: object } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"))
  const built = JSON.stringify(manifest.exports).match(/\.\/dist\/[^"]*\.js/g) ?? []
  return built.flatMap((path) => {
    const source = path.replace("./dist/", "").replace(/\.js$/, ".ts")
    const inside = source.slice(source.indexOf("/") + 1)
    return [source, join(folder, "src", source), join(folder, "src", inside), inside].filter((one) =>
      existsSync(join(root, one)),
    )
  })
}

const imported = new Map<string, Set<string>>()
for (const [file, text] of texts) {
  for (const { from, names } of importsIn(file, text)) {
    const all = [...exportsOf(texts.get(from) ?? "")]
    const those =
      names === "all"
        ? all
        : names === "mentioned"
          ? all.filter((name) => new RegExp(`\\b${name}\\b`).test(text))
          : names
    imported.set(from, new Set([...(imported.get(from) ?? []), ...those]))
  }
}

/** A message that names to developers what to call, such as "exempt of test/support/issuedSecrets.ts", is a use too. */
const isRecommended = (name: string, file: string): boolean =>
  [...texts.values()].some((text) => text.includes(`${name} of ${file}`))

describe("what a file exports", () => {
  it("is imported by another one, unless it is what a package offers", () => {
    const entries = new Set([".", "clients/typescript"].flatMap(entriesOf))
    assert.isAtLeast(entries.size, 5)
    assert.isAbove(imported.size, 1000)
    const unused = [...texts]
      // Texts in tests are sources of other programs.
      .filter(([file]) => !entries.has(file) && !file.endsWith(".test.ts"))
      .flatMap(([file, text]) =>
        [...exportsOf(text)]
          .filter((name) => imported.get(file)?.has(name) !== true && !isRecommended(name, file))
          .map((name) => `${file}: ${name}`),
      )
    assert.deepStrictEqual(unused, [])
  })
})
