/**
 * Stores outcomes of attempts on Citus, where no statement changes both the queue, which is on the coordinator, and tables in shards.
 * One transaction locks in the order of `QueueRepo`: endpoints, queue rows, lanes.
 */
import type { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { executed, planByIndex, records } from "../../../kernel/database/Statements.ts"
import type { Transactions } from "../../../kernel/database/Transactions.ts"
import { endpointName } from "../Model.ts"
import { outcomeSql } from "./OutcomeSql.ts"
import type { AttemptRow, EndpointHealth, FoundLease, LookUp } from "./OutcomeSql.ts"

/** Returns the function that stores outcomes whose deliveries it finds, as the one statement of other databases does. */
export const storeByShard = (sql: PgClient.PgClient, transactions: Transactions["Service"]) => {
  const parts = outcomeSql(sql)

  const findLost = Effect.fnUntraced(function* (rows: ReadonlyArray<AttemptRow>, lookUp: LookUp) {
    const valid = yield* records<{ lease: string }>()(sql`
      SELECT made.id AS lease FROM (${parts.made(rows)} OFFSET 0) AS made
      WHERE EXISTS (SELECT 1 FROM webhook_queue queue WHERE ${parts.lookUps[lookUp].isLeaseValid} OFFSET 0)`)
    const leases = new Set(valid.map(({ lease }) => lease))
    return new Set(rows.filter(({ id }) => !leases.has(id)).map(endpointName))
  })

  const updateHealth = (organizationId: string, healths: ReadonlyArray<EndpointHealth>) =>
    executed(sql`
      WITH changing AS MATERIALIZED (
        SELECT endpoint.id, health."failingSince" FROM ${parts.healthRows(healths)}
        JOIN webhook_endpoints endpoint
          ON endpoint.organization_id = ${organizationId} AND endpoint.id = health."endpointId"
        WHERE ${parts.isChanging} ORDER BY endpoint.id FOR NO KEY UPDATE OF endpoint
      )
      UPDATE webhook_endpoints SET failing_since = changing."failingSince" FROM changing
      WHERE webhook_endpoints.organization_id = ${organizationId} AND webhook_endpoints.id = changing.id`)

  const settle = (rows: ReadonlyArray<AttemptRow>, lookUp: LookUp) =>
    records<FoundLease>()(sql`
      WITH made AS MATERIALIZED (${parts.made(rows)}), locked AS MATERIALIZED (
        SELECT leased.location, made.id AS lease, made.attempt, made."nextAttemptAt"
        FROM (SELECT * FROM made ORDER BY "organizationId", "deliveryId") AS made
        CROSS JOIN LATERAL (
          SELECT queue.ctid AS location FROM webhook_queue queue
          WHERE ${parts.lookUps[lookUp].isLeaseValid} FOR UPDATE) AS leased
      ), ${parts.settlement})
      ${parts.outcomes}`)

  const record = (rows: ReadonlyArray<AttemptRow>) =>
    executed(sql`
      INSERT INTO webhook_attempts (${parts.attemptColumns})
      SELECT made."organizationId", made."timestamp", made.id, made."deliveryId", made."eventId", made."eventName",
        made."endpointId", made."endpointUrl", made.attempt, made.state, made."statusCode", made."responseBody", made.error,
        made."durationMs", made."nextAttemptAt"
      FROM (${parts.made(rows)}) AS made
      ON CONFLICT (organization_id, "timestamp", id) DO NOTHING`)

  /** The attempts that enter the history: of an attempt whose lease was lost, no other follows. */
  const recordedRows = (rows: ReadonlyArray<AttemptRow>, found: ReadonlyArray<FoundLease>, lookUp: LookUp) => {
    const locked = new Set(found.map(({ lease }) => lease))
    const settled = new Set(found.filter(({ isSettled }) => isSettled).map(({ lease }) => lease))
    return rows.flatMap((row): ReadonlyArray<AttemptRow> => {
      if (settled.has(row.id)) return [row]
      if (lookUp === "location" || !row.wasSent || locked.has(row.id)) return []
      return [{ ...row, state: row.state === "Failed" ? "Failure" : row.state, nextAttemptAt: null }]
    })
  }

  return (rows: ReadonlyArray<AttemptRow>, healths: ReadonlyArray<EndpointHealth>, lookUp: LookUp) =>
    transactions.run(
      Effect.gen(function* () {
        yield* planByIndex(sql)
        const lost = yield* findLost(rows, lookUp)
        const kept = healths.filter((health) => !lost.has(endpointName(health)))
        const byOrganization = Map.groupBy(kept, ({ organizationId }) => organizationId)
        for (const organizationId of [...byOrganization.keys()].toSorted()) {
          yield* updateHealth(organizationId, byOrganization.get(organizationId) ?? [])
        }
        const found = yield* settle(rows, lookUp)
        const recorded = recordedRows(rows, found, lookUp)
        if (recorded.length > 0) yield* record(recorded)
        return found
      }),
    )
}
