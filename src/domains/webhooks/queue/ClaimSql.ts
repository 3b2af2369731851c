/** SQL of claims: which rows count against the limits, and which become due for a node. */
import type { PgClient } from "@effect/sql-pg"
import type { ClaimLimits, ClaimRequest, LockedLane } from "./Model.ts"

/** The rows of `queue` that count against the limits. */
export const isInFlight = (
  sql: PgClient.PgClient,
  { inFlightSince, recording }: Pick<ClaimLimits, "recording" | "inFlightSince">,
) => sql`
  queue.lease IS NOT NULL AND queue.claimed_at >= ${inFlightSince}
  AND NOT EXISTS (SELECT 1 FROM unnest(${recording}::uuid[]) AS recording (lease) WHERE recording.lease = queue.lease)`

/**
 * The maximum number of leases of an id. The subquery makes PostgreSQL read the list of fast ids once, not once per row.
 */
export const capOf = (
  sql: PgClient.PgClient,
  id: string,
  fast: ReadonlyArray<string>,
  ahead: number,
  otherwise: number,
) => sql`
  CASE WHEN ${sql.literal(id)} = ANY((SELECT ${fast}::uuid[])::uuid[]) THEN ${ahead}::int ELSE ${otherwise}::int END`

/** The maximum number of leases of the organization of a row. */
export const organizationCap = (
  sql: PgClient.PgClient,
  {
    fastOrganizations,
    organizationAhead,
    perOrganization,
  }: Pick<ClaimLimits, "fastOrganizations" | "organizationAhead" | "perOrganization">,
) => capOf(sql, "organization_id", fastOrganizations, organizationAhead, perOrganization)

/** Claims due rows of locked lanes. */
export const claimDue = (
  sql: PgClient.PgClient,
  lanes: ReadonlyArray<LockedLane>,
  { allowance, leases, ownLeases, owner, ...limits }: ClaimRequest,
) => {
  // Many lanes get few rows each, so reading the full allowance of each lane would be wasted.
  const share = Math.max(limits.perEndpoint, Math.ceil(leases.length / lanes.length))
  return sql`
      WITH lane AS MATERIALIZED (
        SELECT * FROM unnest(${lanes.map((lane) => lane.organizationId)}::uuid[],
          ${lanes.map((lane) => lane.endpointId)}::uuid[], ${lanes.map((lane) => lane.dueAt)}::timestamptz[],
          ${lanes.map(allowance)}::int[]) WITH ORDINALITY AS lane (organization_id, endpoint_id, head, allowance, ordinal)
      ), leased AS MATERIALIZED (
        SELECT organization_id, endpoint_id, count(*) AS leases,
          count(*) FILTER (WHERE own.lease IS NULL) AS of_others
        FROM webhook_queue queue
        LEFT JOIN unnest(${ownLeases}::uuid[]) AS own (lease) ON own.lease = queue.lease
        WHERE ${isInFlight(sql, limits)}
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
            CASE WHEN sum(of_others) > 0 THEN ${limits.perOrganization} ELSE ${organizationCap(sql, limits)} END AS cap
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
        (ARRAY(SELECT due_at FROM chosen))[array_position((SELECT ${leases}::uuid[]), lease)] AS "dueAt"`
}
