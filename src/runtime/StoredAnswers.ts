/**
 * Implements `Idempotency-Key`: a POST that is retried within 24 hours gets the stored response (contract, section 2).
 * The response commits in the transaction of the change, so that neither can be stored without the other.
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

const RETENTION = Duration.hours(24)
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

const replay = (storedResponse: StoredAnswer): HttpServerResponse.HttpServerResponse => {
  const headers = {
    "idempotent-replayed": "true",
    ...(storedResponse.location === null ? {} : { location: storedResponse.location }),
  }
  return storedResponse.body === null
    ? HttpServerResponse.empty({ status: storedResponse.status, headers })
    : HttpServerResponse.text(storedResponse.body, {
        status: storedResponse.status,
        headers,
        contentType: "application/json",
      })
}

// Returns the slug of the created resource, or its id if it has no slug.
const nameOf = (body: string | null): string | null => {
  const document: unknown = body === null ? null : JSON.parse(body)
  if (Predicate.hasProperty(document, "slug") && Predicate.isString(document.slug)) return document.slug
  return Predicate.hasProperty(document, "id") && Predicate.isString(document.id) ? document.id : null
}

// Stores a hash of the key, because some callers use a secret as their key.
const storedKey = (key: string): string => createHash("sha256").update(key).digest("base64url")

/** Middleware of every POST. Without the header it does nothing. */
export const layer = Layer.effect(
  Idempotency,
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const transactions = yield* Transactions
    const findStored = decodedOne(StoredAnswer)

    const runOnce = Effect.fnUntraced(function* <E, R>(
      key: string,
      handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
      returnsSecret: boolean,
    ) {
      const request = yield* HttpServerRequest.HttpServerRequest
      const owner = yield* RequestOwner
      const fingerprint = fingerprintOf(request.method, request.originalUrl, yield* Effect.orDie(request.text))
      const at = yield* now
      // The request that holds the lock runs. PostgreSQL releases the lock with the transaction, even after a crash.
      const [lock] = yield* Effect.orDie(sql<{ free: boolean }>`
        SELECT pg_try_advisory_xact_lock(hashtextextended(${`${owner.credentialId}:${key}`}, 1)) AS free`)
      if (lock?.free !== true) {
        return yield* new IdempotencyKeyInFlight({
          detail: "The first request with this key is still in progress. Try again shortly.",
        })
      }
      const stored = yield* findStored(sql`
        SELECT fingerprint, status, location, body, secret_slug AS "secretSlug" FROM idempotency_keys
        WHERE caller_id = ${owner.credentialId} AND key = ${key} AND expires_at > ${at}`)
      if (Option.isSome(stored)) {
        const storedResponse = stored.value
        if (Buffer.compare(storedResponse.fingerprint, fingerprint) !== 0) {
          return yield* new IdempotencyKeyReused({
            detail: "This key was already used with a different request. Use a new key.",
          })
        }
        if (storedResponse.secretSlug !== null) {
          return yield* new SecretNotReplayable({
            detail: `The first request created "${storedResponse.secretSlug}". Its secret was returned once and is not stored. If you lost it, revoke it and create a new one.`,
          })
        }
        return replay(storedResponse)
      }
      const response = yield* handler
      if (response.status >= 200 && response.status < 300) {
        const body = textOf(response) ?? null
        yield* Effect.orDie(sql`
          INSERT INTO idempotency_keys (caller_id, key, organization_id, fingerprint, status, location, body, secret_slug,
            expires_at)
          VALUES (${owner.credentialId}, ${key}, ${owner.organizationId}, ${fingerprint}, ${response.status},
            ${response.headers["location"] ?? null}, ${returnsSecret ? null : body},
            ${returnsSecret ? (nameOf(body) ?? "") : null}, ${new Date(at.getTime() + Duration.toMillis(RETENTION))})
          ON CONFLICT (caller_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, status = excluded.status,
            location = excluded.location, body = excluded.body, secret_slug = excluded.secret_slug,
            expires_at = excluded.expires_at`)
      }
      return response
    })

    return Idempotency.of((handler, { endpoint }) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
        const key = request.headers["idempotency-key"]
        // Passes a malformed key to the handler, whose header schema rejects it with its location.
        if (key === undefined || !KEY.test(key)) return handler
        if (annotationOf(endpoint, WaitsForOthers) === true) return handler
        return transactions.run(runOnce(storedKey(key), handler, annotationOf(endpoint, AnswersSecret) === true))
      }),
    )
  }),
)
