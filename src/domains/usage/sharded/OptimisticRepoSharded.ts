/** {@link OptimisticRepo} on Citus, where a statement takes accounts of one organization, and only its worker runs it. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { Commits } from "../../../kernel/database/Connections.ts"
import { inEachOrganization } from "../../../kernel/database/DueOrganizations.ts"
import { column } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import type { Account } from "../ledger/Account.ts"
import { OptimisticRepo, organizationsStored, stored } from "../ledger/optimistic/OptimisticRepo.ts"
import { readSnapshots, snapshotSql } from "../ledger/optimistic/SnapshotSql.ts"
import { assignments, eventsOf, insertion, totalArrayNames, totalArrays } from "../ledger/optimistic/StoreSql.ts"

/**
 * Stores accounts of one organization: all or none. Citus runs it on one worker only if the locks are in a subquery, the updated
 * totals are found by their key, and the insertion comes last. The locks are counted in a subquery that depends on no row, which
 * PostgreSQL evaluates once: evaluated again for each total, it would not find those that the statement has updated before.
 */
export const storeWithin = (
  sql: SqlClient,
  organizationId: OrganizationId,
  accounts: ReadonlyArray<Account>,
  at: Date,
): Fragment => {
  const keys = sql`
                ${column("uuid", accounts, ({ meter }) => meter.instanceId)},
                ${column("uuid", accounts, ({ meter }) => meter.entitlementId)},
                ${column("timestamptz", accounts, ({ period }) => period.start)}`
  const update = sql`
          UPDATE usage_totals t SET ${assignments(sql, at)}
          FROM unnest(${totalArrays(sql, accounts)}, ${keys}
          ) WITH ORDINALITY AS changed (${sql.literal(totalArrayNames)}, instance_id, entitlement_id, period_start, n)
          WHERE t.organization_id = ${organizationId} AND t.instance_id = changed.instance_id
            AND t.entitlement_id = changed.entitlement_id AND t.period_start = changed.period_start
            AND ${accounts.length}::bigint = (
              SELECT count(*) FROM (
                SELECT FROM unnest(
                  (SELECT ${column("text", accounts, ({ stored }) => stored.location)}::tid[]),
                  ${column("text", accounts, ({ stored }) => stored.version)}::xid[], ${keys}
                ) AS seen (location, version, instance_id, entitlement_id, period_start)
                CROSS JOIN LATERAL (
                  SELECT FROM usage_totals
                  WHERE organization_id = ${organizationId} AND instance_id = seen.instance_id
                    AND entitlement_id = seen.entitlement_id AND period_start = seen.period_start
                    AND ctid = seen.location AND xmin = seen.version
                  FOR NO KEY UPDATE SKIP LOCKED
                ) free
              ) locked)`
  return eventsOf(accounts).length === 0
    ? sql`${update} RETURNING t.organization_id AS "organizationId"`
    : sql`
          WITH changed AS (
            ${update}
            RETURNING t.organization_id, t.instance_id, t.entitlement_id, t.period_start, changed.n
          )
          ${insertion(sql, accounts, at)}
          RETURNING organization_id AS "organizationId"`
}

export const layer = Layer.effect(
  OptimisticRepo,
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const { ask } = yield* Commits
    const { within } = snapshotSql(sql, ask)
    return OptimisticRepo.of({
      separatesOrganizations: true,
      read: readSnapshots((named, at, areAllowancesRead) =>
        inEachOrganization(
          named,
          ({ organizationId }) => organizationId,
          (organizationId, own) => within(organizationId)(own, at, areAllowancesRead),
        ),
      ),
      store: (accounts, at) =>
        Effect.map(
          inEachOrganization(
            accounts,
            ({ meter }) => meter.organizationId,
            (organizationId, own) => stored(ask, storeWithin(sql, organizationId, own, at)),
          ),
          organizationsStored,
        ),
    })
  }),
)
