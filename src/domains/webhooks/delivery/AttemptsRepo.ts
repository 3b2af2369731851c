/** SQL of attempts: what they send, and what their outcomes change. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { AttemptEnds } from "../../../kernel/database/Connections.ts"
import { isRemoved } from "../../../kernel/database/RemovedOrganizations.ts"
import { column, decoded } from "../../../kernel/database/Statements.ts"
import { eventContent } from "../../events/EventsSql.ts"
import { endpointName, TEST_EVENT } from "../Model.ts"
import { FoundEvent } from "../Payload.ts"
import type { ClaimedRow } from "../queue/QueueRepo.ts"
import { FoundLease, outcomeSql } from "./OutcomeSql.ts"
import type { AttemptRow, EndpointHealth, LookUp } from "./OutcomeSql.ts"

/**
 * What a claimed delivery sends. `url` is `null` if its endpoint or organization has ended, the last four if its event is no longer
 * stored.
 */
const Subject = Schema.Struct({
  ...FoundEvent.fields,
  lease: Schema.String,
  url: Schema.NullOr(Schema.String),
  /** The active secrets, newest first. */
  sealed: Schema.Array(Schema.String),
})
type Subject = typeof Subject.Type

interface AttemptQueries {
  /** Finds what these claims send. Run it with `QueueTransactions`, so that each claim is looked up by index. */
  readonly findSubjects: (rows: ReadonlyArray<ClaimedRow>, at: Date) => Effect.Effect<ReadonlyArray<Subject>>
  /**
   * Stores the outcomes of attempts: reschedules or deletes their deliveries, updates since when endpoints fail, and
   * inserts the attempts into the history. Returns the leases that were still valid; only those change the queue. It
   * locks in the order of `QueueRepo`.
   *
   * An endpoint with a lost lease keeps its health, which the next attempt decides. An attempt that is already
   * stored, by a commit whose response was lost, is not changed.
   */
  readonly storeOutcomes: (
    rows: ReadonlyArray<AttemptRow>,
    healths: ReadonlyArray<EndpointHealth>,
  ) => Effect.Effect<ReadonlySet<string>>
}

/** Stores outcomes whose deliveries it finds by this look-up. Returns those that it has locked. */
export type Store = (
  rows: ReadonlyArray<AttemptRow>,
  healths: ReadonlyArray<EndpointHealth>,
  lookUp: LookUp,
) => Effect.Effect<ReadonlyArray<FoundLease>>

/** Stores outcomes by location, and once more by key those of rows that were moved or lost. */
export const storeOutcomesBy = (store: Store) => {
  const storeBy = (
    lookUp: LookUp,
    rows: ReadonlyArray<AttemptRow>,
    healths: ReadonlyArray<EndpointHealth>,
  ): Effect.Effect<ReadonlySet<string>> =>
    Effect.flatMap(store(rows, healths, lookUp), (found) => {
      const settled = new Set(found.filter(({ isSettled }) => isSettled).map(({ lease }) => lease))
      const locked = new Set(found.map(({ lease }) => lease))
      // By key, a delivery that is not even locked has lost its lease.
      const again = rows.filter(({ id }) => !settled.has(id) && (lookUp === "location" || locked.has(id)))
      if (again.length === 0) return Effect.succeed(settled)
      const endpoints = new Set(again.map(endpointName))
      return Effect.map(
        storeBy(
          "key",
          again,
          healths.filter((health) => endpoints.has(endpointName(health))),
        ),
        (others) => new Set([...settled, ...others]),
      )
    })

  return (rows: ReadonlyArray<AttemptRow>, healths: ReadonlyArray<EndpointHealth>) => storeBy("location", rows, healths)
}

/** Finds what claims send. They are of the `organization`, which may be a column. */
export const findSubjects = (sql: SqlClient, rows: ReadonlyArray<ClaimedRow>, at: Date, organization: Fragment) =>
  decoded(Subject)(sql`
      SELECT claimed.lease, endpoint.url, event.type, event.occurred_at AS "occurredAt", event.actor,
        event.data::text AS data, event.previous::text AS previous,
        ARRAY(SELECT secret.sealed FROM webhook_secrets secret
          WHERE secret.organization_id = ${organization} AND secret.endpoint_id = claimed."endpointId"
            AND (secret.expires_at IS NULL OR secret.expires_at > ${at})
          ORDER BY secret.id DESC) AS sealed
      FROM unnest(
        (SELECT ${column("uuid", rows, ({ organizationId }) => organizationId)}),
        ${column("uuid", rows, ({ endpointId }) => endpointId)},
        ${column("uuid", rows, ({ eventId }) => eventId)},
        ${column("text", rows, ({ eventName }) => eventName)},
        ${column("uuid", rows, ({ lease }) => lease)}
      ) AS claimed ("organizationId", "endpointId", "eventId", "eventName", lease)
      LEFT JOIN LATERAL (
        SELECT url FROM webhook_endpoints WHERE organization_id = ${organization} AND id = claimed."endpointId"
          AND (disabled_at IS NULL OR claimed."eventName" = ${TEST_EVENT})
          AND NOT ${sql.literal(isRemoved("webhook_endpoints.organization_id"))} OFFSET 0
      ) endpoint ON true
      LEFT JOIN LATERAL (${eventContent(sql, organization, `claimed."eventId"`)} OFFSET 0
      ) event ON true`)

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const { ask } = yield* AttemptEnds
  const parts = outcomeSql(sql)

  /**
   * Stores outcomes whose deliveries the statement finds and sees. It is one, because each costs a round trip; each of its parts reads
   * the one before it, and so locks after it. A delivery that another transaction changed while the
   * statement waited for its lock is locked, but its new row is not visible: it stays unsettled, and nothing of it is stored.
   */
  const storeVisible: Store = (rows, healths, lookUp) => {
    const { isLeaseValid, isRecorded } = parts.lookUps[lookUp]
    return decoded(FoundLease)(
      ask(
        (connection) => connection`
      WITH made AS MATERIALIZED (${parts.made(rows)}
      ), lost AS MATERIALIZED (
        SELECT made."organizationId", made."endpointId" FROM made
        WHERE NOT EXISTS (SELECT 1 FROM webhook_queue queue WHERE ${isLeaseValid} OFFSET 0)
      ), changing AS MATERIALIZED (
        SELECT endpoint.organization_id, endpoint.id, health."failingSince"
        FROM ${parts.healthRows(healths)}
        JOIN webhook_endpoints endpoint
          ON endpoint.organization_id = health."organizationId" AND endpoint.id = health."endpointId"
        WHERE ${parts.isChanging}
          AND NOT EXISTS (SELECT 1 FROM lost
            WHERE lost."organizationId" = health."organizationId" AND lost."endpointId" = health."endpointId")
        ORDER BY endpoint.organization_id, endpoint.id FOR NO KEY UPDATE OF endpoint
      ), updated_health AS (
        UPDATE webhook_endpoints SET failing_since = changing."failingSince" FROM changing
        WHERE webhook_endpoints.organization_id = changing.organization_id AND webhook_endpoints.id = changing.id
      ), locked AS MATERIALIZED (
        SELECT leased.location, made.id AS lease, made.attempt, made."nextAttemptAt"
        FROM (SELECT * FROM made WHERE (SELECT count(*) FROM changing) IS NOT NULL
          ORDER BY "organizationId", "deliveryId") AS made
        CROSS JOIN LATERAL (SELECT queue.ctid AS location FROM webhook_queue queue WHERE ${isLeaseValid} FOR UPDATE) AS leased
      ), ${parts.settlement}
      ), recorded AS (
        INSERT INTO webhook_attempts (${parts.attemptColumns})
        SELECT made."organizationId", made."timestamp", made.id, made."deliveryId", made."eventId", made."eventName",
          made."endpointId", made."endpointUrl", made.attempt,
          CASE WHEN settled.lease IS NULL AND made.state = 'Failed' THEN 'Failure' ELSE made.state END,
          made."statusCode", made."responseBody", made.error, made."durationMs",
          CASE WHEN settled.lease IS NOT NULL THEN made."nextAttemptAt" END
        FROM made LEFT JOIN settled ON settled.lease = made.id
        WHERE ${isRecorded}
        ON CONFLICT (organization_id, "timestamp", id) DO NOTHING
      )
      ${parts.outcomes}`,
      ),
    )
  }

  return {
    findSubjects: (rows, at) => findSubjects(sql, rows, at, sql.literal(`claimed."organizationId"`)),
    storeOutcomes: storeOutcomesBy(storeVisible),
  } satisfies AttemptQueries
})

/** Attempts and their outcomes. */
export class AttemptsRepo extends Context.Service<AttemptsRepo, AttemptQueries>()(
  "keyshelf/webhooks/delivery/AttemptsRepo",
) {
  static readonly layer = Layer.effect(AttemptsRepo, make)
}
