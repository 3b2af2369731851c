import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"

const root = resolve(import.meta.dirname, "../..")
const consoleRoot = join(root, "console/src")

const filesIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => /\.tsx?$/.test(file))

const sources = filesIn(consoleRoot)
const textOf = (file: string): string => readFileSync(join(consoleRoot, file), "utf8")
const topOf = (file: string): string => (file.includes("/") ? (file.split("/")[0] ?? "") : "")

interface Import {
  readonly from: string
  /** A path relative to `console/src`, or the name of a package. */
  readonly to: string
  readonly isType: boolean
}

const IMPORT = /^(import|export)( type)?\s[^"]*?from\s+"([^"]+)"|\bimport\("([^"]+)"\)/gm

const imports: ReadonlyArray<Import> = sources.flatMap((from) =>
  Array.from(textOf(from).matchAll(IMPORT), ([, , type, path, dynamic]) => {
    const target = path ?? dynamic ?? ""
    const to = target.startsWith(".") ? relative(consoleRoot, resolve(consoleRoot, dirname(from), target)) : target
    return { from, to, isType: type !== undefined }
  }),
)

const isOfService = ({ to }: Import): boolean => to.startsWith("../../src/")
const isOfClient = ({ to }: Import): boolean => to.startsWith("../../clients/typescript/src/")
const isOfPackage = ({ to }: Import): boolean =>
  !to.startsWith("../") && !sources.includes(to) && !/\.(css|svg)$/.test(to)

const violations = (rule: (edge: Import) => boolean): ReadonlyArray<string> =>
  imports.filter((edge) => !rule(edge)).map(({ from, to }) => `${from} imports ${to}`)

/** What screens are made of; all other folders but `app` are screens. */
const shared = new Set(["kernel", "widgets"])

describe("the imports of the console", () => {
  it("of screens are the kernel and the widgets alone; those do not know the screens", () => {
    assert.isAbove(imports.length, 200)
    assert.deepStrictEqual(
      violations((edge) => {
        if (isOfService(edge) || isOfClient(edge) || isOfPackage(edge)) return true
        const [from, to] = [topOf(edge.from), topOf(edge.to)]
        if (from === to || from === "app" || from === "") return true
        return from === "kernel" ? false : shared.has(to) && (from !== "widgets" || to === "kernel")
      }),
      [],
    )
  })

  it("of React Aria are in the widgets alone", () => {
    const isAria = ({ to }: Import) => /^(react-aria|@react-aria|react-stately)/.test(to)
    assert.isTrue(imports.some(isAria))
    assert.deepStrictEqual(
      violations((edge) => !isAria(edge) || topOf(edge.from) === "widgets"),
      [],
    )
  })

  it("of the published client are its transport, in the only file that sends requests", () => {
    assert.deepStrictEqual(new Set(imports.filter(isOfClient).map(({ from }) => from)), new Set(["kernel/Api.ts"]))
  })

  it("of the service are types of its APIs and models, and lists of names; the service imports nothing of the console", () => {
    assert.isTrue(imports.some(isOfService))
    const names = "../../src/kernel/values/EventNames.ts"
    assert.deepStrictEqual(
      violations(
        (edge) => !isOfService(edge) || edge.to === names || (edge.isType && /(Api|Model)\.ts$/.test(edge.to)),
      ),
      [],
    )
    assert.notMatch(readFileSync(resolve(consoleRoot, names), "utf8"), /^import/m)
    const service = join(root, "src")
    assert.deepStrictEqual(
      filesIn(service).filter((file) => /from "[^"]*\/console\/src\//.test(readFileSync(join(service, file), "utf8"))),
      [],
    )
  })
})

describe("the files of the console", () => {
  it("are at most 14 in a folder, with at most 300 lines each", () => {
    const folders = Map.groupBy(sources, dirname)
    assert.deepStrictEqual(
      [...folders].filter(([, files]) => files.length > 14).map(([folder]) => folder),
      [],
    )
    assert.deepStrictEqual(
      sources.filter((file) => textOf(file).trimEnd().split("\n").length > 300),
      [],
    )
  })

  it("insert no markup, and keep no credential in a cookie or in localStorage", () => {
    assert.deepStrictEqual(
      sources.filter((file) => /dangerouslySetInnerHTML|innerHTML|document\.cookie/.test(textOf(file))),
      [],
    )
    // Preferences, such as the theme, are no secrets.
    assert.deepStrictEqual(
      sources.filter((file) => /\blocalStorage\./.test(textOf(file))),
      ["kernel/Preferences.ts"],
    )
  })
})
