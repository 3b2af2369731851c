/**
 * Serves `/docs` and the OpenAPI documents on the core listener. The pages load nothing from another host and contain no script,
 * which their content security policy enforces (contract, part 2, section 13).
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApi, HttpApiScalar } from "effect/http-api"
import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import { packageFile } from "../../infra/PackageFiles.ts"
import * as MethodNotAllowed from "../middleware/MethodNotAllowed.ts"

// The viewer inserts its style sheet as an element, so inline styles are allowed; scripts are not.
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ")

const HEADERS = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
}

interface Reference {
  readonly title: string
  readonly page: `/${string}`
  readonly document: `/${string}`
  /** The name of the file with the document. */
  readonly file: string
}

const core: Reference = { title: "Core API", page: "/docs/core", document: "/openapi.json", file: "core" }
const references: ReadonlyArray<Reference> = [
  core,
  { title: "Platform API", page: "/docs/platform", document: "/openapi/platform.json", file: "platform" },
  { title: "Webhooks", page: "/docs/webhooks", document: "/openapi/webhooks.json", file: "webhooks" },
]

const links = references
  .map(
    ({ document, page, title }) =>
      `<span><a href="${page}">${title}</a> <small><a href="${document}">json</a></small></span>`,
  )
  .join("\n  ")

const pageOf = ({ document, title }: Reference): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Keyshelf ${title}</title>
<link rel="icon" href="data:,">
<style>
  body { margin: 0; }
  nav { display: flex; flex-wrap: wrap; gap: 0 1.5rem; align-items: baseline; padding: .75rem 1.25rem; border-bottom: 1px solid #8884;
    font: 15px/1.4 system-ui, sans-serif; }
  nav b { margin-right: 1rem; } nav a { color: inherit; } nav small a { opacity: .7; }
</style>
</head>
<body>
<nav>
  <b>Keyshelf</b>
  ${links}
</nav>
<div id="reference" data-document="${document}"></div>
<script src="/docs/viewer.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`

// The viewer's own fonts, telemetry, request proxy and cloud functions are off, because they use other hosts.
const START = `"use strict"
const reference = document.getElementById("reference")
window.Scalar.createApiReference(reference, {
  url: reference.dataset.document,
  withDefaultFonts: false,
  telemetry: false,
  proxyUrl: "",
  hideClientButton: true,
  showDeveloperTools: "never",
  agent: { disabled: true },
  mcp: { disabled: true },
})
`

/** A script with its entity tag. Browsers revalidate it on each visit, so that a new version applies at once. */
const script = (text: string) => ({
  text,
  tag: `"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`,
})
type Script = ReturnType<typeof script>

const respondWith = ({ tag, text }: Script) =>
  Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) => {
    const shared = { ...HEADERS, etag: tag, "cache-control": "no-cache" }
    const isCached = (headers["if-none-match"] ?? "").split(",").some((sent) => sent.trim().replace(/^W\//, "") === tag)
    return isCached
      ? HttpServerResponse.empty({ status: 304, headers: shared })
      : HttpServerResponse.text(text, { contentType: "text/javascript; charset=utf-8", headers: shared })
  })

const OPEN = "<script>"
const CLOSE = "</script>"

// Effect contains the viewer, but exports it only within a page. Its script is the page's first.
const loadViewer = async (): Promise<Script> => {
  const { dispose, handler } = HttpRouter.toWebHandler(
    HttpApiScalar.layer(HttpApi.make("viewer"), { path: "/viewer" }),
    { disableLogger: true },
  )
  const html = await (await handler(new Request("http://docs/viewer"))).text()
  await dispose()
  const start = html.indexOf(OPEN) + OPEN.length
  return script(html.slice(start, html.indexOf(CLOSE, start)))
}

let viewerScript: Promise<Script> | undefined

// The viewer has several megabytes, so it is loaded on the first visit and not at startup.
const viewer = Effect.suspend(() => {
  viewerScript ??= loadViewer()
  const loading = viewerScript
  return Effect.flatMap(
    Effect.promise(() => loading),
    respondWith,
  )
})
const document = ({ file }: Reference) => {
  const url = packageFile(`openapi/${file}.json`)
  return Effect.map(
    Effect.promise(() => readFile(url, "utf8")),
    (text) => HttpServerResponse.text(text, { contentType: "application/json" }),
  )
}

const html = (reference: Reference) =>
  HttpServerResponse.html(pageOf(reference)).pipe(HttpServerResponse.setHeaders(HEADERS))

/** Routes of the OpenAPI documents and their viewer. */
export const layer = Layer.mergeAll(
  HttpRouter.add("GET", "/docs", html(core)),
  HttpRouter.add("GET", "/docs/viewer.js", viewer),
  HttpRouter.add(
    "GET",
    "/docs/start.js",
    Effect.suspend(() => respondWith(script(START))),
  ),
  MethodNotAllowed.readOnly("/docs", "/docs/viewer.js", "/docs/start.js"),
  ...references.flatMap((reference) => [
    HttpRouter.add("GET", reference.page, html(reference)),
    HttpRouter.add("GET", reference.document, document(reference)),
    MethodNotAllowed.readOnly(reference.page, reference.document),
  ]),
)
