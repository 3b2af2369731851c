/**
 * SQL that stores accounts whose totals have not changed since they were read. The location and the writing transaction (`ctid`,
 * `xmin`) identify a version of a row.
 */
import { BigDecimal } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { column } from "../../../../kernel/database/Statements.ts"
import type { Account } from "../Account.ts"

/** The new contents of totals, as arrays. */
export const totalArrays = (sql: SqlClient, accounts: ReadonlyArray<Account>): Fragment => {
  const totals = accounts.map(({ total }) => total)
  const crossings = accounts.map((account) => account.crossings)
  return sql`
              (SELECT ${column("text", accounts, ({ stored }) => stored.location)}::tid[]),
              ${column("text", accounts, ({ stored }) => stored.version)}::xid[],
              ${column("text", totals, ({ value }) => BigDecimal.format(value))}::numeric[],
              ${column("float8", totals, ({ eventCount }) => eventCount)},
              ${column("text", totals, ({ sum }) => BigDecimal.format(sum))}::numeric[],
              ${column("float8", totals, ({ valueCount }) => valueCount)},
              ${column("timestamptz", totals, ({ setAt }) => setAt)},
              ${column("timestamptz", totals, ({ latestAt }) => latestAt)},
              ${column("timestamptz", totals, ({ lastAt }) => lastAt)},
              ${column("bool", crossings, ({ warned }) => warned)},
              ${column("bool", crossings, ({ limitReached }) => limitReached)},
              ${column("bool", crossings, ({ capExceeded }) => capExceeded)}`
}
export const totalArrayNames = `location, version, value, event_count, sum, value_count, set_at, latest_at, last_at,
              warned, limit_reached, cap_exceeded`

export const assignments = (sql: SqlClient, at: Date): Fragment => sql`
            value = changed.value, event_count = changed.event_count, sum = changed.sum,
            value_count = changed.value_count, set_at = changed.set_at, latest_at = changed.latest_at,
            last_at = changed.last_at, warned = changed.warned, limit_reached = changed.limit_reached,
            cap_exceeded = changed.cap_exceeded, decided_at = greatest(t.decided_at, ${at}::timestamptz)`

export const eventsOf = (accounts: ReadonlyArray<Account>) =>
  accounts.flatMap((account, n) => account.events.map((event) => ({ n, event })))

/** The statement that inserts the events of the `changed` totals, which have the numbers `n`. */
export const insertion = (sql: SqlClient, accounts: ReadonlyArray<Account>, at: Date): Fragment => {
  const events = eventsOf(accounts)
  return sql`
            INSERT INTO usage_events (organization_id, instance_id, entitlement_id, period_start, ordinal, timestamp,
              behavior, value, unique_key, metadata, reported_at, reported_by, transaction_id, source)
            SELECT changed.organization_id, changed.instance_id, changed.entitlement_id, changed.period_start,
              posted.ordinal, posted.timestamp, posted.behavior, posted.value, posted.unique_key, posted.metadata,
              ${at}::timestamptz, posted.reported_by, posted.transaction_id, posted.source
            FROM unnest(
              (SELECT ${column("int4", events, ({ n }) => n + 1)}),
              ${column("float8", events, ({ event }) => event.ordinal)},
              ${column("timestamptz", events, ({ event }) => event.timestamp)},
              ${column("text", events, ({ event }) => event.behavior)},
              ${column("text", events, ({ event }) => BigDecimal.format(event.value))}::numeric[],
              ${column("text", events, ({ event }) => event.uniqueKey)},
              ${column("text", events, ({ event }) => event.metadata && JSON.stringify(event.metadata))}::jsonb[],
              ${column("text", events, ({ event }) => JSON.stringify(event.reportedBy))}::jsonb[],
              ${column("text", events, ({ event }) => event.transactionId ?? null)},
              ${column("text", events, ({ event }) => event.source ?? null)}
            ) AS posted (n, ordinal, timestamp, behavior, value, unique_key, metadata, reported_by, transaction_id, source)
            JOIN changed ON changed.n = posted.n`
}

/** Stores accounts of whatever organizations: those of each organization, or none of it. */
export const storeAcross = (sql: SqlClient, accounts: ReadonlyArray<Account>, at: Date): Fragment => {
  const sizes = new Map<string, number>()
  for (const { meter } of accounts) sizes.set(meter.organizationId, (sizes.get(meter.organizationId) ?? 0) + 1)
  return sql`
          WITH changed AS MATERIALIZED (
            SELECT t.ctid AS now_at, t.organization_id, t.instance_id, t.entitlement_id, t.period_start, seen.*
            FROM unnest(${totalArrays(sql, accounts)},
              ${column("int4", accounts, ({ meter }) => sizes.get(meter.organizationId))}
            ) WITH ORDINALITY AS seen (${sql.literal(totalArrayNames)}, of_organization, n)
            JOIN usage_totals t ON t.ctid = seen.location AND t.xmin = seen.version
            FOR NO KEY UPDATE OF t SKIP LOCKED
          ), whole AS MATERIALIZED (
            SELECT organization_id AS id FROM changed GROUP BY organization_id HAVING count(*) = min(of_organization)
          ), counted AS (
            ${insertion(sql, accounts, at)}
            WHERE changed.organization_id IN (SELECT id FROM whole)
          )
          UPDATE usage_totals t SET ${assignments(sql, at)}
          FROM changed WHERE t.ctid = changed.now_at AND changed.organization_id IN (SELECT id FROM whole)
          RETURNING t.organization_id AS "organizationId"`
}
