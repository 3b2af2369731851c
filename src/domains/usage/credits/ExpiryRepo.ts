/** SQL of the expiry of credits: what is due, of all organizations. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import type { Fragment } from "effect/sql/Statement"
import { isRemoved } from "../../../kernel/database/RemovedOrganizations.ts"
import { locatedBy, rowByKey, scopeOf } from "../../../kernel/database/RowsByKey.ts"
import { decoded, decodedColumn, executed } from "../../../kernel/database/Statements.ts"
import { OrganizationId } from "../../../kernel/values/Identifiers.ts"

/** A credit that has expired. */
const DueCredit = Schema.Struct({ organizationId: OrganizationId, id: Schema.String })
type DueCredit = typeof DueCredit.Type

/** Reads and marks credits that have expired. */
export class ExpiryRepo extends Context.Service<
  ExpiryRepo,
  {
    /** Up to `count` credits of all organizations that have expired and are not marked, the first to expire first. Takes no locks. */
    readonly due: (at: Date, count: number) => Effect.Effect<ReadonlyArray<DueCredit>>
    /** Locks those of these credits that are not marked, but for those that another transaction holds. */
    readonly lock: (organizationId: OrganizationId, ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>>
    /** Marks locked credits: their expiry is not looked at again. */
    readonly mark: (organizationId: OrganizationId, ids: ReadonlyArray<string>) => Effect.Effect<void>
  }
>()("keyshelf/usage/credits/ExpiryRepo") {
  static readonly layer = Layer.suspend(() => Layer.effect(ExpiryRepo, make))
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const located = yield* locatedBy(sql)
  const unmarked = (organizationId: OrganizationId, select: string, lock?: string): Fragment =>
    rowByKey(
      sql,
      select,
      {
        table: "credits",
        within: sql`organization_id = ${organizationId} AND NOT expiry_emitted`,
        column: "id",
        key: "candidate.id",
      },
      lock,
    )

  return ExpiryRepo.of({
    due: (at, count) =>
      decoded(DueCredit)(sql`
        SELECT organization_id AS "organizationId", id FROM credits
        WHERE NOT expiry_emitted AND expires_at IS NOT NULL AND expires_at <= ${at}
          AND NOT ${sql.literal(isRemoved("credits.organization_id"))}
        ORDER BY expires_at LIMIT ${count}`),

    lock: (organizationId, ids) =>
      decodedColumn(
        "id",
        Schema.String,
      )(sql`
        SELECT due.id FROM unnest(${ids}::uuid[]) AS candidate (id)
        CROSS JOIN ${unmarked(organizationId, "id", "FOR UPDATE SKIP LOCKED")} AS due`),

    mark: (organizationId, ids) =>
      executed(sql`
        WITH expired AS MATERIALIZED (
          SELECT due.location FROM unnest(${ids}::uuid[]) AS candidate (id)
          CROSS JOIN ${unmarked(organizationId, "ctid AS location")} AS due
        )
        UPDATE credits SET expiry_emitted = true FROM expired
        WHERE ${scopeOf(sql, located(organizationId))} credits.ctid = expired.location`),
  })
})
