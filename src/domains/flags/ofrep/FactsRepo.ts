/** SQL statements for the facts of instances that conditions of flags name. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { record } from "../../../kernel/database/Statements.ts"
import type { InstanceSubject } from "../../instances/Model.ts"
import { subjects } from "../../instances/SubjectSql.ts"

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  return {
    /** An instance with its customer, license, zone and release. */
    findSubject: (organizationId: string, instanceSlug: string) =>
      record<InstanceSubject>()(sql`
        ${subjects(sql)}
        WHERE i.organization_id = ${organizationId} AND i.slug = ${instanceSlug}`),
  }
})

/** Reads the facts of instances. */
export class FactsRepo extends Context.Service<FactsRepo, Effect.Success<typeof make>>()("keyshelf/flags/FactsRepo") {
  static readonly layer = Layer.effect(FactsRepo, make)
}
