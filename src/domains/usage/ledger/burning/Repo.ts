/** SQL of what credits pay. Locks, reads and stores them for accounts that are locked; `LockedLedger` states the lock order. */
import { PgClient } from "@effect/sql-pg"
import { BigDecimal, Context, Effect, Layer, Schema } from "effect"
import { decoded, decodedColumn, executed } from "../../../../kernel/database/Statements.ts"
import { storedDecimal } from "../../../../kernel/values/Decimal.ts"
import type { OrganizationId } from "../../../../kernel/values/Identifiers.ts"
import { creditsOfMeter, storedCredit } from "../../terms/CreditsSql.ts"
import { StoredCredit } from "../../rules/StoredCredit.ts"
import { creditOf } from "../../rules/StoredCredit.ts"
import { setAside } from "../../terms/HeldSql.ts"
import { TotalKey } from "../Account.ts"
import { keyColumns } from "../CountedSql.ts"
import type { CreditUse, MeterCredit, PaidUse } from "./MeterCredits.ts"

/** The credits of a meter that a decision may take something from, or return something to. */
export interface CreditsAsked {
  readonly instanceId: string
  readonly entitlementId: string
  /** The earliest and the latest instant of the usage. */
  readonly since: Date
  readonly until: Date
  /** Whether the decision may return something itself, so that it needs all later uses. */
  readonly mayReturn: boolean
  /** The ids of credits that it needs in any state. */
  readonly credits: ReadonlyArray<string>
}

/** A total, and the latest instant whose payments may be returned. */
export type PaidAsked = TotalKey & { readonly until: Date }

/** A credit, with its later uses. */
const CreditRow = Schema.Struct({
  instanceId: Schema.String,
  entitlementId: Schema.String,
  credit: StoredCredit,
  later: Schema.NullOr(Schema.Array(Schema.Struct({ at: Schema.String, quantity: Schema.String }))),
})

const PaidRow = Schema.Struct({
  ...TotalKey.fields,
  id: Schema.String,
  credit: Schema.String,
  at: Schema.Date,
  ordinal: Schema.Int,
  quantity: Schema.String,
})

type MeterKey = Pick<TotalKey, "instanceId" | "entitlementId">

/** What decisions changed of an organization's credits and totals. */
interface Burns {
  readonly credits: ReadonlyArray<MeterCredit>
  /** With their final ids. */
  readonly uses: ReadonlyArray<CreditUse & MeterKey>
  /** Totals whose part that credits paid is another one now. */
  readonly totals: ReadonlyArray<TotalKey & { readonly burned: BigDecimal.BigDecimal }>
}

/** Locks and stores what credits pay. */
export class BurnRepo extends Context.Service<
  BurnRepo,
  {
    /**
     * Locks the credits that can pay usage between two instants, and the named ones, in the order of their ids, until the transaction
     * ends. A second statement reads them, so that it sees what was committed while the first waited.
     */
    readonly lock: (
      organizationId: OrganizationId,
      asked: ReadonlyArray<CreditsAsked>,
      at: Date,
    ) => Effect.Effect<ReadonlyArray<MeterKey & { readonly credit: MeterCredit }>>
    /** What credits have paid of locked totals, without what was returned. */
    readonly paid: (
      organizationId: OrganizationId,
      asked: ReadonlyArray<PaidAsked>,
    ) => Effect.Effect<ReadonlyArray<TotalKey & PaidUse>>
    /** What credits have paid of an event of a locked total, without what was returned. */
    readonly paidOf: (
      organizationId: OrganizationId,
      key: TotalKey,
      ordinal: number,
    ) => Effect.Effect<ReadonlyArray<PaidUse>>
    /** Marks what an event of a locked total has burned, and what was returned of it, as voided. */
    readonly voidUses: (organizationId: OrganizationId, uses: ReadonlyArray<PaidUse>, at: Date) => Effect.Effect<void>
    /** Stores what locked credits have paid. */
    readonly store: (organizationId: OrganizationId, burns: Burns) => Effect.Effect<void>
  }
>()("keyshelf/usage/ledger/burning/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(BurnRepo, make))
}

const locking = (sql: PgClient.PgClient): Pick<BurnRepo["Service"], "lock"> => {
  const idIn = decodedColumn("id", Schema.String)
  const stored = sql.literal(storedCredit())
  const columns = sql.literal(
    `"instanceId" uuid, "entitlementId" uuid, since timestamptz, until timestamptz, "mayReturn" boolean, credits jsonb, at timestamptz`,
  )

  return {
    lock: Effect.fnUntraced(function* (organizationId, asked, at) {
      const organization = sql`${organizationId}`
      const meter = { organization, instance: `asked."instanceId"`, entitlement: `asked."entitlementId"` }
      const given = sql`jsonb_to_recordset(${sql.json(asked.map((one) => ({ ...one, at })))}) AS asked (${columns})`
      const ids = yield* idIn(sql`
        SELECT l.id FROM credits l WHERE l.organization_id = ${organizationId} AND l.id IN (
          SELECT c.id FROM ${given} JOIN credits c ON ${creditsOfMeter(sql, meter)}
          WHERE NOT c.is_spent AND c.voided_at IS NULL AND c.starts_at <= asked.until
            AND coalesce(c.expires_at, 'infinity'::timestamptz) > asked.since
          UNION
          SELECT named.id::uuid FROM ${given} CROSS JOIN LATERAL jsonb_array_elements_text(asked.credits) AS named (id)
        ) ORDER BY l.id FOR NO KEY UPDATE`)
      // One that is used up pays nothing, but it still grants.
      const rows = yield* decoded(CreditRow)(sql`
        SELECT asked."instanceId", asked."entitlementId", ${stored} AS credit, (
            SELECT CASE WHEN asked."mayReturn" OR bool_or(u.quantity < 0)
              THEN jsonb_agg(jsonb_build_object('at', u.at, 'quantity', u.quantity::text)) END
            FROM credit_uses u
            WHERE u.organization_id = ${organizationId} AND u.credit_id = c.id AND u.at > asked.since AND u.voided_at IS NULL
          ) AS later
        FROM ${given}
        CROSS JOIN LATERAL (SELECT (${setAside(sql, meter, { at: "asked.at" })}) AS quantities OFFSET 0) aside
        CROSS JOIN LATERAL (
          SELECT * FROM credits c WHERE ${creditsOfMeter(sql, meter)} AND c.id = ANY (${ids}::uuid[])
          UNION ALL (
            SELECT * FROM credits c
            WHERE ${creditsOfMeter(sql, meter)} AND c.is_spent AND c.voided_at IS NULL AND c.starts_at <= asked.until
              AND coalesce(c.expires_at, 'infinity'::timestamptz) > asked.since AND NOT c.id = ANY (${ids}::uuid[])
            ORDER BY coalesce(c.expires_at, 'infinity'::timestamptz) DESC LIMIT 1
          )
        ) c`)
      return rows.map(({ credit, entitlementId, instanceId, later }) => {
        const read = creditOf(credit)
        const uses = later?.map((use) => ({ at: new Date(use.at), quantity: storedDecimal(use.quantity) })) ?? null
        return { instanceId, entitlementId, credit: { ...read, storedUsed: read.used, later: uses } }
      })
    }),
  }
}

/** What a credit paid, without what was returned. */
const OUTSTANDING = `u.quantity + coalesce((
            SELECT sum(r.quantity) FROM credit_uses r
            WHERE r.organization_id = u.organization_id AND r.instance_id = u.instance_id AND r.entitlement_id = u.entitlement_id
              AND r.period_start = u.period_start AND r.of_use = u.id AND r.voided_at IS NULL
          ), 0)`

const reading = (sql: PgClient.PgClient): Pick<BurnRepo["Service"], "paid" | "paidOf"> => {
  const paidIn = decoded(PaidRow)
  const useOf = <Row extends typeof PaidRow.Type>(row: Row) => ({ ...row, quantity: storedDecimal(row.quantity) })
  const columns = sql.literal(`u.instance_id AS "instanceId", u.entitlement_id AS "entitlementId",
          u.period_start AS "periodStart", u.id, u.credit_id AS credit, u.at, u.ordinal::float8 AS ordinal`)

  return {
    paid: (organizationId, asked) =>
      Effect.map(
        paidIn(sql`
          SELECT * FROM (
            SELECT ${columns}, (${sql.literal(OUTSTANDING)})::text AS quantity
            FROM jsonb_to_recordset(${sql.json(asked)}) AS asked (${sql.literal(keyColumns)}, until timestamptz)
            JOIN credit_uses u ON u.organization_id = ${organizationId} AND u.instance_id = asked."instanceId"
              AND u.entitlement_id = asked."entitlementId" AND u.period_start = asked."periodStart"
            WHERE u.quantity > 0 AND u.voided_at IS NULL AND u.at <= asked.until
          ) paid WHERE quantity::numeric > 0 ORDER BY at, ordinal, id`),
        (rows) => rows.map(useOf),
      ),

    paidOf: (organizationId, { entitlementId, instanceId, periodStart }, ordinal) =>
      Effect.map(
        paidIn(sql`
          SELECT ${columns}, (${sql.literal(OUTSTANDING)})::text AS quantity FROM credit_uses u
          WHERE u.organization_id = ${organizationId} AND u.instance_id = ${instanceId} AND u.entitlement_id = ${entitlementId}
            AND u.period_start = ${periodStart} AND u.ordinal = ${ordinal} AND u.quantity > 0 AND u.voided_at IS NULL
          ORDER BY u.id`),
        (rows) => rows.map(useOf),
      ),
  }
}

const storing = (sql: PgClient.PgClient): Pick<BurnRepo["Service"], "voidUses" | "store"> => ({
  voidUses: (organizationId, uses, at) =>
    executed(sql`
      UPDATE credit_uses u SET voided_at = ${at}
      FROM jsonb_to_recordset(${sql.json(uses.map(({ credit, id }) => ({ credit, id })))}) AS voided (credit uuid, id uuid)
      WHERE u.organization_id = ${organizationId} AND u.credit_id = voided.credit AND (u.id = voided.id OR u.of_use = voided.id)
        AND u.voided_at IS NULL`),

  store: Effect.fnUntraced(function* (organizationId, { credits, totals, uses }) {
    const text = BigDecimal.format
    yield* executed(sql`
      UPDATE credits c SET used = changed.used, is_spent = (changed.used = c.amount)
      FROM jsonb_to_recordset(${sql.json(credits.map(({ id, used }) => ({ id, used: text(used) })))}) AS changed (id uuid, used numeric)
      WHERE c.organization_id = ${organizationId} AND c.id = changed.id`)
    if (uses.length > 0) {
      yield* executed(sql`
        INSERT INTO credit_uses (organization_id, credit_id, at, id, instance_id, entitlement_id, period_start, ordinal, quantity, of_use)
        SELECT ${organizationId}::uuid, credit, at, id, "instanceId", "entitlementId", "periodStart", ordinal, quantity, "ofUse"
        FROM jsonb_to_recordset(${sql.json(uses.map((use) => ({ ...use, quantity: text(use.quantity) })))})
          AS used (${sql.literal(keyColumns)}, credit uuid, at timestamptz, id uuid, ordinal bigint, quantity numeric, "ofUse" uuid)`)
    }
    yield* executed(sql`
      UPDATE usage_totals t SET burned = changed.burned
      FROM jsonb_to_recordset(${sql.json(totals.map((total) => ({ ...total, burned: text(total.burned) })))})
        AS changed (${sql.literal(keyColumns)}, burned numeric)
      WHERE t.organization_id = ${organizationId} AND t.instance_id = changed."instanceId"
        AND t.entitlement_id = changed."entitlementId" AND t.period_start = changed."periodStart"`)
  }),
})

const make = Effect.map(PgClient.PgClient, (sql) => ({ ...locking(sql), ...reading(sql), ...storing(sql) }))
