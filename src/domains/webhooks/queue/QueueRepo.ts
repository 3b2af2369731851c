/**
 * SQL of the queue and its lanes. All statements lock in one order: endpoints, queue rows, lanes, each by its key. Only
 * a claim locks lanes first; it skips locked rows, so it cannot deadlock.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import type { Fragment } from "effect/sql/Statement"
import { column, executed, records } from "../../../kernel/database/Statements.ts"

/** A delivery to insert. */
export interface QueueRow {
  readonly organizationId: string
  readonly id: string
  readonly endpointId: string
  readonly eventId: string
  readonly eventName: string
  readonly attempt: number
  readonly dueAt: Date
}

/** The lane of an endpoint, and when its next delivery is due. */
export interface LaneHead {
  readonly organizationId: string
  readonly endpointId: string
  readonly dueAt: Date
}

/** A lane that is locked until the transaction ends. None of its deliveries is due before its `dueAt`. */
export interface LockedLane extends LaneHead {
  readonly rowLocation: string
  /** When the oldest claim in flight was made, over all lanes; `null` if none is in flight. */
  readonly oldestClaimAt: Date | null
}

/** A claimed delivery. Its `dueAt` is that before the claim. */
export interface ClaimedRow extends QueueRow {
  /** How often this attempt was claimed, this claim included. */
  readonly claims: number
  /** The id of the attempt. */
  readonly lease: string
  /** Where the row is, until another transaction changes it (`ctid`). */
  readonly location: string
}

/** Identifies a claim. */
type ClaimKey = Pick<ClaimedRow, "organizationId" | "id" | "lease">

/** The limits of a claim. */
interface ClaimLimits {
  readonly at: Date
  readonly leaseEnd: Date
  /** No earlier claim is still in flight. */
  readonly inFlightSince: Date
  readonly perEndpoint: number
  readonly perOrganization: number
  /** Endpoints with the higher limit `endpointAhead`, while other nodes hold none of their leases. */
  readonly fastEndpoints: ReadonlyArray<string>
  readonly endpointAhead: number
  /** Organizations with the higher limit `organizationAhead`, while other nodes hold none of their leases. */
  readonly fastOrganizations: ReadonlyArray<string>
  readonly organizationAhead: number
  /** Leases of this node whose exchange is over and whose outcome is being stored. */
  readonly recording: ReadonlyArray<string>
}

/** A claim for a node. */
interface ClaimRequest extends ClaimLimits {
  /** The node, if other nodes can detect its end. */
  readonly owner: string | null
  /** Ids for the claims: the maximum number of deliveries to claim. */
  readonly leases: ReadonlyArray<string>
  /** The leases that the node holds already. */
  readonly ownLeases: ReadonlyArray<string>
  /** The maximum number of leases of this lane's endpoint on this node, if no other node holds any. */
  readonly allowance: (lane: LockedLane) => number
}

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
    readonly lowerHeadsOf: (
      released: Effect.Effect<ReadonlyArray<Omit<LaneHead, "dueAt">>>,
      dueAt: Date,
    ) => Effect.Effect<number>
    /** When the next delivery of any lane is due; `null` if there is none. In the past while limits are reached. */
    readonly nextDue: Effect.Effect<Date | null>
    /** Locks lanes with due deliveries that are below their limits, least recently served first. Skips locked lanes. */
    readonly lockLanes: (input: ClaimLimits) => Effect.Effect<ReadonlyArray<LockedLane>>
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
      input: ClaimRequest,
    ) => Effect.Effect<ReadonlyArray<ClaimedRow>>
    /**
     * Stores that the lanes were served, and when their next delivery is due. The search starts at the old head: while
     * another transaction is old, every row that was taken before is still in the index. Only an empty result is
     * searched from the start.
     */
    readonly markLanesServed: (lanes: ReadonlyArray<LockedLane>, at: Date) => Effect.Effect<void>
    /** Releases claims whose attempts never began: due at once, as if they had not been claimed. */
    readonly releaseClaims: (claims: ReadonlyArray<ClaimKey>, at: Date) => Effect.Effect<number>
    /**
     * {@link releaseClaims} by leases alone, when it is unknown which rows they belong to, or whether there are any.
     */
    readonly releaseLeases: (leases: ReadonlyArray<string>, at: Date) => Effect.Effect<number>
  }
>()("keyshelf/webhooks/queue/QueueRepo") {
  static readonly layer = Layer.effect(
    QueueRepo,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient

  // The rows of `queue` that count against the limits.
  const isInFlight = ({ inFlightSince, recording }: Pick<ClaimLimits, "recording" | "inFlightSince">) => sql`
    queue.lease IS NOT NULL AND queue.claimed_at >= ${inFlightSince}
    AND NOT EXISTS (SELECT 1 FROM unnest(${recording}::uuid[]) AS recording (lease) WHERE recording.lease = queue.lease)`

  // The maximum number of leases of an id. The subquery makes PostgreSQL read the list of fast ids once, not once per
  // row.
  const capOf = (id: string, fast: ReadonlyArray<string>, ahead: number, otherwise: number) => sql`
    CASE WHEN ${sql.literal(id)} = ANY((SELECT ${fast}::uuid[])::uuid[]) THEN ${ahead}::int ELSE ${otherwise}::int END`

  const organizationCap = ({
    fastOrganizations,
    organizationAhead,
    perOrganization,
  }: Pick<ClaimLimits, "fastOrganizations" | "organizationAhead" | "perOrganization">) =>
    capOf("organization_id", fastOrganizations, organizationAhead, perOrganization)

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

  const lowerHeadsOf = (released: Effect.Effect<ReadonlyArray<Omit<LaneHead, "dueAt">>>, dueAt: Date) =>
    Effect.flatMap(released, (rows) => Effect.as(lowerLaneHeads(rows.map((row) => ({ ...row, dueAt }))), rows.length))

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

    lowerLaneHeads,

    lowerHeadsOf,

    nextDue: Effect.map(
      records<{ dueAt: Date | null }>()(
        sql`SELECT min(head_due_at) AS "dueAt" FROM webhook_lanes WHERE head_due_at < 'infinity'`,
      ),
      ([row]) => row?.dueAt ?? null,
    ),

    lockLanes: ({ at, endpointAhead, fastEndpoints, perEndpoint, ...limits }: ClaimLimits) =>
      records<LockedLane>()(sql`
        WITH leased AS MATERIALIZED (
          SELECT organization_id, endpoint_id, count(*) AS leases, min(claimed_at) AS oldest FROM webhook_queue queue
          WHERE ${isInFlight(limits)}
          GROUP BY organization_id, endpoint_id
        ), full_organizations AS MATERIALIZED (
          SELECT organization_id FROM leased GROUP BY organization_id HAVING sum(leases) >= ${organizationCap(limits)}
        )
        SELECT lane.organization_id AS "organizationId", lane.endpoint_id AS "endpointId", lane.head_due_at AS "dueAt",
          lane.ctid::text AS "rowLocation", (SELECT min(oldest) FROM leased) AS "oldestClaimAt"
        FROM webhook_lanes lane
        WHERE lane.head_due_at <= ${at} AND lane.head_due_at < 'infinity'
          AND NOT EXISTS (SELECT 1 FROM leased WHERE leased.organization_id = lane.organization_id
            AND leased.endpoint_id = lane.endpoint_id
            AND leased.leases >= ${capOf("lane.endpoint_id", fastEndpoints, endpointAhead, perEndpoint)})
          AND NOT EXISTS (SELECT 1 FROM full_organizations WHERE full_organizations.organization_id = lane.organization_id)
        ORDER BY lane.last_served_at LIMIT ${MAX_LANES_PER_CLAIM} FOR UPDATE OF lane SKIP LOCKED`),

    claimDue: (lanes: ReadonlyArray<LockedLane>, { allowance, leases, ownLeases, owner, ...limits }: ClaimRequest) => {
      // Many lanes get few rows each, so reading the full allowance of each lane would be wasted.
      const share = Math.max(limits.perEndpoint, Math.ceil(leases.length / lanes.length))
      return records<ClaimedRow>()(sql`
        WITH lane AS MATERIALIZED (
          SELECT * FROM unnest(${lanes.map((lane) => lane.organizationId)}::uuid[],
            ${lanes.map((lane) => lane.endpointId)}::uuid[], ${lanes.map((lane) => lane.dueAt)}::timestamptz[],
            ${lanes.map(allowance)}::int[]) WITH ORDINALITY AS lane (organization_id, endpoint_id, head, allowance, ordinal)
        ), leased AS MATERIALIZED (
          SELECT organization_id, endpoint_id, count(*) AS leases,
            count(*) FILTER (WHERE own.lease IS NULL) AS of_others
          FROM webhook_queue queue
          LEFT JOIN unnest(${ownLeases}::uuid[]) AS own (lease) ON own.lease = queue.lease
          WHERE ${isInFlight(limits)}
          GROUP BY organization_id, endpoint_id
        ), room AS MATERIALIZED (
          SELECT lane.organization_id, lane.endpoint_id, lane.head, lane.ordinal,
            least(greatest(CASE WHEN leased.of_others > 0 THEN ${limits.perEndpoint} ELSE lane.allowance END
              - coalesce(leased.leases, 0), 0), ${share}) AS rows
          FROM lane
          LEFT JOIN leased ON leased.organization_id = lane.organization_id AND leased.endpoint_id = lane.endpoint_id
        ), due AS (
          SELECT room.organization_id, room.ordinal, row.location, row.turn
          FROM room
          CROSS JOIN LATERAL (
            SELECT queue.ctid AS location, row_number() OVER (ORDER BY queue.due_at ROWS UNBOUNDED PRECEDING) AS turn
            FROM webhook_queue queue
            WHERE queue.organization_id = room.organization_id AND queue.endpoint_id = room.endpoint_id
              AND queue.due_at >= room.head AND queue.due_at <= ${limits.at}
            ORDER BY queue.due_at LIMIT room.rows
          ) AS row
        ), in_organization AS (
          SELECT due.*, row_number() OVER (PARTITION BY organization_id ORDER BY turn, ordinal) AS number FROM due
        ), candidate AS MATERIALIZED (
          SELECT in_organization.location FROM in_organization
          LEFT JOIN (
            SELECT organization_id, sum(leases) AS leases,
              CASE WHEN sum(of_others) > 0 THEN ${limits.perOrganization} ELSE ${organizationCap(limits)} END AS cap
            FROM leased GROUP BY organization_id
          ) AS organization ON organization.organization_id = in_organization.organization_id
          WHERE in_organization.number
            <= coalesce(organization.cap, ${limits.perOrganization}) - coalesce(organization.leases, 0)
          ORDER BY in_organization.turn, in_organization.ordinal LIMIT ${leases.length}
        ), chosen AS MATERIALIZED (
          SELECT ctid AS location, due_at FROM webhook_queue
          WHERE ctid = ANY(ARRAY(SELECT location FROM candidate)) AND (due_at <= ${limits.at}) IS TRUE
          FOR UPDATE SKIP LOCKED
        )
        UPDATE webhook_queue SET due_at = ${limits.leaseEnd}, claimed_at = ${limits.at}, claims = claims + 1,
          owner = ${owner}::uuid,
          lease = ((SELECT ${leases}::uuid[])::uuid[])[array_position(ARRAY(SELECT location FROM chosen), webhook_queue.ctid)]
        WHERE webhook_queue.ctid = ANY(ARRAY(SELECT location FROM chosen))
        RETURNING organization_id AS "organizationId", id, endpoint_id AS "endpointId", event_id AS "eventId",
          event_name AS "eventName", attempt, claims, lease, webhook_queue.ctid::text AS location,
          (ARRAY(SELECT due_at FROM chosen))[array_position((SELECT ${leases}::uuid[]), lease)] AS "dueAt"`)
    },

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

    releaseClaims: (claims: ReadonlyArray<ClaimKey>, at: Date) =>
      lowerHeadsOf(
        records<Omit<LaneHead, "dueAt">>()(sql`
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
        records<Omit<LaneHead, "dueAt">>()(sql`
          UPDATE webhook_queue SET lease = NULL, claimed_at = NULL, claims = claims - 1, due_at = ${at}
          WHERE lease IS NOT NULL AND lease = ANY(${leases}::uuid[])
          RETURNING organization_id AS "organizationId", endpoint_id AS "endpointId"`),
        at,
      ),
  }
})
