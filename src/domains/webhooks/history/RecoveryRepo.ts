/** SQL of the recovery of an endpoint: the deliveries of a period that did not succeed, in bounded pieces. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema, Struct } from "effect"
import type { Position } from "../../../kernel/contract/Page.ts"
import { column, decoded, decodedColumn, decodedValue, executed } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { QueueRow } from "../queue/QueueRepo.ts"
import type { EndpointKey } from "../Model.ts"
import type { TimeRange } from "./RecoveryRules.ts"

/** A delivery that may be recovered, with the time and id of its first attempt. */
const Candidate = Schema.Struct({ deliveryId: Schema.String, timestamp: Schema.Date, id: Schema.String })
type Candidate = typeof Candidate.Type

/** The last attempt of a delivery that failed. */
const FailedDelivery = QueueRow.mapFields(Struct.pick(["id", "eventId", "eventName", "attempt"]))
type FailedDelivery = typeof FailedDelivery.Type

const RECENT_ATTEMPTS = 50

/** Deliveries that can be recovered. */
export class RecoveryRepo extends Context.Service<
  RecoveryRepo,
  {
    /** The mean duration of the last successful attempts in milliseconds; `null` if there is none. */
    readonly meanDuration: (endpoint: EndpointKey, since: Date) => Effect.Effect<number | null>
    /** Finds up to `count` deliveries whose first attempt did not succeed, in the order of these attempts. */
    readonly findCandidates: (
      endpoint: EndpointKey,
      range: TimeRange,
      after: Position,
      count: number,
    ) => Effect.Effect<ReadonlyArray<Candidate>>
    /** Locks those of these deliveries that wait for an attempt, and returns their ids. No claim can take them then. */
    readonly lockWaiting: (
      organizationId: OrganizationId,
      deliveryIds: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyArray<string>>
    /** Which of these deliveries wait for an attempt. */
    readonly findWaiting: (
      organizationId: OrganizationId,
      deliveryIds: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyArray<string>>
    /** Makes locked deliveries due at these times, unless they are due earlier. */
    readonly advance: (
      organizationId: OrganizationId,
      rows: ReadonlyArray<Pick<QueueRow, "id" | "dueAt">>,
    ) => Effect.Effect<void>
    /** Which of these deliveries are in the queue. */
    readonly findQueued: (
      organizationId: OrganizationId,
      deliveryIds: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyArray<string>>
    /**
     * Finds the last attempts of these deliveries, unless they succeeded. None is older than `since`. Must run after
     * `findQueued`: a delivery that left the queue in between is then in the history. One scan of each partition,
     * because a look-up per delivery would open all partitions each time.
     */
    readonly findFailed: (
      organizationId: OrganizationId,
      deliveryIds: ReadonlyArray<string>,
      since: Date,
    ) => Effect.Effect<ReadonlyArray<FailedDelivery>>
  }
>()("keyshelf/webhooks/history/RecoveryRepo") {
  static readonly layer = Layer.suspend(() => Layer.effect(RecoveryRepo, make))
}

const meanIn = decodedValue("mean", Schema.NullOr(Schema.Finite))
const idsIn = decodedColumn("id", Schema.String)

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient

  return RecoveryRepo.of({
    meanDuration: ({ endpointId, organizationId }, since) =>
      Effect.map(
        meanIn(sql`
          SELECT avg(duration_ms)::float8 AS mean FROM (
            SELECT duration_ms FROM webhook_attempts
            WHERE organization_id = ${organizationId} AND endpoint_id = ${endpointId} AND "timestamp" >= ${since}
              AND state = 'Success'
            ORDER BY "timestamp" DESC, id DESC LIMIT ${RECENT_ATTEMPTS}) AS recent`),
        Option.getOrNull,
      ),

    findCandidates: ({ endpointId, organizationId }, { since, until }, [timestamp, id], count) => {
      // The state is a literal, so that PostgreSQL uses the partial index of an endpoint's failures.
      const inState = (state: "Failure" | "Failed") => sql`
        (SELECT delivery_id AS "deliveryId", "timestamp", id FROM webhook_attempts
        WHERE organization_id = ${organizationId} AND endpoint_id = ${endpointId} AND state = ${sql.literal(`'${state}'`)}
          AND attempt = 1 AND "timestamp" >= ${since} AND "timestamp" < ${until}
          -- Implied by the next condition, but excludes the partitions of earlier days.
          AND "timestamp" >= ${timestamp}::timestamptz
          AND ("timestamp", id) > (${timestamp}::timestamptz, ${id}::uuid)
        ORDER BY "timestamp", id LIMIT ${count})`
      return decoded(Candidate)(sql`
        SELECT * FROM (${inState("Failure")} UNION ALL ${inState("Failed")}) AS attempts
        ORDER BY "timestamp", id LIMIT ${count}`)
    },

    lockWaiting: (organizationId, deliveryIds) =>
      idsIn(sql`
        SELECT id FROM webhook_queue
        WHERE organization_id = ${organizationId} AND id = ANY(${deliveryIds}::uuid[]) AND lease IS NULL
        ORDER BY id FOR UPDATE SKIP LOCKED`),

    findWaiting: (organizationId, deliveryIds) =>
      idsIn(sql`
        SELECT id FROM webhook_queue
        WHERE organization_id = ${organizationId} AND id = ANY(${deliveryIds}::uuid[]) AND lease IS NULL`),

    advance: (organizationId, rows) =>
      executed(sql`
        UPDATE webhook_queue SET due_at = least(webhook_queue.due_at, advanced."dueAt")
        FROM unnest(
          (SELECT ${column("uuid", rows, ({ id }) => id)}), ${column("timestamptz", rows, ({ dueAt }) => dueAt)}
        ) AS advanced (id, "dueAt")
        WHERE webhook_queue.organization_id = ${organizationId} AND webhook_queue.id = advanced.id`),

    findQueued: (organizationId, deliveryIds) =>
      idsIn(sql`
        SELECT id FROM webhook_queue
        WHERE organization_id = ${organizationId} AND id = ANY(${deliveryIds}::uuid[])`),

    findFailed: (organizationId, deliveryIds, since) =>
      decoded(FailedDelivery)(sql`
        SELECT id, attempt, "eventId", "eventName" FROM (
          SELECT DISTINCT ON (delivery_id) delivery_id AS id, attempt, event_id AS "eventId", event_name AS "eventName", state
          FROM webhook_attempts
          WHERE organization_id = ${organizationId} AND delivery_id = ANY(${deliveryIds}::uuid[])
            AND "timestamp" >= ${since}
          ORDER BY delivery_id, attempt DESC, "timestamp" DESC
        ) AS last WHERE state <> 'Success'`),
  })
})
