/** Serves `/docs` and the OpenAPI documents on the core listener. Loads nothing from the internet. */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiScalar } from "effect/http-api"
import type { HttpApi, HttpApiGroup } from "effect/http-api"
import { readFile } from "node:fs/promises"
import { CoreApi } from "../../api/CoreApi.ts"
import { withDocumentation } from "../../openapi/Documented.ts"
import { PlatformApi } from "../../api/PlatformApi.ts"
import { WebhookApi } from "../../api/WebhookApi.ts"
import { packageFile } from "../../infra/PackageFiles.ts"
import * as MethodNotAllowed from "../middleware/MethodNotAllowed.ts"

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Keyshelf API</title>
<style>
  html, body { margin: 0; height: 100%; font: 15px/1.4 system-ui, sans-serif; }
  body { display: flex; flex-direction: column; }
  nav { display: flex; gap: 1.5rem; align-items: baseline; padding: .75rem 1.25rem; border-bottom: 1px solid #8884; }
  nav b { margin-right: 1rem; } nav a { color: inherit; } nav small a { opacity: .7; }
  iframe { flex: 1; border: 0; }
</style>
</head>
<body>
<nav>
  <b>Keyshelf</b>
  <span><a href="/docs/core" target="reference">Core API</a> <small><a href="/openapi.json">json</a></small></span>
  <span><a href="/docs/platform" target="reference">Platform API</a> <small><a href="/openapi/platform.json">json</a></small></span>
  <span><a href="/docs/webhooks" target="reference">Webhooks</a> <small><a href="/openapi/webhooks.json">json</a></small></span>
</nav>
<iframe name="reference" src="/docs/core" title="API reference"></iframe>
</body>
</html>
`

// The reference viewer is a script of several megabytes, so it is loaded on the first visit and not at startup.
const viewer = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  path: `/${string}`,
) => {
  let handler: ((request: Request) => Promise<Response>) | undefined
  return Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    handler ??= HttpRouter.toWebHandler(HttpApiScalar.layer(withDocumentation(api), { path }), {
      disableLogger: true,
    }).handler
    const render = handler
    const html = yield* Effect.promise(async () => (await render(new Request(`http://docs${path}`))).text())
    return HttpServerResponse.text(request.method === "HEAD" ? "" : html, { contentType: "text/html; charset=utf-8" })
  })
}

const document = (name: string) => {
  const file = packageFile(`openapi/${name}.json`)
  return Effect.map(
    Effect.promise(() => readFile(file, "utf8")),
    (text) => HttpServerResponse.text(text, { contentType: "application/json" }),
  )
}

/** Routes of the OpenAPI documents and their viewer. */
export const layer = Layer.mergeAll(
  HttpRouter.add("GET", "/docs", HttpServerResponse.html(page)),
  HttpRouter.add("GET", "/docs/core", viewer(CoreApi, "/docs/core")),
  HttpRouter.add("GET", "/docs/platform", viewer(PlatformApi, "/docs/platform")),
  HttpRouter.add("GET", "/docs/webhooks", viewer(WebhookApi, "/docs/webhooks")),
  HttpRouter.add("GET", "/openapi.json", document("core")),
  HttpRouter.add("GET", "/openapi/platform.json", document("platform")),
  HttpRouter.add("GET", "/openapi/webhooks.json", document("webhooks")),
  MethodNotAllowed.readOnly("/docs", "/docs/core", "/docs/platform", "/docs/webhooks"),
  MethodNotAllowed.readOnly("/openapi.json", "/openapi/platform.json", "/openapi/webhooks.json"),
)
