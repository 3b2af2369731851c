/** Retention of stored responses: 24 hours. */
import { Context, Effect, Layer } from "effect"
import { deleteExpired } from "../../kernel/database/ExpiredRows.ts"
import type { RetentionJob } from "../../kernel/database/ExpiredRows.ts"

/** Deletes expired responses. */
export class IdempotencyRetention extends Context.Service<
  IdempotencyRetention,
  { readonly jobs: ReadonlyArray<RetentionJob> }
>()("keyshelf/idempotency/Retention") {
  static readonly layer = Layer.effect(
    IdempotencyRetention,
    Effect.map(deleteExpired("idempotency_keys"), (job) => IdempotencyRetention.of({ jobs: [job] })),
  )
}
