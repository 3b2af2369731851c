/**
 * `Idempotency-Key`: a POST that is sent again within 24 hours gets the first answer (contract, section 2). The answer
 * commits in the transaction of the change, so a key can never be kept without its change or the change without it.
 */
import { PgClient } from "@effect/sql-pg"
import { Duration, Effect, Layer, Option, Predicate, Schema } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"
import { RequestOwner } from "../kernel/Caller.ts"
import { annotationOf, AnswersSecret, Idempotency, WaitsForOthers } from "../kernel/Endpoint.ts"
import { IdempotencyKeyInFlight, IdempotencyKeyReused, SecretNotReplayable } from "../kernel/Problem.ts"
import { decodedOne } from "../kernel/Sql.ts"
import { now } from "../kernel/Timestamp.ts"
import { Transactions } from "../kernel/Transaction.ts"
import { textOf } from "./ProblemFallback.ts"

const KEPT = Duration.hours(24)
const KEY = /^[\x21-\x7e]{1,255}$/

const StoredAnswer = Schema.Struct({
  fingerprint: Schema.Uint8Array,
  status: Schema.Int,
  location: Schema.NullOr(Schema.String),
  body: Schema.NullOr(Schema.String),
  secretSlug: Schema.NullOr(Schema.String),
})
type StoredAnswer = typeof StoredAnswer.Type

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
    const sql = yield* PgClient.PgClient
    const transactions = yield* Transactions
    const storedAnswer = decodedOne(StoredAnswer)

    const underKey = Effect.fnUntraced(function* <E, R>(
      key: string,
      handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
      answersSecret: boolean,
    ) {
      const request = yield* HttpServerRequest.HttpServerRequest
      const owner = yield* RequestOwner
      const fingerprint = fingerprintOf(request.method, request.originalUrl, yield* Effect.orDie(request.text))
      const at = yield* now
      // Whoever holds the lock runs the request now; it ends with the transaction, also after a crash.
      const [lock] = yield* Effect.orDie(sql<{ free: boolean }>`
        SELECT pg_try_advisory_xact_lock(hashtextextended(${`${owner.credentialId}:${key}`}, 1)) AS free`)
      if (lock?.free !== true) {
        return yield* new IdempotencyKeyInFlight({
          detail: "The first request with this key has not ended. Try again shortly.",
        })
      }
      const stored = yield* storedAnswer(sql`
        SELECT fingerprint, status, location, body, secret_slug AS "secretSlug" FROM idempotency_keys
        WHERE caller_id = ${owner.credentialId} AND key = ${key} AND expires_at > ${at}`)
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
        yield* Effect.orDie(sql`
          INSERT INTO idempotency_keys (caller_id, key, organization_id, fingerprint, status, location, body, secret_slug,
            expires_at)
          VALUES (${owner.credentialId}, ${key}, ${owner.organizationId}, ${fingerprint}, ${response.status},
            ${response.headers["location"] ?? null}, ${answersSecret ? null : body},
            ${answersSecret ? (nameOf(body) ?? "") : null}, ${new Date(at.getTime() + Duration.toMillis(KEPT))})
          ON CONFLICT (caller_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, status = excluded.status,
            location = excluded.location, body = excluded.body, secret_slug = excluded.secret_slug,
            expires_at = excluded.expires_at`)
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
