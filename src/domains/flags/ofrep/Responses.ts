/** HTTP responses of OFREP, which the service and edges send. */
import { Effect, Redacted } from "effect"
import { HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import { asForeignError } from "../../../kernel/contract/Endpoint.ts"
import { etagOf, matchesEtag } from "../../../kernel/values/EntityTag.ts"
import { eventStreamOf, parseContext } from "./Model.ts"
import type { BulkEvaluation, Context, Evaluation, RequestError } from "./Model.ts"

const mediaTypeOf = (contentType = "application/json"): string => (contentType.split(";")[0] ?? "").trim().toLowerCase()

/** The response to a request that OFREP does not allow. */
export const badRequest = (body: RequestError & { readonly key?: string }) =>
  asForeignError(HttpServerResponse.jsonUnsafe(body, { status: 400 }))

/** The response to the evaluation of a flag. */
export const evaluationResponse = (evaluation: Evaluation) => {
  if (!("errorCode" in evaluation)) return HttpServerResponse.jsonUnsafe(evaluation)
  const status = evaluation.errorCode === "FLAG_NOT_FOUND" ? 404 : 400
  return asForeignError(HttpServerResponse.jsonUnsafe(evaluation, { status }))
}

/** Reads and parses the body without the API's schema, because an invalid OFREP request gets an OFREP error body. */
export const withContext = <E, R>(
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

interface BulkHeaders {
  readonly "if-none-match"?: string | undefined
  readonly "idempotency-key"?: string | undefined
}

/** The response to an evaluation of all flags. Its stream is not part of the `ETag`, because every ticket is new. */
export const bulkResponse = Effect.fnUntraced(function* <E, R>(
  all: BulkEvaluation,
  { "idempotency-key": key, "if-none-match": sent }: BulkHeaders,
  issueTicket: Effect.Effect<Redacted.Redacted, E, R>,
) {
  const etag = etagOf(JSON.stringify(all))
  if (matchesEtag(etag, sent)) return HttpServerResponse.empty({ status: 304, headers: { etag } })
  // A stored response is replayed from the database, which must not have a ticket.
  const body = key === undefined ? { ...all, eventStreams: [eventStreamOf(Redacted.value(yield* issueTicket))] } : all
  return HttpServerResponse.text(JSON.stringify(body), { contentType: "application/json", headers: { etag } })
})
