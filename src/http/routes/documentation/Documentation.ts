/**
 * Serves `/docs` and the OpenAPI documents. The pages load nothing from another host and contain no script, which their
 * content security policy enforces. The policy also blocks requests to another listener. So each listener serves the
 * pages, and its own API can be tried out there.
 */
import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import * as MethodNotAllowed from "../../middleware/MethodNotAllowed.ts"
import * as Asset from "../Asset.ts"
import { SEARCH, START } from "./BrowserScripts.ts"
import { guide, searchIndex } from "./Guides.ts"
import { STRICT_POLICY } from "./Layout.ts"
import { catalogSchema, documentOf, pageOf, references, viewer } from "./References.ts"
import type { ReferenceName } from "./References.ts"
import { STYLE_SHEET } from "./StyleSheet.ts"

type Handler = Effect.Effect<HttpServerResponse.HttpServerResponse, never, HttpServerRequest.HttpServerRequest>

const script = (text: string) => Asset.make(text, "text/javascript; charset=utf-8", STRICT_POLICY)

/** Files that do not differ between listeners. */
const shared: ReadonlyArray<readonly [`/${string}`, Handler]> = [
  ["/docs/viewer.js", Effect.flatMap(viewer, Asset.respond)],
  ["/docs/start.js", Asset.respond(script(START))],
  ["/docs/search.js", Asset.respond(script(SEARCH))],
  ["/docs/style.css", Asset.respond(Asset.make(STYLE_SHEET, "text/css; charset=utf-8", STRICT_POLICY))],
  ["/docs/search.json", searchIndex],
  // The router adds `/docs/pages` itself.
  ["/docs/pages/*", guide],
  ["/openapi/catalog.json", Effect.flatMap(catalogSchema, Asset.respond)],
  ...references.map((reference) => [reference.document, Effect.flatMap(documentOf(reference), Asset.respond)] as const),
]

/** Routes of the documentation for a listener that serves these APIs. The page `/docs` shows the first. */
export const layer = (home: ReferenceName, ...others: ReadonlyArray<ReferenceName>) => {
  const served = [home, ...others]
  const pages = references.flatMap((reference) => {
    const isServed = served.includes(reference.name)
    const paths: ReadonlyArray<`/${string}`> = reference.name === home ? ["/docs", reference.page] : [reference.page]
    return paths.map((path) => [path, Asset.respond(pageOf(reference, path, isServed))] as const)
  })
  const routes = [...shared, ...pages]
  return Layer.mergeAll(
    MethodNotAllowed.readOnly(...routes.map(([path]) => path)),
    ...routes.map(([path, handler]) => HttpRouter.add("GET", path, handler)),
  )
}
