/** HTTP handlers for OFREP evaluation. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import * as Apis from "../../../kernel/contract/Apis.ts"
import { asForeignError } from "../../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../../kernel/contract/Handlers.ts"
import { etagOf, matchesEtag } from "../../../kernel/values/EntityTag.ts"
import { OfrepApi } from "./Api.ts"
import { parseContext } from "./Model.ts"
import type { Context, Evaluation, RequestError } from "./Model.ts"
import { Evaluations } from "./Service.ts"

const mediaTypeOf = (contentType = "application/json"): string => (contentType.split(";")[0] ?? "").trim().toLowerCase()

const badRequest = (body: RequestError & { readonly key?: string }) =>
  asForeignError(HttpServerResponse.jsonUnsafe(body, { status: 400 }))

const toResponse = (evaluation: Evaluation) => {
  if (!("errorCode" in evaluation)) return HttpServerResponse.jsonUnsafe(evaluation)
  const status = evaluation.errorCode === "FLAG_NOT_FOUND" ? 404 : 400
  return asForeignError(HttpServerResponse.jsonUnsafe(evaluation, { status }))
}

// Reads and parses the body without the API's schema, because an invalid OFREP request gets an OFREP error body.
const withContext = <E, R>(
  request: HttpServerRequest.HttpServerRequest,
  onInvalid: (failure: RequestError) => HttpServerResponse.HttpServerResponse,
  onContext: (context: Context) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
) =>
  mediaTypeOf(request.headers["content-type"]) === "application/json"
    ? Effect.flatMap(Effect.orDie(request.text), (text) => {
        const parsed = parseContext(text)
        return parsed._tag === "Context" ? onContext(parsed.context) : Effect.succeed(onInvalid(parsed.failure))
      })
    : Effect.succeed(HttpServerResponse.empty({ status: 415 }))

export const ofrep = handlersOf(
  Apis.core(OfrepApi),
  "ofrep",
  Effect.fn(function* (handlers) {
    const evaluations = yield* Evaluations
    return handlers
      .handleRaw("evaluate", ({ params, request }) =>
        withContext(
          request,
          (failure) => badRequest({ key: params.key, ...failure }),
          (context) => Effect.map(evaluations.evaluate(params.key, context), toResponse),
        ),
      )
      .handleRaw("evaluateAll", ({ headers, request }) =>
        withContext(request, badRequest, (context) =>
          Effect.map(evaluations.all(context), (all) => {
            const body = JSON.stringify(all)
            const etag = etagOf(body)
            return matchesEtag(etag, headers["if-none-match"])
              ? HttpServerResponse.empty({ status: 304, headers: { etag } })
              : HttpServerResponse.text(body, { contentType: "application/json", headers: { etag } })
          }),
        ),
      )
  }),
)
