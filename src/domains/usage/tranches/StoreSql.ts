/**
 * SQL fragments of refills without locks: the statement is that of the owner of ledgers. Its parts have the names `changed` for the totals that
 * have not changed since they were read, `followed` for the ledgers, and `whole` for the refills that have all their locks.
 */
import type { PgClient } from "@effect/sql-pg"
import type { Fragment } from "effect/sql/Statement"
import type { ActorReference } from "../../../kernel/contract/Caller.ts"
import { column } from "../../../kernel/database/Statements.ts"
import { entitlementsSql } from "../../entitlements/EntitlementsSql.ts"
import type { Account } from "../ledger/Account.ts"
import { assignments, insertion, totalArrayNames, totalArrays } from "../ledger/optimistic/StoreSql.ts"
import type { TrancheChange } from "./Model.ts"

/** Accounts of a refill, by its number from 1 on. */
export interface RefilledAccount {
  readonly refill: number
  readonly account: Account
}

/** A tranche of a refill, by its number from 1 on. */
export interface RefilledChange {
  readonly refill: number
  readonly actor: ActorReference
  readonly change: TrancheChange
}

/** The columns of a {@link StoredTranche} of the reservation `r` and the entitlement `e`. */
export const trancheColumns = `r.ledger, r.entitlement_id AS "entitlementId", e.slug AS entitlement,
    r.period_start AS "periodStart", r.quantity::text AS quantity, r.spend_until AS "spendUntil", r.expires_at AS "expiresAt"`

/** The tranches of the ledger of the instance `i` that `asked` names, with how many others may spend of each total. */
export const sharedTranches = (sql: PgClient.PgClient, at: Date): Fragment => sql`
          SELECT ${sql.literal(trancheColumns)}, (
            SELECT count(*)::int FROM usage_reservations o
            WHERE o.organization_id = r.organization_id AND o.instance_id = r.instance_id AND o.entitlement_id = r.entitlement_id
              AND o.period_start = r.period_start AND o.state = 'HELD' AND o.ledger <> r.ledger AND o.spend_until > ${at}
              AND o.expires_at > ${at}
          ) AS others
          FROM usage_reservations r
          JOIN ${entitlementsSql.as("e")} ON e.organization_id = r.organization_id AND e.id = r.entitlement_id
          WHERE r.organization_id = asked.organization_id AND r.instance_id = i.id AND r.ledger = asked.source
            AND r.state = 'HELD' AND r.expires_at > ${at} AND (r.quantity > 0 OR r.spend_until > ${at})`

/** The columns of {@link TrancheChange}s, with their actor. */
const changeColumns = `id uuid, "entitlementId" uuid, "periodStart" timestamptz, quantity numeric, "createdAt" timestamptz,
                "expiresAt" timestamptz, "spendUntil" timestamptz, "endedAt" timestamptz, actor jsonb`

/** Inserts the tranches of a source, or replaces them. */
const upsert = (sql: PgClient.PgClient, key: Fragment, ledger: Fragment, source: Fragment): Fragment => sql`
      INSERT INTO usage_reservations AS held (organization_id, id, instance_id, entitlement_id, period_start, quantity, state,
        created_at, created_by, expires_at, ledger, spend_until, ended_at, ended_by)
      SELECT ${key}, "entitlementId", "periodStart", quantity, CASE WHEN "endedAt" IS NULL THEN 'HELD' ELSE 'RELEASED' END,
        "createdAt", actor, "expiresAt", ${ledger}, "spendUntil", "endedAt", CASE WHEN "endedAt" IS NOT NULL THEN actor END
      FROM ${source}
      ON CONFLICT (organization_id, instance_id, ledger, entitlement_id, period_start) WHERE ledger IS NOT NULL
        DO UPDATE SET quantity = excluded.quantity, state = excluded.state, expires_at = excluded.expires_at,
          spend_until = excluded.spend_until, ended_at = excluded.ended_at, ended_by = excluded.ended_by,
          created_at = greatest(held.created_at, excluded.created_at - interval '1 day')`

/** Locks the totals of refills that have not changed since they were read, and that no other transaction has locked. */
export const unchangedTotals = (sql: PgClient.PgClient, accounts: ReadonlyArray<RefilledAccount>): Fragment => sql`
            SELECT t.ctid AS now_at, t.organization_id, t.instance_id, t.entitlement_id, t.period_start, seen.*
            FROM unnest(${totalArrays(
              sql,
              accounts.map(({ account }) => account),
            )},
              ${column("int4", accounts, ({ refill }) => refill)}
            ) WITH ORDINALITY AS seen (${sql.literal(totalArrayNames)}, refill, n)
            JOIN usage_totals t ON t.ctid = seen.location AND t.xmin = seen.version
            FOR NO KEY UPDATE OF t SKIP LOCKED`

const isWhole = "refill IN (SELECT refill FROM whole)"

/** Stores the events of the lines, the totals and the tranches of whole refills. */
export const storedRefills = (
  sql: PgClient.PgClient,
  accounts: ReadonlyArray<RefilledAccount>,
  changes: ReadonlyArray<RefilledChange>,
  at: Date,
): Fragment => sql`
          counted AS (
            ${insertion(
              sql,
              accounts.map(({ account }) => account),
              at,
            )}
            WHERE changed.${sql.literal(isWhole)}
          ), totalled AS (
            UPDATE usage_totals t SET ${assignments(sql, at)}
            FROM changed WHERE t.ctid = changed.now_at AND changed.${sql.literal(isWhole)}
          ), set_aside AS (
            ${upsert(
              sql,
              sql.literal("followed.organization_id, tranche.id, followed.instance_id"),
              sql.literal("followed.source"),
              sql`jsonb_to_recordset(${sql.json(
                changes.map(({ actor, change, refill }) => ({ ...change, actor, refill })),
              )}) AS tranche (refill int, ${sql.literal(changeColumns)})
              JOIN followed ON followed.refill = tranche.refill WHERE followed.${sql.literal(isWhole)}`,
            )}
          )`

/**
 * Stores tranches of a ledger. The sweeper deletes reservations a week after a day from their creation, whatever their state. A tranche
 * that is refilled lives on, so its creation follows at a distance of a day.
 */
export const storedTranches = (
  sql: PgClient.PgClient,
  {
    instanceId,
    ledger,
    organizationId,
  }: { readonly organizationId: string; readonly instanceId: string; readonly ledger: string },
  changes: ReadonlyArray<TrancheChange>,
  actor: ActorReference,
): Fragment =>
  upsert(
    sql,
    sql`${organizationId}::uuid, id, ${instanceId}::uuid`,
    sql`${ledger}::text`,
    sql`jsonb_to_recordset(${sql.json(changes.map((change) => ({ ...change, actor })))}) AS changed (${sql.literal(changeColumns)})`,
  )
