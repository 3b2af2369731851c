/** {@link MigrationsRepo} on Citus, where a statement that locks rows names one organization. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Option } from "effect"
import { records } from "../../../kernel/database/Statements.ts"
import { claimWaiting, MigrationsRepo, waiting } from "../Repo.ts"
import type { MigrationRow } from "../Repo.ts"

/** As many nodes may work on migrations at the same time. */
const MAX_TRIED = 20

export const layer = Layer.effect(
  MigrationsRepo,
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const repo = yield* MigrationsRepo

    return MigrationsRepo.of({
      ...repo,
      claim: Effect.fnUntraced(function* (at) {
        const found = yield* records<Pick<MigrationRow, "organizationId" | "id">>()(
          sql`${waiting(sql, `organization_id AS "organizationId", id`, sql``, at, MAX_TRIED)}`,
        )
        for (const { id, organizationId } of found) {
          const scope = sql`organization_id = ${organizationId} AND id = ${id} AND`
          const claimed = yield* claimWaiting(sql, at, scope)
          if (Option.isSome(claimed)) return claimed
        }
        return Option.none()
      }),
    })
  }),
).pipe(Layer.provide(MigrationsRepo.layer))
