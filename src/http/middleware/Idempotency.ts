/**
 * Implements `Idempotency-Key`: a POST that is retried within 24 hours gets the stored response (contract, section 2).
 * The response commits in the transaction of the change, so that neither can be stored without the other.
 */
import { Duration, Effect, Layer, Option, Predicate } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"
import { IdempotencyRepo } from "../../domains/idempotency/Repo.ts"
import type { StoredResponse } from "../../domains/idempotency/Repo.ts"
import { RequestOwner } from "../../kernel/contract/Caller.ts"
import {
  annotationOf,
  ReturnsSecret,
  Idempotency,
  CallsThirdParty,
  RunsInPieces,
} from "../../kernel/contract/Endpoint.ts"
import { CurrentDryRun } from "../../kernel/contract/dryruns/DryRun.ts"
import { IdempotencyKeyInFlight, IdempotencyKeyReused, SecretNotReplayable } from "../../kernel/contract/Problem.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { textOf } from "./ProblemResponses.ts"

const RETENTION = Duration.hours(24)

const KEY = /^[\x21-\x7e]{1,255}$/

const hashOf = (method: string, url: string, body: string): Uint8Array =>
  createHash("sha256").update(method).update("\n").update(url).update("\n").update(body).digest()

/**
 * What a key is bound to: method, path, query and body. `url` has neither scheme nor host, also if the request target
 * has the absolute form, so a retry through another address or node is the same request. Nodes of earlier releases
 * compare `originalUrl`, which has both.
 */
const fingerprintsOf = ({ method, originalUrl, url }: HttpServerRequest.HttpServerRequest, body: string) => ({
  withHost: hashOf(method, originalUrl, body),
  withoutHost: hashOf(method, url, body),
})

type Fingerprints = ReturnType<typeof fingerprintsOf>

// Covers the fingerprint of the row too: a node of an earlier release that replaces an expired row replaces only that one.
const targetFingerprintOf = (fingerprint: Uint8Array, { withoutHost }: Fingerprints): Uint8Array =>
  createHash("sha256").update(fingerprint).update(withoutHost).digest()

// The path alone is unknown if an earlier release stored the response. A retry through another address is then rejected,
// because it must not run again.
const isSameRequest = ({ fingerprint, targetFingerprint }: StoredResponse, request: Fingerprints): boolean =>
  Buffer.compare(fingerprint, request.withHost) === 0 ||
  (targetFingerprint !== null && Buffer.compare(targetFingerprint, targetFingerprintOf(fingerprint, request)) === 0)

const replay = (storedResponse: StoredResponse): HttpServerResponse.HttpServerResponse => {
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
    const responses = yield* IdempotencyRepo
    const transactions = yield* Transactions

    const runOnce = Effect.fnUntraced(function* <E, R>(
      key: string,
      handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
      returnsSecret: boolean,
    ) {
      const request = yield* HttpServerRequest.HttpServerRequest
      const owner = yield* RequestOwner
      const fingerprints = fingerprintsOf(request, yield* Effect.orDie(request.text))
      const at = yield* now
      // The request that holds the lock runs. PostgreSQL releases the lock with the transaction, even after a crash.
      const name = { callerId: owner.credentialId, key }
      if (!(yield* responses.tryLock(name))) {
        return yield* new IdempotencyKeyInFlight({
          detail: "The first request with this key is still in progress. Try again shortly.",
        })
      }
      const stored = yield* responses.find(name, at)
      if (Option.isSome(stored)) {
        const storedResponse = stored.value
        if (!isSameRequest(storedResponse, fingerprints)) {
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
        yield* responses.store(
          name,
          owner.organizationId,
          {
            fingerprint: fingerprints.withHost,
            targetFingerprint: targetFingerprintOf(fingerprints.withHost, fingerprints),
            status: response.status,
            location: response.headers["location"] ?? null,
            body: returnsSecret ? null : body,
            secretSlug: returnsSecret ? (nameOf(body) ?? "") : null,
          },
          new Date(at.getTime() + Duration.toMillis(RETENTION)),
        )
      }
      return response
    })

    return Idempotency.of((handler, { endpoint }) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
        const key = request.headers["idempotency-key"]
        // Passes a malformed key to the handler, whose header schema rejects it with its location.
        if (key === undefined || !KEY.test(key)) return handler
        if (annotationOf(endpoint, CallsThirdParty) === true) return handler
        if (annotationOf(endpoint, RunsInPieces) === true) return handler
        return Effect.flatMap(CurrentDryRun, (events) =>
          // A dry run stores nothing, so its key stays free for the real request.
          events !== undefined
            ? handler
            : transactions.run(runOnce(storedKey(key), handler, annotationOf(endpoint, ReturnsSecret) === true)),
        )
      }),
    )
  }),
)
