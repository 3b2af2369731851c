/** SQL of stored responses under an idempotency key. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import type { Option } from "effect"
import { decodedOne, executed, returnedRow } from "../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"

/** The first response to a request with a key. Of a response with a secret only the name of what was created is stored. */
export const StoredResponse = Schema.Struct({
  /** The fingerprint of the request's method, path, query and body. */
  fingerprint: Schema.Uint8Array,
  status: Schema.Int,
  location: Schema.NullOr(Schema.String),
  body: Schema.NullOr(Schema.String),
  secretSlug: Schema.NullOr(Schema.String),
})
export type StoredResponse = typeof StoredResponse.Type

/** Names a stored response: the credential that sent the request, and the hash of its key. */
export interface ResponseKey {
  readonly callerId: string
  readonly key: string
}

/** Rows of stored responses. */
export class IdempotencyRepo extends Context.Service<
  IdempotencyRepo,
  {
    /** Locks the key until the transaction ends, also after a crash. Returns `false` if another transaction holds it. */
    readonly tryLock: (name: ResponseKey) => Effect.Effect<boolean>
    /** The response that is stored under a key and has not expired at an instant. */
    readonly find: (name: ResponseKey, at: Date) => Effect.Effect<Option.Option<StoredResponse>>
    /** Stores the response, in place of an expired one. */
    readonly store: (
      name: ResponseKey,
      organizationId: OrganizationId | null,
      response: StoredResponse,
      expiresAt: Date,
    ) => Effect.Effect<void>
    /** Frees a key whose row has this status. */
    readonly release: (name: ResponseKey, status: number) => Effect.Effect<void>
  }
>()("keyshelf/idempotency/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(IdempotencyRepo, make))
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const storedResponse = decodedOne(StoredResponse)
  return IdempotencyRepo.of({
    tryLock: ({ callerId, key }) =>
      returnedRow(sql`SELECT 1 WHERE pg_try_advisory_xact_lock(hashtextextended(${`${callerId}:${key}`}, 1))`),

    find: ({ callerId, key }, at) =>
      storedResponse(sql`
        SELECT fingerprint, status, location, body, secret_slug AS "secretSlug"
        FROM idempotency_keys
        WHERE caller_id = ${callerId} AND key = ${key} AND expires_at > ${at}`),

    store: ({ callerId, key }, organizationId, response, expiresAt) =>
      executed(sql`
        INSERT INTO idempotency_keys (caller_id, key, organization_id, fingerprint, status, location, body, secret_slug,
          expires_at)
        VALUES (${callerId}, ${key}, ${organizationId}, ${response.fingerprint}, ${response.status}, ${response.location},
          ${response.body}, ${response.secretSlug}, ${expiresAt})
        ON CONFLICT (caller_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, status = excluded.status,
          location = excluded.location, body = excluded.body, secret_slug = excluded.secret_slug,
          expires_at = excluded.expires_at`),

    release: ({ callerId, key }, status) =>
      executed(sql`DELETE FROM idempotency_keys WHERE caller_id = ${callerId} AND key = ${key} AND status = ${status}`),
  })
})
