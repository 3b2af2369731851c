/**
 * SQL of reservations. What they hold of a period is read with its total, by the repositories of checks and of the
 * ledger. Tranches are rows of the same table, but no reservations for callers.
 */
import { PgClient } from "@effect/sql-pg"
import { BigDecimal, Context, Effect, Layer } from "effect"
import type { ActorReference } from "../../../kernel/contract/Caller.ts"
import { deletionOf } from "../../../kernel/database/ExpiredRows.ts"
import { decodedOne, executed, returnedRow } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { entitlementsSql } from "../../entitlements/EntitlementsSql.ts"
import { instancesSql } from "../../instances/InstancesSql.ts"
import type { TotalKey } from "../ledger/Account.ts"
import { MAX_LIFETIME_SECONDS } from "../rules/Held.ts"
import { StoredReservation } from "./Model.ts"
import { fromCredits } from "./Rules.ts"
import type { Option } from "effect"

/** How a reservation ends. The quantity is a decimal. */
interface ReservationEnd {
  readonly state: "COMMITTED" | "RELEASED"
  readonly committedQuantity: string | null
  readonly at: Date
  readonly actor: ActorReference
}

/** Rows of reservations. */
export class ReservationsRepo extends Context.Service<
  ReservationsRepo,
  {
    /** Stores a new reservation. */
    readonly insert: (organizationId: OrganizationId, total: TotalKey, row: StoredReservation) => Effect.Effect<void>
    /** The reservation with this id, in any state. */
    readonly find: (organizationId: OrganizationId, id: string) => Effect.Effect<Option.Option<StoredReservation>>
    /**
     * Ends a reservation that is `HELD`, even if it has expired. Returns whether it was. Waits for another transaction
     * that ends it.
     */
    readonly end: (organizationId: OrganizationId, id: string, how: ReservationEnd) => Effect.Effect<boolean>
    /** Ends a reservation that is `HELD` and has not expired. Returns whether it was. */
    readonly endInTime: (organizationId: OrganizationId, id: string, how: ReservationEnd) => Effect.Effect<boolean>
    /**
     * Deletes up to `limit` reservations, of all organizations, that were created more than a day before a past
     * instant, whatever their state. No reservation lives longer than a day, so all of them were over by then. Returns
     * how many were deleted.
     */
    readonly deleteFinished: (before: Date, limit: number) => Effect.Effect<number>
  }
>()("keyshelf/usage/reservations/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(ReservationsRepo, make))
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const deleteDue = yield* deletionOf("usage_reservations")
  const ending = (
    organizationId: OrganizationId,
    id: string,
    { actor, at, committedQuantity, state }: ReservationEnd,
  ) => sql`
    UPDATE usage_reservations SET state = ${state}, committed_quantity = ${committedQuantity}::text::numeric,
      ended_at = ${at}, ended_by = ${sql.json(actor)}
    WHERE organization_id = ${organizationId} AND id = ${id} AND state = 'HELD' AND ledger IS NULL`

  return ReservationsRepo.of({
    insert: (organizationId, { entitlementId, instanceId, periodStart }, row) =>
      executed(sql`
        INSERT INTO usage_reservations (organization_id, id, instance_id, entitlement_id, period_start, quantity, state,
          metadata, created_at, created_by, expires_at, credits, from_credits)
        VALUES (${organizationId}, ${row.id}, ${instanceId}, ${entitlementId}, ${periodStart},
          ${row.quantity}::text::numeric, ${row.state}, ${row.metadata === null ? null : sql.json(row.metadata)},
          ${row.createdAt}, ${sql.json(row.createdBy)}, ${row.expiresAt}, ${row.credits === null ? null : sql.json(row.credits)},
          ${BigDecimal.format(fromCredits(row.credits))}::text::numeric)`),

    find: (organizationId, id) =>
      decodedOne(StoredReservation)(sql`
        SELECT r.id, i.slug AS instance, e.slug AS entitlement, r.quantity::text AS quantity,
          r.committed_quantity::text AS "committedQuantity", r.state, r.metadata, r.created_at AS "createdAt",
          r.created_by AS "createdBy", r.expires_at AS "expiresAt", r.credits
        FROM usage_reservations r
        JOIN ${instancesSql.on("i", "r.instance_id")}
        JOIN ${entitlementsSql.on("e", "r.entitlement_id")}
        WHERE r.organization_id = ${organizationId} AND r.id = ${id} AND r.ledger IS NULL`),

    end: (organizationId, id, how) => returnedRow(sql`${ending(organizationId, id, how)} RETURNING id`),

    endInTime: (organizationId, id, how) =>
      returnedRow(sql`${ending(organizationId, id, how)} AND expires_at > ${how.at} RETURNING id`),

    deleteFinished: (before, limit) => {
      const created = new Date(before.getTime() - MAX_LIFETIME_SECONDS * 1000)
      return deleteDue(sql`created_at < ${created}`, "created_at", limit)
    },
  })
})
