/** {@link CountedIdsRepo} on Citus, which would send what a WITH query has inserted to all workers. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import { decoded } from "../../../kernel/database/Statements.ts"
import { CountedIdsRepo, EventId, takingIds } from "../ledger/CountedIdsRepo.ts"

export const layer = Layer.effect(
  CountedIdsRepo,
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const repo = yield* CountedIdsRepo
    return CountedIdsRepo.of({
      ...repo,
      // Only the end of it runs on the worker, which must not name parameters then.
      takeEventIds: (organizationId, ids, at, expiresAt) =>
        Effect.map(
          decoded(EventId)(sql`${takingIds(sql, organizationId, ids, at, expiresAt)} RETURNING source, event_id AS id`),
          (free) => (free.length === ids.length ? "all" : free),
        ),
    })
  }),
).pipe(Layer.provide(CountedIdsRepo.layer))
