/** {@link MigrationsRepo} on Citus, where a statement that locks rows names one organization. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Option, Schema } from "effect"
import { decoded } from "../../../kernel/database/Statements.ts"
import { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { claimWaiting, MigrationsRepo, waiting } from "../Repo.ts"

/** As many nodes may work on migrations at the same time. */
const MAX_TRIED = 20

const WaitingMigration = Schema.Struct({ organizationId: OrganizationId, id: Schema.String })

export const layer = Layer.effect(
  MigrationsRepo,
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const repo = yield* MigrationsRepo

    return MigrationsRepo.of({
      ...repo,
      claim: Effect.fnUntraced(function* (at) {
        const found = yield* decoded(WaitingMigration)(
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
