/** Redirects people who open the bare address of a listener: to the console, or without one to the documentation. */
import { Effect, Option } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { CurrentConsoleFiles } from "./console/ConsoleFiles.ts"

/** The route `/`. Programs get the problem document of an unknown path. */
export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const files = yield* CurrentConsoleFiles
    // Relative, so that a proxy may add a path before it.
    const location = Option.isSome(files) ? "console" : "docs"
    yield* router.add("GET", "/", ({ headers }) =>
      Effect.succeed(
        /\btext\/html\b/i.test(headers["accept"] ?? "")
          ? HttpServerResponse.empty({ status: 303, headers: { location } })
          : HttpServerResponse.empty({ status: 404 }),
      ),
    )
  }),
)
