import { assert, describe, it } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "../..")

const markdownIn = (folder: string, recursive = false): ReadonlyArray<string> =>
  readdirSync(join(root, folder), { recursive, encoding: "utf8" })
    .filter((file) => file.endsWith(".md"))
    .map((file) => join(folder, file))

const pages = [...markdownIn("."), ...markdownIn("docs", true), ...markdownIn("bench")]

/** A page without its blocks of code, in which `](` is no link and `#` no heading. */
const textOf = (page: string): string => readFileSync(join(root, page), "utf8").replaceAll(/^```[\s\S]*?^```$/gm, "")

/** The anchor that GitHub gives a heading. */
const anchorOf = (heading: string): string =>
  heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, "")
    .replaceAll(" ", "-")

/** The anchors of a page. GitHub numbers repeated ones, from `-1` on. */
const anchorsOf = (page: string): ReadonlySet<string> => {
  const anchors = Array.from(textOf(page).matchAll(/^#{1,6} +(.*)$/gm), ([, heading = ""]) => anchorOf(heading))
  return new Set(
    anchors.map((anchor, index) => {
      const earlier = anchors.slice(0, index).filter((other) => other === anchor).length
      return earlier === 0 ? anchor : `${anchor}-${earlier}`
    }),
  )
}

interface Link {
  readonly page: string
  /** The file that it leads to, and the anchor in it. */
  readonly file: string
  readonly anchor: string | undefined
}

/** The links of all pages, except those to other sites. */
const links: ReadonlyArray<Link> = pages.flatMap((page) =>
  Array.from(
    textOf(page)
      .replaceAll(/`[^`\n]*`/g, "")
      .matchAll(/\]\(([^)\s]+)\)/g),
    ([, target = ""]) => target,
  )
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [path = "", anchor] = target.split("#")
      return { page, file: path === "" ? page : join(dirname(page), path), anchor }
    }),
)

/** A path in a text that begins with a folder of this repository, such as `src/cli.ts`. */
const PATH = /(?<![\w./{-])(?:bench|bin|deploy|docs|examples|migrations|openapi|src|test)\/[\w./-]*\w/g

// The operator creates this one from the example.
const CREATED = "deploy/.env"

describe("the pages", () => {
  it("link only to files that exist", () => {
    assert.isAbove(links.length, 100)
    assert.deepStrictEqual(
      links.filter(({ file }) => !existsSync(join(root, file))).map(({ file, page }) => `${page}: ${file}`),
      [],
    )
  })

  it("link only to headings that exist", () => {
    const anchored = links.filter(({ anchor, file }) => anchor !== undefined && existsSync(join(root, file)))
    assert.isAbove(anchored.length, 10)
    assert.deepStrictEqual(
      anchored
        .filter(({ anchor = "", file }) => !file.endsWith(".md") || !anchorsOf(file).has(anchor))
        .map(({ anchor, file, page }) => `${page}: ${file}#${anchor}`),
      [],
    )
  })

  it("name only paths that exist", () => {
    assert.deepStrictEqual(
      pages.flatMap((page) =>
        Array.from(textOf(page).matchAll(PATH), ([path]) => path)
          .filter((path) => path !== CREATED && !existsSync(join(root, path)))
          .map((path) => `${page}: ${path}`),
      ),
      [],
    )
  })
})
