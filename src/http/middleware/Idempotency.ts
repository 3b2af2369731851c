/**
 * Implements `Idempotency-Key`: a POST that is retried within 24 hours gets the stored response. The response commits
 * in the transaction of the change, so that neither can be stored without the other.
 */
import { Duration, Effect, Exit, Layer, Option, Predicate } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"
import { IdempotencyRepo } from "../../domains/idempotency/Repo.ts"
import type { ResponseKey, StoredResponse } from "../../domains/idempotency/Repo.ts"
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
import { canonicalJson } from "../../kernel/values/CanonicalJson.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { textOf } from "./ProblemResponses.ts"

const RETENTION = Duration.hours(24)

/** How long a request that works in several transactions holds its key at most: longer than any request may take. */
const MAX_CLAIM = Duration.seconds(90)

/** The status of a row that is not a response yet, but the claim of a request in flight. */
const CLAIMED = 0

const KEY = /^[\x21-\x7e]{1,255}$/

/**
 * What a key is bound to: method, path, query and the value of the body, because a retry by another process or SDK writes the same
 * JSON differently. `url` has neither scheme nor host, also if the request target has the absolute form, so a retry through another
 * address or node is the same request.
 */
const fingerprintOf = ({ method, url }: HttpServerRequest.HttpServerRequest, body: string): Uint8Array =>
  createHash("sha256").update(method).update("\n").update(url).update("\n").update(canonicalJson(body)).digest()

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

const isSuccess = ({ status }: HttpServerResponse.HttpServerResponse): boolean => status >= 200 && status < 300

/** A response as it is stored. */
const storedForm = (response: HttpServerResponse.HttpServerResponse, returnsSecret: boolean) => {
  const body = textOf(response) ?? null
  return {
    status: response.status,
    location: response.headers["location"] ?? null,
    body: returnsSecret ? null : body,
    secretSlug: returnsSecret ? (nameOf(body) ?? "") : null,
  }
}

const inFlight = () =>
  new IdempotencyKeyInFlight({
    detail: "The first request with this key is still in progress. Try again shortly.",
  })

/** Finds and stores the response to a request under its key. */
const storedResponses = Effect.gen(function* () {
  const responses = yield* IdempotencyRepo

  /** Locks the key of a request until the transaction ends, and returns the stored response, if there is one. */
  const lookUp = Effect.fnUntraced(function* (name: ResponseKey, fingerprint: Uint8Array) {
    // The request that holds the lock runs. PostgreSQL releases the lock with the transaction, even after a crash.
    if (!(yield* responses.tryLock(name))) return yield* inFlight()
    const stored = yield* responses.find(name, yield* now)
    if (Option.isSome(stored)) {
      const storedResponse = stored.value
      if (storedResponse.status === CLAIMED) return yield* inFlight()
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
    return undefined
  })

  const keyed = Effect.fnUntraced(function* (key: string) {
    const request = yield* HttpServerRequest.HttpServerRequest
    const owner = yield* RequestOwner
    const fingerprint = fingerprintOf(request, yield* Effect.orDie(request.text))
    const name = { callerId: owner.credentialId, key }
    const store = Effect.fnUntraced(function* (
      response: Omit<StoredResponse, "fingerprint">,
      retention: Duration.Duration,
    ) {
      const expiresAt = new Date((yield* now).getTime() + Duration.toMillis(retention))
      yield* responses.store(name, owner.organizationId, { ...response, fingerprint }, expiresAt)
    })
    return { name, fingerprint, store }
  })

  return { keyed, lookUp }
})

/** Runs a handler once, in the transaction that stores its response. */
const single = Effect.gen(function* () {
  const { keyed, lookUp } = yield* storedResponses
  return Effect.fnUntraced(function* <E, R>(
    key: string,
    handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
    returnsSecret: boolean,
  ) {
    const { fingerprint, name, store } = yield* keyed(key)
    const known = yield* lookUp(name, fingerprint)
    if (known !== undefined) return known
    const response = yield* handler
    if (isSuccess(response)) yield* store(storedForm(response, returnsSecret), RETENTION)
    return response
  })
})

/**
 * Runs a handler once that works in transactions of its own. The key is claimed before it begins. If the process dies meanwhile,
 * the claim expires, and the request runs again.
 */
const inPieces = Effect.gen(function* () {
  const responses = yield* IdempotencyRepo
  const transactions = yield* Transactions
  const { keyed, lookUp } = yield* storedResponses
  return Effect.fnUntraced(function* <E, R>(
    key: string,
    handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  ) {
    const { fingerprint, name, store } = yield* keyed(key)
    const claim = { status: CLAIMED, location: null, body: null, secretSlug: null }
    return yield* Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(
        transactions.run(
          Effect.tap(lookUp(name, fingerprint), (known) =>
            known === undefined ? store(claim, MAX_CLAIM) : Effect.void,
          ),
        ),
        (known) =>
          known !== undefined
            ? Effect.succeed(known)
            : Effect.onExit(restore(handler), (exit) =>
                Exit.isSuccess(exit) && isSuccess(exit.value)
                  ? store(storedForm(exit.value, false), RETENTION)
                  : responses.release(name, CLAIMED),
              ),
      ),
    )
  })
})

/** Middleware of every POST. Without the header it does nothing. */
export const layer = Layer.effect(
  Idempotency,
  Effect.gen(function* () {
    const transactions = yield* Transactions
    const runOnce = yield* single
    const runInPieces = yield* inPieces

    return Idempotency.of((handler, { endpoint }) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
        const key = request.headers["idempotency-key"]
        // Passes a malformed key to the handler, whose header schema rejects it with its location.
        if (key === undefined || !KEY.test(key)) return handler
        if (annotationOf(endpoint, CallsThirdParty) === true) return handler
        return Effect.flatMap(CurrentDryRun, (events) =>
          // A dry run stores nothing, so its key stays free for the real request.
          events !== undefined
            ? handler
            : annotationOf(endpoint, RunsInPieces) === true
              ? runInPieces(storedKey(key), handler)
              : transactions.run(runOnce(storedKey(key), handler, annotationOf(endpoint, ReturnsSecret) === true)),
        )
      }),
    )
  }),
)
