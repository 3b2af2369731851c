/** {@link InstancesRepo} on Citus, which finds no rows by their location if the statement changes another table too. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import { executed, records } from "../../../kernel/database/Statements.ts"
import type { Instance } from "../Model.ts"
import { instanceColumns, InstancesRepo } from "../Repo.ts"

export const layer = Layer.effect(
  InstancesRepo,
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const repo = yield* InstancesRepo
    const columns = yield* instanceColumns
    return InstancesRepo.of({
      ...repo,
      moveToLicense: Effect.fnUntraced(function* (organizationId, ids, { at, by, licenseId }) {
        const moved = sql`organization_id = ${organizationId} AND id = ANY(${ids}::uuid[])`
        yield* executed(sql`
          INSERT INTO past_instance_terms (organization_id, instance_id, until, license_id, start_license_date,
            end_license_date, grace_days)
          SELECT organization_id, id, ${at}::timestamptz, license_id, start_license_date, end_license_date, grace_days
          FROM instances WHERE ${moved}
          ON CONFLICT DO NOTHING`)
        return yield* records<Instance>()(sql`
          UPDATE instances SET license_id = ${licenseId}, updated_at = ${at}, updated_by = ${sql.json(by)}
          WHERE ${moved} RETURNING ${columns(organizationId)}`)
      }),
    })
  }),
).pipe(Layer.provide(InstancesRepo.layer))
