/** The API references: pages with the viewer, and the OpenAPI documents that they show. */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { HttpApi, HttpApiScalar } from "effect/http-api"
import { readFile } from "node:fs/promises"
import { packageFile } from "../../../infra/PackageFiles.ts"
import * as Asset from "../Asset.ts"
import { page, STRICT_POLICY, VIEWER_POLICY } from "./Layout.ts"
import { escape } from "./Markdown.ts"

/** An API with a document. */
export type ReferenceName = "core" | "platform" | "webhooks"

/** A reference and where it is served. */
interface Reference {
  readonly name: ReferenceName
  readonly title: string
  readonly page: `/${string}`
  readonly document: `/${string}`
  /** The address of the API's listener by default, and what to do to send requests to it. Shown on pages of other listeners. */
  readonly server: string
  readonly elsewhere: string
}

const PLATFORM = "http://127.0.0.1:8081"
const WEBHOOKS = "http://127.0.0.1:8083"
const CORE = "http://127.0.0.1:8080"

export const references: ReadonlyArray<Reference> = [
  {
    name: "core",
    title: "Core API",
    page: "/docs/core",
    document: "/openapi.json",
    server: CORE,
    elsewhere: `This API is served by the core listener (<code>${CORE}</code> by default). To send requests from the page, open <code>/docs</code> there.`,
  },
  {
    name: "platform",
    title: "Platform API",
    page: "/docs/platform",
    document: "/openapi/platform.json",
    server: PLATFORM,
    elsewhere: `This API is served by the platform listener (<code>${PLATFORM}</code> by default). To send requests from the page, open <code>/docs</code> there: <a href="${PLATFORM}/docs">${PLATFORM}/docs</a>.`,
  },
  {
    name: "webhooks",
    title: "Webhooks",
    page: "/docs/webhooks",
    document: "/openapi/webhooks.json",
    server: WEBHOOKS,
    elsewhere:
      "This API is served by another listener (<code>SERVICE_WEBHOOKS_PORT</code>), so this page sends no requests to it.",
  },
]

/** The page of a reference. `path` differs from the reference's own for the start page of a listener. */
export const pageOf = (reference: Reference, path: string, isServedHere: boolean): Asset.Asset => {
  const { document, elsewhere, server, title } = reference
  const address = isServedHere ? "" : ` data-server="${escape(server)}"`
  return Asset.make(
    page({
      path,
      title,
      current: reference.page,
      kind: "reference",
      scripts: ["viewer.js", "start.js"],
      body: `${isServedHere ? "" : `<p class="notice">${elsewhere}</p>\n`}<main id="reference" data-document="${document.slice(1)}"${address}></main>`,
    }),
    "text/html; charset=utf-8",
    VIEWER_POLICY,
  )
}

const OPEN = "<script>"
const CLOSE = "</script>"

// Effect contains the viewer, but exports it only within a page. Its script is the page's first.
const loadViewer = async (): Promise<Asset.Asset> => {
  const { dispose, handler } = HttpRouter.toWebHandler(
    HttpApiScalar.layer(HttpApi.make("viewer"), { path: "/viewer" }),
    { disableLogger: true },
  )
  const html = await (await handler(new Request("http://docs/viewer"))).text()
  await dispose()
  const start = html.indexOf(OPEN) + OPEN.length
  return Asset.make(html.slice(start, html.indexOf(CLOSE, start)), "text/javascript; charset=utf-8", STRICT_POLICY)
}

/** The viewer's script. It has several megabytes, so it is loaded on the first visit and not at startup. */
export const viewer = Asset.once(loadViewer)

const fileOf = (name: string): Effect.Effect<Asset.Asset> =>
  Asset.once(async () =>
    Asset.make(await readFile(packageFile(`openapi/${name}.json`), "utf8"), "application/json", STRICT_POLICY),
  )

/** The OpenAPI document of a reference, read on the first request. */
export const documentOf = ({ name }: Reference): Effect.Effect<Asset.Asset> => fileOf(name)

/** The JSON Schema of catalogues, which `keyshelf export` names to editors. */
export const catalogSchema: Effect.Effect<Asset.Asset> = fileOf("catalog")
