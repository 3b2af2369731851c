/** SQL statements for the facts of instances that conditions of flags name. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import type { Option } from "effect"
import { decodedOne } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { InstanceSubject } from "../../instances/Model.ts"
import { subjects } from "../../instances/SubjectSql.ts"

/** Reads the facts of instances. */
export class FactsRepo extends Context.Service<
  FactsRepo,
  {
    /** An instance with its customer, license, zone and release. */
    readonly findSubject: (
      organizationId: OrganizationId,
      instanceSlug: string,
    ) => Effect.Effect<Option.Option<InstanceSubject>>
  }
>()("keyshelf/flags/FactsRepo") {
  static readonly layer = Layer.effect(
    FactsRepo,
    Effect.map(PgClient.PgClient, (sql) =>
      FactsRepo.of({
        findSubject: (organizationId, instanceSlug) =>
          decodedOne(InstanceSubject)(sql`
            ${subjects(sql)}
            WHERE i.organization_id = ${organizationId} AND i.slug = ${instanceSlug}`),
      }),
    ),
  )
}
