/** Handlers of feature flags, their manifest and their evaluation. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import { HttpApiSchema } from "effect/http-api"
import { CoreApi } from "../CoreApi.ts"
import { asPublished, created } from "../kernel/Endpoint.ts"
import { handlersOf } from "../kernel/Handlers.ts"
import { etagOf, isFresh } from "./Etag.ts"
import { Evaluations } from "./Evaluations.ts"
import { contextIn } from "./OfrepModel.ts"
import type { Context, Evaluation, RefusedRequest } from "./OfrepModel.ts"
import { FeatureFlags } from "./Service.ts"

export const featureFlags = handlersOf(
  CoreApi,
  "featureFlags",
  Effect.fn(function* (handlers) {
    const flags = yield* FeatureFlags
    return handlers.handleAll({
      list: ({ query }) => flags.list(query),
      create: ({ payload }) =>
        Effect.map(flags.create(payload), (flag) => created(`/api/feature-flags/${flag.key}`, flag)),
      get: ({ params }) => flags.get(params.key),
      update: ({ params, payload }) => flags.update(params.key, payload),
      delete: ({ params }) => flags.delete(params.key),
      manifest: ({ headers }) =>
        Effect.map(flags.manifest(), (manifest) => {
          // Its text is sent as it is tagged.
          const text = JSON.stringify(manifest)
          const etag = etagOf(text)
          return isFresh(etag, headers["if-none-match"])
            ? HttpApiSchema.withHeaders({ body: undefined, headers: { etag } })
            : HttpServerResponse.text(text, {
                contentType: "application/json",
                headers: { etag, "x-manifest-capabilities": "read" },
              })
        }),
    })
  }),
)

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
  CoreApi,
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
