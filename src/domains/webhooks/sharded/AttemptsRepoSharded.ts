/**
 * {@link AttemptsRepo} on Citus, where no statement changes both the queue, which is on the coordinator, and tables in shards.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Schema } from "effect"
import { inEachOrganization } from "../../../kernel/database/DueOrganizations.ts"
import { decoded, decodedColumn, executed, planByIndex } from "../../../kernel/database/Statements.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { AttemptsRepo, findSubjects, storeOutcomesBy } from "../delivery/AttemptsRepo.ts"
import type { Store } from "../delivery/AttemptsRepo.ts"
import { FoundLease, outcomeSql } from "../delivery/OutcomeSql.ts"
import type { AttemptRow, EndpointHealth, LookUp } from "../delivery/OutcomeSql.ts"
import { endpointName } from "../Model.ts"
import type { ClaimedRow } from "../queue/QueueRepo.ts"

/** Longer than the second phase of a commit takes. */
const SECOND_PHASE_SECONDS = 0.1

const leasesIn = decodedColumn("lease", Schema.String)

/** Stores in one transaction, which locks in the order of `QueueRepo`: endpoints, queue rows, lanes. */
const storeByShard = (sql: PgClient.PgClient, transactions: Transactions["Service"]): Store => {
  const parts = outcomeSql(sql)

  const findLost = Effect.fnUntraced(function* (rows: ReadonlyArray<AttemptRow>, lookUp: LookUp) {
    const valid = yield* leasesIn(sql`
      SELECT made.id AS lease FROM (${parts.made(rows)} OFFSET 0) AS made
      WHERE EXISTS (SELECT 1 FROM webhook_queue queue WHERE ${parts.lookUps[lookUp].isLeaseValid} OFFSET 0)`)
    const leases = new Set(valid)
    return new Set(rows.filter(({ id }) => !leases.has(id)).map(endpointName))
  })

  const updateHealth = (organizationId: OrganizationId, healths: ReadonlyArray<EndpointHealth>) =>
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
    decoded(FoundLease)(sql`
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

  return (rows, healths, lookUp) =>
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

export const layer = Layer.effect(
  AttemptsRepo,
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const transactions = yield* Transactions

    const findInShards = (rows: ReadonlyArray<ClaimedRow>, at: Date) =>
      inEachOrganization(
        rows,
        ({ organizationId }) => organizationId,
        (organizationId, claimed) => findSubjects(sql, claimed, at, sql`${organizationId}::uuid`),
      )

    return AttemptsRepo.of({
      // New deliveries without an event are looked up once more: a delivery can be committed on the coordinator a moment before the event
      // that was stored with it.
      findSubjects: Effect.fnUntraced(function* (rows, at) {
        const found = yield* findInShards(rows, at)
        const withoutEvent = new Set(found.filter(({ type }) => type === null).map(({ lease }) => lease))
        const uncommitted = rows.filter(
          ({ attempt, claims, lease }) => attempt === 1 && claims === 1 && withoutEvent.has(lease),
        )
        if (uncommitted.length === 0) return found
        yield* executed(sql`SELECT pg_sleep(${SECOND_PHASE_SECONDS})`)
        const leases = new Set(uncommitted.map(({ lease }) => lease))
        return [...found.filter(({ lease }) => !leases.has(lease)), ...(yield* findInShards(uncommitted, at))]
      }),
      storeOutcomes: storeOutcomesBy(storeByShard(sql, transactions)),
    })
  }),
)
