/** A shop whose instance has credits, with what the database says that they paid. */
import { PgClient } from "@effect/sql-pg"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { openMeteredShop } from "./MeteredShop.ts"

/** Terms of a credit. */
interface Bought {
  readonly amount: number
  readonly priority?: number
  readonly startsAt?: string
  readonly expiresAt?: string | null
}

export const openCreditedShop = Effect.gen(function* () {
  const shop = yield* openMeteredShop
  const sql = yield* PgClient.PgClient
  const { call, tenant } = shop
  const { organizationId } = tenant

  return {
    ...shop,

    /** Sells a credit of an entitlement, and returns its id. */
    credit: (slug: string, bought: Bought) =>
      Effect.map(call("POST", `/instances/prod/entitlements/${slug}/credits`, bought), ({ body, status, text }) => {
        assert.strictEqual(status, 201, text)
        return String(body.id)
      }),

    /** The answer to a check of one entitlement. */
    ask: (slug: string, requested: number, more: object = {}) =>
      Effect.map(
        call("POST", "/instances/prod/check", { checks: [{ entitlement: slug, requested }], ...more }),
        ({ body, text }) => body.checks?.[0] ?? assert.fail(text),
      ),

    /** What each credit has paid, by id. */
    usedOf: Effect.map(
      sql<{ id: string; used: number }>`
        SELECT id, used::float8 AS used FROM credits WHERE organization_id = ${organizationId} ORDER BY id`,
      (rows) => new Map(rows.map(({ id, used }) => [id, used])),
    ),

    /** How often an event of this type was emitted. */
    emitted: (type: string) =>
      Effect.map(
        sql`SELECT 1 FROM events WHERE organization_id = ${organizationId} AND type = ${type}`,
        ({ length }) => length,
      ),

    /** What credits have paid is the same by their uses, by themselves, and by totals. */
    assertUsesAddUp: Effect.gen(function* () {
      const wrong = yield* sql`
        SELECT c.id, c.used, c.amount, sum(u.quantity) AS uses FROM credits c
        LEFT JOIN credit_uses u ON u.organization_id = c.organization_id AND u.credit_id = c.id AND u.voided_at IS NULL
        WHERE c.organization_id = ${organizationId}
        GROUP BY c.organization_id, c.id
        HAVING c.used <> c.dropped_used + coalesce(sum(u.quantity), 0) OR c.used > c.amount OR c.used < 0
          OR c.is_spent <> (c.used = c.amount)`
      assert.deepStrictEqual(wrong, [])
      const apart = yield* sql`
        SELECT t.period_start, t.burned, sum(u.quantity) AS uses FROM usage_totals t
        LEFT JOIN credit_uses u ON u.organization_id = t.organization_id AND u.instance_id = t.instance_id
          AND u.entitlement_id = t.entitlement_id AND u.period_start = t.period_start AND u.voided_at IS NULL
        WHERE t.organization_id = ${organizationId}
        GROUP BY t.instance_id, t.entitlement_id, t.period_start, t.burned
        HAVING t.burned <> coalesce(sum(u.quantity), 0)`
      assert.deepStrictEqual(apart, [])
    }),
  }
})
