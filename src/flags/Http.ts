/** HTTP handlers for feature flags, the manifest and OFREP evaluation. */
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
          // Serialized here, because the ETag must match the exact text sent.
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

const badRequest = (body: RefusedRequest & { readonly key?: string }) =>
  asPublished(HttpServerResponse.jsonUnsafe(body, { status: 400 }))

const toResponse = (evaluation: Evaluation) => {
  if (!("errorCode" in evaluation)) return HttpServerResponse.jsonUnsafe(evaluation)
  const status = evaluation.errorCode === "FLAG_NOT_FOUND" ? 404 : 400
  return asPublished(HttpServerResponse.jsonUnsafe(evaluation, { status }))
}

// Reads and parses the body without the API's schema, because an invalid OFREP request gets an OFREP error body.
const withContext = <E, R>(
  request: HttpServerRequest.HttpServerRequest,
  onInvalid: (failure: RefusedRequest) => HttpServerResponse.HttpServerResponse,
  onContext: (context: Context) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
) =>
  mediaTypeOf(request.headers["content-type"]) === "application/json"
    ? Effect.flatMap(Effect.orDie(request.text), (text) => {
        const parsed = contextIn(text)
        return parsed._tag === "Context" ? onContext(parsed.context) : Effect.succeed(onInvalid(parsed.failure))
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
          (failure) => badRequest({ key: params.key, ...failure }),
          (context) => Effect.map(evaluations.one(params.key, context), toResponse),
        ),
      )
      .handleRaw("evaluateAll", ({ headers, request }) =>
        withContext(request, badRequest, (context) =>
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
