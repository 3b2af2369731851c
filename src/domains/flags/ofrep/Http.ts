/** Handlers of OFREP evaluations. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import * as Apis from "../../../kernel/contract/Apis.ts"
import { asPublished } from "../../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../../kernel/contract/Handlers.ts"
import { etagOf, isFresh } from "../Etag.ts"
import { OfrepApi } from "./Api.ts"
import { contextIn } from "./Model.ts"
import type { Context, Evaluation, RefusedRequest } from "./Model.ts"
import { Evaluations } from "./Service.ts"

const mediaTypeOf = (contentType = "application/json"): string => (contentType.split(";")[0] ?? "").trim().toLowerCase()

const refusal = (body: RefusedRequest & { readonly key?: string }) =>
  asPublished(HttpServerResponse.jsonUnsafe(body, { status: 400 }))

const answer = (evaluation: Evaluation) => {
  if (!("errorCode" in evaluation)) return HttpServerResponse.jsonUnsafe(evaluation)
  const status = evaluation.errorCode === "FLAG_NOT_FOUND" ? 404 : 400
  return asPublished(HttpServerResponse.jsonUnsafe(evaluation, { status }))
}

// What is no request of OFREP is refused with OFREP's own bodies, so these endpoints read the body themselves.
const withContext = <E, R>(
  request: HttpServerRequest.HttpServerRequest,
  refused: (failure: RefusedRequest) => HttpServerResponse.HttpServerResponse,
  evaluated: (context: Context) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
) =>
  mediaTypeOf(request.headers["content-type"]) === "application/json"
    ? Effect.flatMap(Effect.orDie(request.text), (text) => {
        const found = contextIn(text)
        return found._tag === "Context" ? evaluated(found.context) : Effect.succeed(refused(found.failure))
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
          (failure) => refusal({ key: params.key, ...failure }),
          (context) => Effect.map(evaluations.one(params.key, context), answer),
        ),
      )
      .handleRaw("evaluateAll", ({ headers, request }) =>
        withContext(request, refusal, (context) =>
          Effect.map(evaluations.all(context), (all) => {
            const body = JSON.stringify(all)
            const etag = etagOf(body)
            return isFresh(etag, headers["if-none-match"])
              ? HttpServerResponse.empty({ status: 304, headers: { etag } })
              : HttpServerResponse.text(body, { contentType: "application/json", headers: { etag } })
          }),
        ),
      )
  }),
)
