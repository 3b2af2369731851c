/** Serves the README and the pages of `docs/` as HTML, with an index for the search. */
import { Effect, Option } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { existsSync } from "node:fs"
import { readdir, readFile } from "node:fs/promises"
import { posix } from "node:path"
import { packageFile } from "../../../infra/PackageFiles.ts"
import * as Asset from "../Asset.ts"
import { page, rootFrom, STRICT_POLICY } from "./Layout.ts"
import { escape, render } from "./Markdown.ts"
import type { Rendered, Target } from "./Markdown.ts"

const START = "README.md"
const CHANGELOG = "CHANGELOG.md"
const ROOT = "/docs/pages"

/** The groups of the navigation. A page that no group names belongs to the first, one of a subfolder to the last. */
const GROUPS = [
  {
    title: "Use",
    pages: [
      "concepts",
      "requests",
      "client",
      "usage",
      "events",
      "webhooks",
      "feature-flags",
      "metadata-fields",
      "connectors",
      "errors",
      "comparison",
    ],
  },
  {
    title: "Run",
    pages: [
      "operating",
      "upgrading",
      "changelog",
      "scaling",
      "performance",
      "observability",
      "sign-in",
      "gateways",
      "edge",
    ],
  },
  { title: "Develop", pages: ["architecture", "adding-an-endpoint", "decisions"] },
  { title: "Background", pages: [] },
] as const

/** The name of a page: `usage` of `docs/usage.md`. */
const nameOf = (file: string): string => (file === CHANGELOG ? "changelog" : file.slice("docs/".length, -".md".length))

/** The path of a page: `/docs/pages/usage` of `docs/usage.md`. */
const pathOf = (file: string): string => (file === START ? ROOT : `${ROOT}/${nameOf(file)}`)

const SERVED_ELSEWHERE: Readonly<Record<string, string>> = {
  "openapi/core.json": "openapi.json",
  "openapi/platform.json": "openapi/platform.json",
  "openapi/webhooks.json": "openapi/webhooks.json",
  "openapi/catalog.json": "openapi/catalog.json",
  docs: "docs/pages",
  "docs/adr": "docs/pages/adr/0001-effect-4",
}

const PICTURES: Readonly<Record<string, string>> = { ".png": "image/png", ".svg": "image/svg+xml" }

// The README names the addresses of a fresh installation.
const OWN_DOCS = /^http:\/\/127\.0\.0\.1:808\d\/docs(?=$|[/#?])/

/**
 * Where a link of a page leads: to another page, to a file that the service serves elsewhere, or to the repository
 * only.
 */
const targetOf = (file: string, files: ReadonlySet<string>, link: string): Target => {
  const root = rootFrom(pathOf(file))
  if (OWN_DOCS.test(link)) return { href: link.replace(OWN_DOCS, `${root}docs`) }
  if (/^[a-z][a-z0-9+.-]*:/i.test(link)) return { href: link }
  const [path = "", anchor] = link.split("#")
  const target = posix.join(posix.dirname(file), path).replace(/\/$/, "")
  const fragment = anchor === undefined ? "" : `#${anchor}`
  if (files.has(target)) return { href: `${root}${pathOf(target).slice(1)}${fragment}` }
  if (posix.extname(target) in PICTURES) return { href: `${root}${ROOT.slice(1)}/${posix.relative("docs", target)}` }
  const elsewhere = SERVED_ELSEWHERE[target]
  return elsewhere === undefined ? { file: target } : { href: `${root}${elsewhere}` }
}

interface Guide extends Rendered {
  readonly file: string
  readonly path: string
}

const groupOf = ({ file }: Guide): number => {
  const name = nameOf(file)
  if (name.includes("/")) return GROUPS.length - 1
  return Math.max(
    0,
    GROUPS.findIndex(({ pages }) => (pages as ReadonlyArray<string>).includes(name)),
  )
}

const positionOf = (guide: Guide): number => {
  const pages: ReadonlyArray<string> = GROUPS[groupOf(guide)]?.pages ?? []
  const position = pages.indexOf(nameOf(guide.file))
  return position === -1 ? pages.length : position
}

/** The list of all pages, shown next to each page. */
const contents = (guides: ReadonlyArray<Guide>, current: Guide): string => {
  const root = rootFrom(current.path)
  const item = ({ path, title }: Guide, label = title) =>
    `<li><a href="${root}${path.slice(1)}"${path === current.path ? ' aria-current="page"' : ""}>${escape(label)}</a></li>`
  const groups = GROUPS.map(({ title }, index) => {
    const members = guides
      .filter((guide) => guide.file !== START && groupOf(guide) === index)
      .sort((a, b) => positionOf(a) - positionOf(b) || a.file.localeCompare(b.file))
    return members.length === 0 ? "" : `<h2>${title}</h2>\n<ul>${members.map((guide) => item(guide)).join("\n")}</ul>`
  })
  const start = guides.filter(({ file }) => file === START).map((guide) => item(guide, "Start"))
  return `<details open><summary>All pages</summary><ul>${start.join("")}</ul>${groups.join("\n")}</details>`
}

const htmlOf = (guides: ReadonlyArray<Guide>, guide: Guide): Asset.Asset =>
  Asset.make(
    page({
      path: guide.path,
      title: guide.title,
      current: ROOT,
      kind: "guide",
      scripts: [],
      body: `<div class="columns">
<nav class="contents" aria-label="Pages">${contents(guides, guide)}</nav>
<main><article>
${guide.html}
</article></main>
</div>`,
    }),
    "text/html; charset=utf-8",
    STRICT_POLICY,
  )

const searchIndexOf = (guides: ReadonlyArray<Guide>): Asset.Asset =>
  Asset.make(
    JSON.stringify(
      guides.flatMap(({ path, sections, title }) =>
        sections.map(({ anchor, heading, text }) => ({
          // Relative to `/docs/`.
          path: `${path.slice("/docs/".length)}${anchor === "" ? "" : `#${anchor}`}`,
          title,
          heading,
          text,
        })),
      ),
    ),
    "application/json",
    STRICT_POLICY,
  )

const load = async () => {
  const listed = await readdir(packageFile("docs"), { recursive: true, encoding: "utf8" })
  const names = listed.map((file) => file.replaceAll("\\", "/")).sort()
  // A checkout and each artifact have the changelog, but not every copy that people make.
  const changelog = existsSync(packageFile(CHANGELOG)) ? [CHANGELOG] : []
  const files = new Set([
    START,
    ...changelog,
    ...names.filter((file) => file.endsWith(".md")).map((file) => `docs/${file}`),
  ])
  // Where `targetOf` leads.
  const pictures = await Promise.all(
    names
      .filter((file) => posix.extname(file) in PICTURES)
      .map(async (file) => {
        const bytes = await readFile(packageFile(`docs/${file}`))
        return [`${ROOT}/${file}`, Asset.make(bytes, PICTURES[posix.extname(file)] ?? "", STRICT_POLICY)] as const
      }),
  )
  const guides = await Promise.all(
    Array.from(files, async (file): Promise<Guide> => {
      const text = await readFile(packageFile(file), "utf8")
      return { ...render(text, (link) => targetOf(file, files, link)), file, path: pathOf(file) }
    }),
  )
  // What changed once answers no search.
  const searched = guides.filter(({ file }) => file !== CHANGELOG)
  return {
    pages: new Map([...pictures, ...guides.map((guide) => [guide.path, htmlOf(guides, guide)] as const)]),
    searchIndex: searchIndexOf(searched),
  }
}

// On the first visit and not at startup, because most processes serve no page.
const loaded = Asset.once(load)

/** Serves a page or picture by the request's path, 404 if there is none. */
export const guide = Effect.gen(function* () {
  const request = yield* HttpServerRequest.HttpServerRequest
  const { pages } = yield* loaded
  const path = Option.getOrUndefined(HttpServerRequest.toURL(request))?.pathname ?? ""
  const asset = pages.get(path)
  return asset === undefined ? HttpServerResponse.empty({ status: 404 }) : yield* Asset.respond(asset)
})

/** Serves the index for the search. */
export const searchIndex = Effect.flatMap(loaded, ({ searchIndex: index }) => Asset.respond(index))
