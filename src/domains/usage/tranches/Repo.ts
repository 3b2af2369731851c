/** SQL of tranches: the reservations of ledgers. What they hold is read by `terms/HeldSql.ts`. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import type { ActorReference } from "../../../kernel/contract/Caller.ts"
import type { Position } from "../../../kernel/contract/Page.ts"
import { decoded, executed } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { entitlementsSql } from "../../entitlements/EntitlementsSql.ts"
import type { TotalKey } from "../ledger/Account.ts"
import { MAX_LIFETIME_SECONDS } from "../rules/Held.ts"
import { SPEND_SECONDS, StoredTranche } from "./Model.ts"
import type { TrancheChange } from "./Model.ts"
import { storedTranches, trancheColumns } from "./StoreSql.ts"

/** A ledger of an instance. */
export interface Holder {
  readonly organizationId: OrganizationId
  readonly instanceId: string
  readonly ledger: string
}

/** How many other ledgers may spend of a total. */
const Holders = Schema.Struct({ entitlementId: Schema.String, periodStart: Schema.Date, count: Schema.Int })

/** Rows of tranches. Who changes those of a ledger holds the lock of its row, see `LockedLedger`. */
export class TranchesRepo extends Context.Service<
  TranchesRepo,
  {
    /** The tranches of a holder that hold something, or that it may spend. */
    readonly findOf: (holder: Holder, at: Date) => Effect.Effect<ReadonlyArray<StoredTranche>>
    /** How many other ledgers may spend of these totals. Totals without one are absent. */
    readonly countOthers: (
      holder: Holder,
      among: ReadonlyArray<Omit<TotalKey, "instanceId">>,
      at: Date,
    ) => Effect.Effect<ReadonlyArray<typeof Holders.Type>>
    /** Stores tranches of locked totals. */
    readonly store: (
      holder: Holder,
      changes: ReadonlyArray<TrancheChange>,
      actor: ActorReference,
    ) => Effect.Effect<void>
    /** Ends all that a holder holds. Returns how many tranches there were. */
    readonly end: (holder: Holder, by: { readonly at: Date; readonly actor: ActorReference }) => Effect.Effect<number>
    /** Up to `count` tranches of an instance that hold something, by ledger, entitlement and period, after a position. */
    readonly list: (
      organizationId: OrganizationId,
      instanceId: string,
      at: Date,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<StoredTranche>>
  }
>()("keyshelf/usage/tranches/Repo") {
  static readonly layer = Layer.effect(
    TranchesRepo,
    Effect.map(PgClient.PgClient, (sql) => ({ ...reading(sql), ...writing(sql) })),
  )
}

const reading = (sql: PgClient.PgClient) => {
  const columns = sql.literal(trancheColumns)

  return {
    findOf: ({ instanceId, ledger, organizationId }: Holder, at: Date) =>
      decoded(StoredTranche)(sql`
        SELECT ${columns} FROM usage_reservations r
        JOIN ${entitlementsSql.as("e")} ON e.organization_id = r.organization_id AND e.id = r.entitlement_id
        WHERE r.organization_id = ${organizationId} AND r.instance_id = ${instanceId} AND r.ledger = ${ledger}
          AND r.state = 'HELD' AND r.expires_at > ${at} AND (r.quantity > 0 OR r.spend_until > ${at})`),

    countOthers: (
      { instanceId, ledger, organizationId }: Holder,
      among: ReadonlyArray<Omit<TotalKey, "instanceId">>,
      at: Date,
    ) =>
      decoded(Holders)(sql`
        SELECT asked."entitlementId", asked."periodStart", count(*)::int AS count
        FROM jsonb_to_recordset(${sql.json(among)}) AS asked ("entitlementId" uuid, "periodStart" timestamptz)
        JOIN usage_reservations r ON r.organization_id = ${organizationId} AND r.instance_id = ${instanceId}
          AND r.entitlement_id = asked."entitlementId" AND r.period_start = asked."periodStart"
        WHERE r.state = 'HELD' AND r.ledger <> ${ledger} AND r.spend_until > ${at} AND r.expires_at > ${at}
        GROUP BY 1, 2`),

    list: (organizationId: OrganizationId, instanceId: string, at: Date, after: Position | null, count: number) => {
      const [ledger, entitlement, periodStart] = after ?? ["", "", ""]
      const isAfter =
        after === null
          ? sql``
          : sql`AND (r.ledger, e.slug, r.period_start) > (${String(ledger)}, ${String(entitlement)}, ${String(periodStart)}::timestamptz)`
      return decoded(StoredTranche)(sql`
        SELECT ${columns} FROM usage_reservations r
        JOIN ${entitlementsSql.as("e")} ON e.organization_id = r.organization_id AND e.id = r.entitlement_id
        WHERE r.organization_id = ${organizationId} AND r.instance_id = ${instanceId} AND r.ledger IS NOT NULL
          AND r.state = 'HELD' AND r.expires_at > ${at} ${isAfter}
        ORDER BY r.ledger, e.slug, r.period_start LIMIT ${count}`)
    },
  }
}

const writing = (sql: PgClient.PgClient) => ({
  store: (holder: Holder, changes: ReadonlyArray<TrancheChange>, actor: ActorReference) =>
    executed(sql`${storedTranches(sql, holder, changes, actor)}`),

  end: (
    { instanceId, ledger, organizationId }: Holder,
    { actor, at }: { readonly at: Date; readonly actor: ActorReference },
  ) =>
    Effect.map(
      decoded(Schema.Struct({ id: Schema.String }))(sql`
        UPDATE usage_reservations SET state = 'RELEASED', ended_at = ${at}, ended_by = ${sql.json(actor)}
        WHERE organization_id = ${organizationId} AND instance_id = ${instanceId} AND ledger = ${ledger}
          AND state = 'HELD' AND expires_at > ${at}
        RETURNING id`),
      (rows) => rows.length,
    ),
})

/** Until when a tranche that is refilled at an instant can be spent, and until when it is held. */
export const endsOf = (at: Date): { readonly spendUntil: Date; readonly expiresAt: Date } => ({
  spendUntil: new Date(at.getTime() + SPEND_SECONDS * 1000),
  expiresAt: new Date(at.getTime() + MAX_LIFETIME_SECONDS * 1000),
})

/** When a tranche whose hold ends then was refilled. */
export const refilledAt = (expiresAt: Date): Date => new Date(expiresAt.getTime() - MAX_LIFETIME_SECONDS * 1000)
