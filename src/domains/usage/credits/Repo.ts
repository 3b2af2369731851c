/** SQL of credits. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { decodedValue } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { creditsAt } from "../rules/Burn.ts"
import type { Credit } from "../rules/Burn.ts"
import { creditOf, StoredCredit } from "../rules/StoredCredit.ts"
import { activeCredits } from "../terms/CreditsSql.ts"

/** Whose credits, and of which entitlement. */
interface CreditKey {
  readonly instanceId: string
  readonly entitlementId: string
}

interface CreditQueries {
  /**
   * The credits of a holder that are active at an instant, in the order in which they burn: those with something left, and one that is
   * used up, because it still grants.
   */
  readonly active: (organizationId: OrganizationId, key: CreditKey, at: Date) => Effect.Effect<ReadonlyArray<Credit>>
}

/** Stores and reads credits. */
export class CreditsRepo extends Context.Service<CreditsRepo, CreditQueries>()("keyshelf/usage/credits/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(CreditsRepo, make))
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient

  return CreditsRepo.of({
    active: (organizationId, { entitlementId, instanceId }, at) => {
      const meter = {
        organization: sql`${organizationId}`,
        instance: "asked.instance",
        entitlement: "asked.entitlement",
      }
      const statement = sql`
        SELECT (${activeCredits(sql, meter, { at: "asked.at" })}) AS credits
        FROM (SELECT ${instanceId}::uuid AS instance, ${entitlementId}::uuid AS entitlement, ${at}::timestamptz AS at) asked`
      return Effect.map(decodedValue("credits", Schema.NullOr(Schema.Array(StoredCredit)))(statement), (stored) =>
        creditsAt(Option.getOrElse(stored, () => []).map(creditOf), at),
      )
    },
  })
})
