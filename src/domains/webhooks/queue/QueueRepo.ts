/**
 * SQL of the queue and its lanes. All statements lock in one order: endpoints, queue rows, lanes, each by its key. Only
 * a claim locks lanes first; it skips locked rows, so it cannot deadlock.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema } from "effect"
import type { Fragment } from "effect/sql/Statement"
import { column, decoded, decodedValue, executed } from "../../../kernel/database/Statements.ts"
import { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { capOf, claimDue, isInFlight, organizationCap } from "./ClaimSql.ts"
import { EndpointKey } from "../Model.ts"
import { LockedLane } from "./Model.ts"
import type { ClaimLimits, ClaimRequest, LaneHead } from "./Model.ts"

/** A delivery to insert. */
export const QueueRow = Schema.Struct({
  organizationId: OrganizationId,
  id: Schema.String,
  endpointId: Schema.String,
  eventId: Schema.String,
  eventName: Schema.String,
  attempt: Schema.Int,
  dueAt: Schema.Date,
})
export type QueueRow = typeof QueueRow.Type

/** A claimed delivery. Its `dueAt` is that before the claim. */
const ClaimedRow = Schema.Struct({
  ...QueueRow.fields,
  /** How often this attempt was claimed, this claim included. */
  claims: Schema.Int,
  /** The id of the attempt. */
  lease: Schema.String,
  /** Where the row is, until another transaction changes it (`ctid`). */
  location: Schema.String,
})
export type ClaimedRow = typeof ClaimedRow.Type

/** Identifies a claim. */
type ClaimKey = Pick<ClaimedRow, "organizationId" | "id" | "lease">

const MAX_LANES_PER_CLAIM = 64

/** Deliveries of the queue, and the lanes of their endpoints. */
export class QueueRepo extends Context.Service<
  QueueRepo,
  {
    /** Inserts deliveries. A delivery that is already in the queue is not changed. */
    readonly insert: (rows: ReadonlyArray<QueueRow>) => Effect.Effect<void>
    /**
     * Lowers the heads of lanes to their new deliveries. Must run after the insert, in the same transaction: a
     * concurrent claim then either sees the delivery or waits for this update. Claims read nothing before the head.
     */
    readonly lowerLaneHeads: (heads: ReadonlyArray<LaneHead>) => Effect.Effect<void>
    /**
     * Lowers the heads of the lanes whose deliveries the statement made due at this time. Returns how many deliveries.
     */
    readonly lowerHeadsOf: (released: Effect.Effect<ReadonlyArray<EndpointKey>>, dueAt: Date) => Effect.Effect<number>
    /**
     * Marks the lane of an endpoint as paused or not. Claims skip a paused lane; one that has locked it before ends first. Deliveries can be
     * queued meanwhile. Lock the endpoint first.
     */
    readonly pauseLane: (endpoint: EndpointKey, paused: boolean) => Effect.Effect<void>
    /**
     * When the next delivery of any lane that is not paused is due; `null` if there is none. In the past while limits are reached.
     */
    readonly nextDue: Effect.Effect<Date | null>
    /** Locks lanes with due deliveries that are below their limits, least recently served first. Skips locked and paused lanes. */
    readonly lockLanes: (limits: ClaimLimits) => Effect.Effect<ReadonlyArray<LockedLane>>
    /**
     * Claims due rows of locked lanes round robin: the oldest of each lane, then the second of each. It is separate
     * from `lockLanes`, so that it counts the leases of the transactions that held the lanes before. It locks only the
     * rows that it takes, because each lock is a write.
     *
     * The shape of the statement does not depend on statistics. Rows are found by their location, because a join would
     * read the whole table. `IS TRUE` disables the index on `due_at`, which would read everything that is due.
     * Subqueries around lists of ids make a generic plan read each list once, not once per row.
     */
    readonly claimDue: (
      lanes: ReadonlyArray<LockedLane>,
      request: ClaimRequest,
    ) => Effect.Effect<ReadonlyArray<ClaimedRow>>
    /**
     * Stores that the lanes were served, and when their next delivery is due. The search starts at the old head: while
     * another transaction is old, every row that was taken before is still in the index. Only an empty result is
     * searched from the start.
     */
    readonly markLanesServed: (lanes: ReadonlyArray<LockedLane>, at: Date) => Effect.Effect<void>
    /** Releases claims whose attempts never began: due at once, as if they had not been claimed. */
    readonly releaseClaims: (claims: ReadonlyArray<ClaimKey>, at: Date) => Effect.Effect<number>
    /** Releases claims by their leases alone, when it is unknown which rows have them, or whether there are any. */
    readonly releaseLeases: (leases: ReadonlyArray<string>, at: Date) => Effect.Effect<number>
  }
>()("keyshelf/webhooks/queue/QueueRepo") {
  static readonly layer = Layer.suspend(() => Layer.effect(QueueRepo, make))
}

const dueAtIn = decodedValue("dueAt", Schema.NullOr(Schema.Date))

/** The heads of lanes. */
const laneHeads = (sql: PgClient.PgClient) => {
  const lowerLaneHeads = (heads: ReadonlyArray<LaneHead>) =>
    heads.length === 0
      ? Effect.void
      : executed(sql`
        INSERT INTO webhook_lanes AS lane (organization_id, endpoint_id, head_due_at, last_served_at)
        SELECT head."organizationId", head."endpointId", min(head."dueAt"), 'epoch'
        FROM unnest(
          (SELECT ${column("uuid", heads, ({ organizationId }) => organizationId)}),
          ${column("uuid", heads, ({ endpointId }) => endpointId)},
          ${column("timestamptz", heads, ({ dueAt }) => dueAt)}
        ) AS head ("organizationId", "endpointId", "dueAt")
        GROUP BY head."organizationId", head."endpointId" ORDER BY head."organizationId", head."endpointId"
        ON CONFLICT (organization_id, endpoint_id) DO UPDATE SET head_due_at = excluded.head_due_at
        WHERE lane.head_due_at > excluded.head_due_at`)

  const lowerHeadsOf = (released: Effect.Effect<ReadonlyArray<EndpointKey>>, dueAt: Date) =>
    Effect.flatMap(released, (rows) => Effect.as(lowerLaneHeads(rows.map((row) => ({ ...row, dueAt }))), rows.length))

  return {
    lowerLaneHeads,
    lowerHeadsOf,

    pauseLane: ({ endpointId, organizationId }: EndpointKey, paused: boolean) =>
      executed(sql`
        INSERT INTO webhook_lanes (organization_id, endpoint_id, head_due_at, last_served_at, paused)
        VALUES (${organizationId}, ${endpointId}, 'infinity', 'epoch', ${paused})
        ON CONFLICT (organization_id, endpoint_id) DO UPDATE SET paused = excluded.paused`),

    nextDue: Effect.map(
      dueAtIn(sql`SELECT min(head_due_at) AS "dueAt" FROM webhook_lanes WHERE head_due_at < 'infinity' AND NOT paused`),
      Option.getOrNull,
    ),
  }
}

/** The lanes that a claim locks. */
const claimedLanes = (sql: PgClient.PgClient) => ({
  lockLanes: ({ at, endpointAhead, fastEndpoints, perEndpoint, ...limits }: ClaimLimits) =>
    decoded(LockedLane)(sql`
      WITH leased AS MATERIALIZED (
        SELECT organization_id, endpoint_id, count(*) AS leases, min(claimed_at) AS oldest FROM webhook_queue queue
        WHERE ${isInFlight(sql, limits)}
        GROUP BY organization_id, endpoint_id
      ), full_organizations AS MATERIALIZED (
        SELECT organization_id FROM leased GROUP BY organization_id HAVING sum(leases) >= ${organizationCap(sql, limits)}
      )
      SELECT lane.organization_id AS "organizationId", lane.endpoint_id AS "endpointId", lane.head_due_at AS "dueAt",
        lane.ctid::text AS "rowLocation", (SELECT min(oldest) FROM leased) AS "oldestClaimAt"
      FROM webhook_lanes lane
      WHERE lane.head_due_at <= ${at} AND lane.head_due_at < 'infinity' AND NOT lane.paused
        AND NOT EXISTS (SELECT 1 FROM leased WHERE leased.organization_id = lane.organization_id
          AND leased.endpoint_id = lane.endpoint_id
          AND leased.leases >= ${capOf(sql, "lane.endpoint_id", fastEndpoints, endpointAhead, perEndpoint)})
        AND NOT EXISTS (SELECT 1 FROM full_organizations WHERE full_organizations.organization_id = lane.organization_id)
      ORDER BY lane.last_served_at LIMIT ${MAX_LANES_PER_CLAIM} FOR UPDATE OF lane SKIP LOCKED`),

  markLanesServed: (lanes: ReadonlyArray<LockedLane>, at: Date) => {
    const first = (among: Fragment) => sql`(
      SELECT queue.due_at FROM webhook_queue queue
      WHERE queue.organization_id = webhook_lanes.organization_id AND queue.endpoint_id = webhook_lanes.endpoint_id ${among}
      ORDER BY queue.due_at LIMIT 1)`
    return executed(sql`
      UPDATE webhook_lanes SET last_served_at = ${at}, head_due_at = coalesce(
        ${first(sql`AND queue.due_at >= webhook_lanes.head_due_at`)}, ${first(sql``)}, 'infinity')
      WHERE ctid = ANY(${lanes.map((lane) => lane.rowLocation)}::text[]::tid[])`)
  },
})

/** What ends claims without an outcome. */
const releases = (sql: PgClient.PgClient, { lowerHeadsOf }: Pick<QueueRepo["Service"], "lowerHeadsOf">) => ({
  releaseClaims: (claims: ReadonlyArray<ClaimKey>, at: Date) =>
    lowerHeadsOf(
      decoded(EndpointKey)(sql`
        UPDATE webhook_queue SET lease = NULL, claimed_at = NULL, claims = claims - 1, due_at = ${at}
        FROM unnest(
          (SELECT ${column("uuid", claims, ({ organizationId }) => organizationId)}),
          ${column("uuid", claims, ({ id }) => id)},
          ${column("uuid", claims, ({ lease }) => lease)}
        ) AS claim ("organizationId", id, lease)
        WHERE webhook_queue.organization_id = claim."organizationId" AND webhook_queue.id = claim.id
          AND webhook_queue.lease = claim.lease
        RETURNING webhook_queue.organization_id AS "organizationId", webhook_queue.endpoint_id AS "endpointId"`),
      at,
    ),

  releaseLeases: (leases: ReadonlyArray<string>, at: Date) =>
    lowerHeadsOf(
      decoded(EndpointKey)(sql`
        UPDATE webhook_queue SET lease = NULL, claimed_at = NULL, claims = claims - 1, due_at = ${at}
        WHERE lease IS NOT NULL AND lease = ANY(${leases}::uuid[])
        RETURNING organization_id AS "organizationId", endpoint_id AS "endpointId"`),
      at,
    ),
})

const make = Effect.map(PgClient.PgClient, (sql) => {
  const heads = laneHeads(sql)
  return {
    insert: (rows: ReadonlyArray<QueueRow>) =>
      executed(sql`
        INSERT INTO webhook_queue (organization_id, id, endpoint_id, event_id, event_name, attempt, due_at)
        SELECT delivery."organizationId", delivery.id, delivery."endpointId", delivery."eventId", delivery."eventName",
          delivery.attempt, delivery."dueAt"
        FROM unnest(
          (SELECT ${column("uuid", rows, ({ organizationId }) => organizationId)}),
          ${column("uuid", rows, ({ id }) => id)},
          ${column("uuid", rows, ({ endpointId }) => endpointId)},
          ${column("uuid", rows, ({ eventId }) => eventId)},
          ${column("text", rows, ({ eventName }) => eventName)},
          ${column("int2", rows, ({ attempt }) => attempt)},
          ${column("timestamptz", rows, ({ dueAt }) => dueAt)}
        ) AS delivery ("organizationId", id, "endpointId", "eventId", "eventName", attempt, "dueAt")
        ON CONFLICT (organization_id, id) DO NOTHING`),

    ...heads,
    ...claimedLanes(sql),
    claimDue: (lanes: ReadonlyArray<LockedLane>, request: ClaimRequest) =>
      decoded(ClaimedRow)(claimDue(sql, lanes, request)),
    ...releases(sql, heads),
  }
})
