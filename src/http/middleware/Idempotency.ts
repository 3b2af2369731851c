/**
 * `Idempotency-Key`: a POST that is sent again within 24 hours gets the first answer (contract, section 2). The answer
 * commits in the transaction of the change, so a key can never be kept without its change or the change without it.
 */
import { Duration, Effect, Layer, Option, Predicate } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"
import { IdempotencyRepo } from "../../domains/idempotency/Repo.ts"
import type { StoredAnswer } from "../../domains/idempotency/Repo.ts"
import { RequestOwner } from "../../kernel/contract/Caller.ts"
import { annotationOf, AnswersSecret, Idempotency, WaitsForOthers } from "../../kernel/contract/Endpoint.ts"
import { IdempotencyKeyInFlight, IdempotencyKeyReused, SecretNotReplayable } from "../../kernel/contract/Problem.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { textOf } from "./ProblemResponses.ts"

const KEPT = Duration.hours(24)

const KEY = /^[\x21-\x7e]{1,255}$/

const fingerprintOf = (method: string, url: string, body: string): Uint8Array =>
  createHash("sha256").update(method).update("\n").update(url).update("\n").update(body).digest()

const replay = (answer: StoredAnswer): HttpServerResponse.HttpServerResponse => {
  const headers = {
    "idempotent-replayed": "true",
    ...(answer.location === null ? {} : { location: answer.location }),
  }
  return answer.body === null
    ? HttpServerResponse.empty({ status: answer.status, headers })
    : HttpServerResponse.text(answer.body, { status: answer.status, headers, contentType: "application/json" })
}

// What the answer made: its slug, or its id where it has none.
const nameOf = (body: string | null): string | null => {
  const document: unknown = body === null ? null : JSON.parse(body)
  if (Predicate.hasProperty(document, "slug") && Predicate.isString(document.slug)) return document.slug
  return Predicate.hasProperty(document, "id") && Predicate.isString(document.id) ? document.id : null
}

// Callers choose their keys, and some choose a secret: a key is stored as its hash.
const storedKey = (key: string): string => createHash("sha256").update(key).digest("base64url")

/** The middleware of every POST. Without the header it does nothing. */
export const layer = Layer.effect(
  Idempotency,
  Effect.gen(function* () {
    const answers = yield* IdempotencyRepo
    const transactions = yield* Transactions

    const underKey = Effect.fnUntraced(function* <E, R>(
      key: string,
      handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
      answersSecret: boolean,
    ) {
      const request = yield* HttpServerRequest.HttpServerRequest
      const owner = yield* RequestOwner
      const fingerprint = fingerprintOf(request.method, request.originalUrl, yield* Effect.orDie(request.text))
      const at = yield* now
      const name = { callerId: owner.credentialId, key }
      // The transaction that holds the lock runs the first request.
      if (!(yield* answers.tryLock(name))) {
        return yield* new IdempotencyKeyInFlight({
          detail: "The first request with this key has not ended. Try again shortly.",
        })
      }
      const stored = yield* answers.find(name, at)
      if (Option.isSome(stored)) {
        const answer = stored.value
        if (Buffer.compare(answer.fingerprint, fingerprint) !== 0) {
          return yield* new IdempotencyKeyReused({
            detail: "This key was sent before with another request. Use a fresh key.",
          })
        }
        if (answer.secretSlug !== null) {
          return yield* new SecretNotReplayable({
            detail: `The first request created "${answer.secretSlug}". Its secret was shown once and is not kept; revoke it and create another if it was lost.`,
          })
        }
        return replay(answer)
      }
      const response = yield* handler
      if (response.status >= 200 && response.status < 300) {
        const body = textOf(response) ?? null
        yield* answers.store(
          name,
          owner.organizationId,
          {
            fingerprint,
            status: response.status,
            location: response.headers["location"] ?? null,
            body: answersSecret ? null : body,
            secretSlug: answersSecret ? (nameOf(body) ?? "") : null,
          },
          new Date(at.getTime() + Duration.toMillis(KEPT)),
        )
      }
      return response
    })

    return Idempotency.of((handler, { endpoint }) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
        const key = request.headers["idempotency-key"]
        // A malformed key goes on to the handler, whose header schema refuses it with its place.
        if (key === undefined || !KEY.test(key)) return handler
        if (annotationOf(endpoint, WaitsForOthers) === true) return handler
        return transactions.run(underKey(storedKey(key), handler, annotationOf(endpoint, AnswersSecret) === true))
      }),
    )
  }),
)
