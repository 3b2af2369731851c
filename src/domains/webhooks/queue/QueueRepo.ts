/**
 * SQL of the queue and its lanes. Locks are taken in one order everywhere: endpoints, queue rows, lanes; each by its key.
 * Only a claim takes lanes first, and it waits for nothing.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import { column, records } from "../../../kernel/database/Statements.ts"
import { planByIndex } from "./QueueTransactions.ts"

/** A row to insert. */
export interface QueueRow {
  readonly organizationId: string
  readonly id: string
  readonly endpointId: string
  readonly eventId: string
  readonly eventName: string
  readonly attempt: number
  readonly dueAt: Date
}

/** The lane of an endpoint, and the instant from which it has work. */
export interface LaneHead {
  readonly organizationId: string
  readonly endpointId: string
  readonly dueAt: Date
}

/** A lane that is locked until the transaction ends. Nothing that it owes is due before its `dueAt`. */
export interface LockedLane extends LaneHead {
  readonly place: string
  /** When the oldest of all claims that are in flight was made; `null` if none is. */
  readonly oldestClaimAt: Date | null
}

/** A row that was claimed. `lease` is the id of the attempt that is being made, `claims` counts those without an end. */
export interface ClaimedRow {
  readonly organizationId: string
  readonly id: string
  readonly endpointId: string
  readonly eventId: string
  readonly eventName: string
  readonly attempt: number
  readonly claims: number
  readonly lease: string
  /** Since when it was due. */
  readonly dueAt: Date
}

/** Names a claim. */
export interface Held {
  readonly organizationId: string
  readonly id: string
  readonly lease: string
}

/** What a claim may take. */
export interface ClaimLimits {
  readonly at: Date
  readonly leaseEnd: Date
  /** No claim that was made before is in flight any more. */
  readonly inFlightSince: Date
  readonly perEndpoint: number
  readonly perOrganization: number
  /** Endpoints that may hold more, `endpointAhead`, if other nodes hold nothing of them. */
  readonly fastEndpoints: ReadonlyArray<string>
  readonly endpointAhead: number
  /** Organizations that may hold more, `organizationAhead`, if they hold nothing on other nodes. */
  readonly fastOrganizations: ReadonlyArray<string>
  readonly organizationAhead: number
  /** The node's leases whose exchange is over and whose end is being stored. */
  readonly ending: ReadonlyArray<string>
}

/** What a claim takes for a node. */
export interface ClaimRequest extends ClaimLimits {
  /** The node, if others can see its end. */
  readonly owner: string | null
  /** Ids for the claims, as many as may be made. */
  readonly leases: ReadonlyArray<string>
  /** The leases that the node holds already. */
  readonly own: ReadonlyArray<string>
  /** How many leases of this lane's endpoint the node may hold, if no other node holds any. */
  readonly allowance: (lane: LockedLane) => number
}

const LANES_PER_CLAIM = 64

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const run = (statement: Effect.Effect<unknown, SqlError>) => Effect.asVoid(Effect.orDie(statement))
  const heldRows = (held: ReadonlyArray<Held>) => sql`
    unnest(
      (SELECT ${column("uuid", held, ({ organizationId }) => organizationId)}),
      ${column("uuid", held, ({ id }) => id)},
      ${column("uuid", held, ({ lease }) => lease)}
    ) AS held ("organizationId", id, lease)`
  // Of the rows of `queue`, those that count against the caps.
  const isInFlight = ({ ending, inFlightSince }: Pick<ClaimLimits, "ending" | "inFlightSince">) => sql`
    queue.lease IS NOT NULL AND queue.claimed_at >= ${inFlightSince}
    AND NOT EXISTS (SELECT 1 FROM unnest(${ending}::uuid[]) AS ending (lease) WHERE ending.lease = queue.lease)`

  // How much something of this id may hold; a query of its own reads the list of what is fast once.
  const capOf = (id: string, fast: ReadonlyArray<string>, ahead: number, otherwise: number) => sql`
    CASE WHEN ${sql.literal(id)} = ANY((SELECT ${fast}::uuid[])::uuid[]) THEN ${ahead}::int ELSE ${otherwise}::int END`

  const organizationCap = ({
    fastOrganizations,
    organizationAhead,
    perOrganization,
  }: Pick<ClaimLimits, "fastOrganizations" | "organizationAhead" | "perOrganization">) =>
    capOf("organization_id", fastOrganizations, organizationAhead, perOrganization)

  return {
    /** A delivery that is in the queue stays as it is. */
    insert: (rows: ReadonlyArray<QueueRow>) =>
      run(sql`
        INSERT INTO webhook_queue (organization_id, id, endpoint_id, event_id, event_name, attempt, due_at)
        SELECT owed."organizationId", owed.id, owed."endpointId", owed."eventId", owed."eventName", owed.attempt,
          owed."dueAt"
        FROM unnest(
          (SELECT ${column("uuid", rows, ({ organizationId }) => organizationId)}),
          ${column("uuid", rows, ({ id }) => id)},
          ${column("uuid", rows, ({ endpointId }) => endpointId)},
          ${column("uuid", rows, ({ eventId }) => eventId)},
          ${column("text", rows, ({ eventName }) => eventName)},
          ${column("int2", rows, ({ attempt }) => attempt)},
          ${column("timestamptz", rows, ({ dueAt }) => dueAt)}
        ) AS owed ("organizationId", id, "endpointId", "eventId", "eventName", attempt, "dueAt")
        ON CONFLICT (organization_id, id) DO NOTHING`),

    /**
     * Tells the lanes of work. Called in the transaction that adds it, after it: a claim that looks at the lane either
     * sees the work or is corrected by this. A claim looks for nothing before the head.
     */
    lowerHeads: (heads: ReadonlyArray<LaneHead>) =>
      run(sql`
        INSERT INTO webhook_lanes AS lane (organization_id, endpoint_id, head_due_at, last_served_at)
        SELECT head."organizationId", head."endpointId", min(head."dueAt"), 'epoch'
        FROM unnest(
          (SELECT ${column("uuid", heads, ({ organizationId }) => organizationId)}),
          ${column("uuid", heads, ({ endpointId }) => endpointId)},
          ${column("timestamptz", heads, ({ dueAt }) => dueAt)}
        ) AS head ("organizationId", "endpointId", "dueAt")
        GROUP BY head."organizationId", head."endpointId" ORDER BY head."organizationId", head."endpointId"
        ON CONFLICT (organization_id, endpoint_id) DO UPDATE SET head_due_at = excluded.head_due_at
        WHERE lane.head_due_at > excluded.head_due_at`),

    /** Lanes that owe something before their head, where no claim finds it; at most so many. Run after `planByIndex`. */
    lateHeads: (most: number) =>
      records<LaneHead>()(sql`
        SELECT lane.organization_id AS "organizationId", lane.endpoint_id AS "endpointId", first.due_at AS "dueAt"
        FROM webhook_lanes lane
        CROSS JOIN LATERAL (
          SELECT queue.due_at FROM webhook_queue queue
          WHERE queue.organization_id = lane.organization_id AND queue.endpoint_id = lane.endpoint_id
          ORDER BY queue.due_at LIMIT 1
        ) AS first
        WHERE lane.head_due_at < 'infinity' AND first.due_at < lane.head_due_at LIMIT ${most}`),

    /** When a lane has work next; nothing if none has. May be in the past while caps are reached. */
    nextDue: Effect.map(
      records<{ dueAt: Date | null }>()(
        sql`SELECT min(head_due_at) AS "dueAt" FROM webhook_lanes WHERE head_due_at < 'infinity'`,
      ),
      ([row]) => row?.dueAt ?? null,
    ),

    /**
     * Lets what follows in this transaction find leases, and what waits in the outbox, by an index alone. The planner takes most rows
     * for leased until the table is analysed anew, and would read all of a long queue. Every delivery leaves a dead entry in that
     * index: an index scan marks it, and passes it over from then on; a bitmap scan would read it again in each claim until the next
     * vacuum. Of the outbox it would read all that waits for the few that are taken, and of a queue that was short a moment ago all of
     * an organization, to sort it. These plans are kept: whatever lanes are asked for, no other would be better.
     */
    planByIndex: planByIndex(sql),

    /**
     * Locks lanes with due work and room, least recently served first. Lanes that another node holds are passed over.
     */
    lockLanes: ({ at, endpointAhead, fastEndpoints, perEndpoint, ...limits }: ClaimLimits) =>
      records<LockedLane>()(sql`
        WITH leased AS MATERIALIZED (
          SELECT organization_id, endpoint_id, count(*) AS held, min(claimed_at) AS oldest FROM webhook_queue queue
          WHERE ${isInFlight(limits)}
          GROUP BY organization_id, endpoint_id
        ), full_organizations AS MATERIALIZED (
          SELECT organization_id FROM leased GROUP BY organization_id HAVING sum(held) >= ${organizationCap(limits)}
        )
        SELECT lane.organization_id AS "organizationId", lane.endpoint_id AS "endpointId", lane.head_due_at AS "dueAt",
          lane.ctid::text AS place, (SELECT min(oldest) FROM leased) AS "oldestClaimAt"
        FROM webhook_lanes lane
        WHERE lane.head_due_at <= ${at} AND lane.head_due_at < 'infinity'
          AND NOT EXISTS (SELECT 1 FROM leased WHERE leased.organization_id = lane.organization_id
            AND leased.endpoint_id = lane.endpoint_id
            AND leased.held >= ${capOf("lane.endpoint_id", fastEndpoints, endpointAhead, perEndpoint)})
          AND NOT EXISTS (SELECT 1 FROM full_organizations WHERE full_organizations.organization_id = lane.organization_id)
        ORDER BY lane.last_served_at LIMIT ${LANES_PER_CLAIM} FOR UPDATE OF lane SKIP LOCKED`),

    /**
     * Claims due rows of locked lanes, in turns: the oldest of each lane, then the second of each. A statement of its
     * own, so that it counts the leases of whoever held the lanes before. Only what is taken gets locked: a lock is a
     * write. Rows are found by their place: with stale statistics a join reads the whole table, and an index on what is due all that is
     * due, so that cannot be used (`IS TRUE`). Lists of ids are
     * read once, in a query of their own: without it, a plan for all parameters reads them again for each row.
     */
    claim: (lanes: ReadonlyArray<LockedLane>, { allowance, leases, own, owner, ...limits }: ClaimRequest) => {
      // Of many lanes each gets little; reading on for as much as it might take alone would be in vain.
      const share = Math.max(limits.perEndpoint, Math.ceil(leases.length / lanes.length))
      return records<ClaimedRow>()(sql`
        WITH lane AS MATERIALIZED (
          SELECT * FROM unnest(${lanes.map((lane) => lane.organizationId)}::uuid[],
            ${lanes.map((lane) => lane.endpointId)}::uuid[], ${lanes.map((lane) => lane.dueAt)}::timestamptz[],
            ${lanes.map(allowance)}::int[]) WITH ORDINALITY AS lane (organization_id, endpoint_id, head, allowance, ordinal)
        ), leased AS MATERIALIZED (
          SELECT organization_id, endpoint_id, count(*) AS held,
            count(*) FILTER (WHERE own.lease IS NULL) AS of_others
          FROM webhook_queue queue
          LEFT JOIN unnest(${own}::uuid[]) AS own (lease) ON own.lease = queue.lease
          WHERE ${isInFlight(limits)}
          GROUP BY organization_id, endpoint_id
        ), room AS MATERIALIZED (
          SELECT lane.organization_id, lane.endpoint_id, lane.head, lane.ordinal,
            least(greatest(CASE WHEN leased.of_others > 0 THEN ${limits.perEndpoint} ELSE lane.allowance END
              - coalesce(leased.held, 0), 0), ${share}) AS rows
          FROM lane
          LEFT JOIN leased ON leased.organization_id = lane.organization_id AND leased.endpoint_id = lane.endpoint_id
        ), due AS (
          SELECT room.organization_id, room.ordinal, row.place, row.turn
          FROM room
          CROSS JOIN LATERAL (
            SELECT queue.ctid AS place, row_number() OVER (ORDER BY queue.due_at ROWS UNBOUNDED PRECEDING) AS turn
            FROM webhook_queue queue
            WHERE queue.organization_id = room.organization_id AND queue.endpoint_id = room.endpoint_id
              AND queue.due_at >= room.head AND queue.due_at <= ${limits.at}
            ORDER BY queue.due_at LIMIT room.rows
          ) AS row
        ), in_organization AS (
          SELECT due.*, row_number() OVER (PARTITION BY organization_id ORDER BY turn, ordinal) AS number FROM due
        ), candidate AS MATERIALIZED (
          SELECT in_organization.place FROM in_organization
          LEFT JOIN (
            SELECT organization_id, sum(held) AS held,
              CASE WHEN sum(of_others) > 0 THEN ${limits.perOrganization} ELSE ${organizationCap(limits)} END AS cap
            FROM leased GROUP BY organization_id
          ) AS organization ON organization.organization_id = in_organization.organization_id
          WHERE in_organization.number
            <= coalesce(organization.cap, ${limits.perOrganization}) - coalesce(organization.held, 0)
          ORDER BY in_organization.turn, in_organization.ordinal LIMIT ${leases.length}
        ), chosen AS MATERIALIZED (
          SELECT ctid AS place, due_at FROM webhook_queue
          WHERE ctid = ANY(ARRAY(SELECT place FROM candidate)) AND (due_at <= ${limits.at}) IS TRUE
          FOR UPDATE SKIP LOCKED
        )
        UPDATE webhook_queue SET due_at = ${limits.leaseEnd}, claimed_at = ${limits.at}, claims = claims + 1,
          owner = ${owner}::uuid,
          lease = ((SELECT ${leases}::uuid[])::uuid[])[array_position(ARRAY(SELECT place FROM chosen), webhook_queue.ctid)]
        WHERE webhook_queue.ctid = ANY(ARRAY(SELECT place FROM chosen))
        RETURNING organization_id AS "organizationId", id, endpoint_id AS "endpointId", event_id AS "eventId",
          event_name AS "eventName", attempt, claims, lease,
          (ARRAY(SELECT due_at FROM chosen))[array_position((SELECT ${leases}::uuid[]), lease)] AS "dueAt"`)
    },

    /**
     * Notes that the lanes were served, and when they have work next. That is looked for from the head on, because what was taken
     * before is passed over one by one while somebody has an old transaction open; from the very beginning only where nothing is left.
     */
    touchLanes: (lanes: ReadonlyArray<LockedLane>, at: Date) => {
      const first = (among: Fragment) => sql`(
        SELECT queue.due_at FROM webhook_queue queue
        WHERE queue.organization_id = webhook_lanes.organization_id AND queue.endpoint_id = webhook_lanes.endpoint_id ${among}
        ORDER BY queue.due_at LIMIT 1)`
      return run(sql`
        UPDATE webhook_lanes SET last_served_at = ${at}, head_due_at = coalesce(
          ${first(sql`AND queue.due_at >= webhook_lanes.head_due_at`)}, ${first(sql``)}, 'infinity')
        WHERE ctid = ANY(${lanes.map((lane) => lane.place)}::text[]::tid[])`)
    },

    /** Gives claims back whose attempts never began: due at once, as if they had not been claimed. */
    release: (claims: ReadonlyArray<Held>, at: Date) =>
      Effect.map(
        records<{ organizationId: string; endpointId: string }>()(sql`
          UPDATE webhook_queue SET lease = NULL, claimed_at = NULL, claims = claims - 1, due_at = ${at}
          FROM ${heldRows(claims)}
          WHERE webhook_queue.organization_id = held."organizationId" AND webhook_queue.id = held.id
            AND webhook_queue.lease = held.lease
          RETURNING webhook_queue.organization_id AS "organizationId", webhook_queue.endpoint_id AS "endpointId"`),
        (rows) => rows.map((row) => ({ ...row, dueAt: at })),
      ),

    /** {@link release} by leases alone, where nobody knows which rows they are of, or whether there are any. */
    releaseLeases: (leases: ReadonlyArray<string>, at: Date) =>
      Effect.map(
        records<{ organizationId: string; endpointId: string }>()(sql`
          UPDATE webhook_queue SET lease = NULL, claimed_at = NULL, claims = claims - 1, due_at = ${at}
          WHERE lease IS NOT NULL AND lease = ANY(${leases}::uuid[])
          RETURNING organization_id AS "organizationId", endpoint_id AS "endpointId"`),
        (rows) => rows.map((row) => ({ ...row, dueAt: at })),
      ),
  }
})

/** Rows of the queue. */
export class QueueRepo extends Context.Service<QueueRepo, Effect.Success<typeof make>>()(
  "keyshelf/webhooks/QueueRepo",
) {
  static readonly layer = Layer.effect(QueueRepo, make)
}
