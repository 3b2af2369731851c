/** SQL of leases, and of the seats that lock them. What is held is also read with checks (`TermsSql.ts`). */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { idBefore } from "../../../kernel/contract/Page.ts"
import type { Position } from "../../../kernel/contract/Page.ts"
import { deletionOf } from "../../../kernel/database/ExpiredRows.ts"
import { decodedOne, executed, records, returnedRow } from "../../../kernel/database/Statements.ts"
import type { Meter } from "../ledger/Model.ts"
import { Lease } from "./Model.ts"

type Seats = Pick<Meter, "organizationId" | "instanceId" | "entitlementId">

/** The locked seats of an instance and an entitlement. */
const LockedSeats = Schema.Struct({
  /** The instant of this decision, not before that of any other one on them. */
  at: Schema.Date,
  /** At least the number of live leases. */
  mostHeld: Schema.Int,
})
type LockedSeats = typeof LockedSeats.Type

const Counted = Schema.Struct({ count: Schema.Int })

const { entitlement: _entitlement, instance: _instance, ...leaseFields } = Lease.fields
const StoredLease = Schema.Struct(leaseFields)

/** A lease as it is stored. */
export interface LeaseRow extends Omit<Lease, "instance" | "entitlement"> {
  readonly sweepAfter: Date
}

/** Rows of leases. */
export class LeasesRepo extends Context.Service<
  LeasesRepo,
  {
    /** Locks the leases of the seats until the transaction ends. Returns an instant that never goes back. */
    readonly lock: (seats: Seats, at: Date) => Effect.Effect<LockedSeats>
    /** Stores how many leases are live at most. */
    readonly storeMostHeld: (seats: Seats, mostHeld: number) => Effect.Effect<void>
    /** The live lease of a holder. */
    readonly findLive: (
      seats: Seats,
      holder: string,
      at: Date,
    ) => Effect.Effect<Option.Option<Omit<LeaseRow, "sweepAfter">>>
    /** Deletes the leases of the seats that have ended, and counts the others. */
    readonly countLive: (seats: Seats, at: Date) => Effect.Effect<number>
    /** Counts the live leases that were acquired before another one. */
    readonly countBefore: (seats: Seats, lease: Pick<LeaseRow, "acquiredAt" | "id">, at: Date) => Effect.Effect<number>
    /** Stores a new lease. Call `countLive` before, which deletes an ended one of the holder. */
    readonly insert: (seats: Seats, row: LeaseRow) => Effect.Effect<void>
    /** Stores the new end and metadata of a live lease. */
    readonly renew: (seats: Seats, row: LeaseRow) => Effect.Effect<void>
    /** Ends a live lease. Returns whether it was live. */
    readonly end: (seats: Seats, id: string, at: Date) => Effect.Effect<boolean>
    /** Live leases, newest first. */
    readonly list: (
      seats: Seats,
      filter: { readonly at: Date; readonly holder: string | undefined },
      after: Position | null,
      limit: number,
    ) => Effect.Effect<ReadonlyArray<Omit<LeaseRow, "sweepAfter">>>
    /** Deletes up to `limit` leases of all organizations that ended on an earlier day. Returns how many. */
    readonly deleteEnded: (at: Date, limit: number) => Effect.Effect<number>
  }
>()("keyshelf/usage/leases/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(LeasesRepo, make))
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const deleteDue = yield* deletionOf("usage_leases")
  const columns =
    sql.literal(`lease.id, lease.holder, lease.acquired_at AS "acquiredAt", lease.renewed_at AS "renewedAt",
    lease.expires_at AS "expiresAt", lease.metadata`)
  const of = ({ entitlementId, instanceId, organizationId }: Seats) => sql`
    lease.organization_id = ${organizationId} AND lease.instance_id = ${instanceId} AND lease.entitlement_id = ${entitlementId}`
  const count = Effect.map((row: Option.Option<{ readonly count: number }>) => Option.getOrThrow(row).count)

  return LeasesRepo.of({
    lock: ({ entitlementId, instanceId, organizationId }, at) =>
      Effect.map(
        decodedOne(LockedSeats)(sql`
          INSERT INTO usage_seats AS seats (organization_id, instance_id, entitlement_id, decided_at, most_held)
          VALUES (${organizationId}, ${instanceId}, ${entitlementId}, ${at}, 0)
          ON CONFLICT (organization_id, instance_id, entitlement_id)
            DO UPDATE SET decided_at = greatest(seats.decided_at, excluded.decided_at)
          RETURNING decided_at AS at, most_held AS "mostHeld"`),
        Option.getOrThrow,
      ),

    storeMostHeld: ({ entitlementId, instanceId, organizationId }, mostHeld) =>
      executed(sql`
        UPDATE usage_seats SET most_held = ${mostHeld}
        WHERE organization_id = ${organizationId} AND instance_id = ${instanceId} AND entitlement_id = ${entitlementId}`),

    findLive: (seats, holder, at) =>
      decodedOne(StoredLease)(sql`
        SELECT ${columns} FROM usage_leases lease
        WHERE ${of(seats)} AND lease.holder = ${holder} AND lease.expires_at > ${at}`),

    countLive: (seats, at) =>
      count(
        decodedOne(Counted)(sql`
          WITH ended AS (DELETE FROM usage_leases lease WHERE ${of(seats)} AND lease.expires_at <= ${at})
          SELECT count(*)::int AS count FROM usage_leases lease WHERE ${of(seats)} AND lease.expires_at > ${at}`),
      ),

    countBefore: (seats, { acquiredAt, id }, at) =>
      count(
        decodedOne(Counted)(sql`
          SELECT count(*)::int AS count FROM usage_leases lease
          WHERE ${of(seats)} AND lease.expires_at > ${at} AND (lease.acquired_at, lease.id) < (${acquiredAt}, ${id}::uuid)`),
      ),

    insert: ({ entitlementId, instanceId, organizationId }, row) =>
      executed(sql`
        INSERT INTO usage_leases (organization_id, id, instance_id, entitlement_id, holder, acquired_at, renewed_at,
          expires_at, sweep_after, metadata)
        VALUES (${organizationId}, ${row.id}, ${instanceId}, ${entitlementId}, ${row.holder}, ${row.acquiredAt},
          ${row.renewedAt}, ${row.expiresAt}, ${row.sweepAfter}, ${row.metadata === null ? null : sql.json(row.metadata)})`),

    renew: ({ organizationId }, row) =>
      executed(sql`
        UPDATE usage_leases SET renewed_at = ${row.renewedAt}, expires_at = ${row.expiresAt}, sweep_after = ${row.sweepAfter},
          metadata = ${row.metadata === null ? null : sql.json(row.metadata)}
        WHERE organization_id = ${organizationId} AND id = ${row.id}`),

    end: (seats, id, at) =>
      returnedRow(sql`
        DELETE FROM usage_leases lease WHERE ${of(seats)} AND lease.id = ${id} AND lease.expires_at > ${at} RETURNING id`),

    list: (seats, filter, after, limit) =>
      records<Omit<LeaseRow, "sweepAfter">>()(sql`
        SELECT ${columns} FROM usage_leases lease
        WHERE ${of(seats)} AND lease.expires_at > ${filter.at} AND lease.id < ${idBefore(after)}
          ${filter.holder === undefined ? sql.literal("") : sql`AND lease.holder = ${filter.holder}`}
        ORDER BY lease.id DESC LIMIT ${limit}`),

    deleteEnded: (at, limit) => deleteDue(sql`sweep_after <= ${at} AND expires_at <= ${at}`, "sweep_after", limit),
  })
})
