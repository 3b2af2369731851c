/** SQL of allowances. What they hold is read with checks (`TermsSql.ts`) and under locks (`LedgerRepo.lockTotals`). */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import { decoded, executed, returnedCount } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { entitlementsSql } from "../../entitlements/EntitlementsSql.ts"
import { Allowance } from "./Model.ts"

/** A bundle that reserves allowances. */
export interface AllowingBundle {
  readonly organizationId: OrganizationId
  readonly instanceId: string
  readonly bundleId: string
  readonly sequence: number
  /** When it is issued and expires. */
  readonly validFrom: Date
  readonly validUntil: Date
  /** Until when its usage can be uploaded. */
  readonly openUntil: Date
}

/** An allowance to store; the quantity is a decimal. */
interface NewAllowance {
  readonly entitlementId: string
  readonly quantity: string
}

/** An allowance of a bundle. */
const AllowanceRow = Schema.Struct({
  bundleId: Schema.String,
  /** Slug. */
  entitlement: Schema.String,
  /** A decimal. */
  quantity: Schema.String,
  /** When it ended before its time; `null` if it did not. */
  endedAt: Schema.NullOr(Schema.Date),
})
type AllowanceRow = typeof AllowanceRow.Type

/** Stores, reads and ends allowances. */
export class AllowancesRepo extends Context.Service<
  AllowancesRepo,
  {
    /** Stores the allowances of a bundle. */
    readonly insert: (bundle: AllowingBundle, allowances: ReadonlyArray<NewAllowance>) => Effect.Effect<void>
    /** The allowances of these bundles, by the slug of the entitlement. */
    readonly ofBundles: (
      organizationId: OrganizationId,
      instanceId: string,
      bundleIds: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyArray<AllowanceRow>>
    /** All allowances of an instance and these entitlements, ended or not. */
    readonly list: (
      organizationId: OrganizationId,
      instanceId: string,
      entitlements: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyArray<Allowance>>
    /** Ends the allowances of a bundle. Returns how many it had that were not over. */
    readonly endOf: (
      organizationId: OrganizationId,
      instanceId: string,
      bundleId: string,
      at: Date,
    ) => Effect.Effect<number>
    /** Ends the allowances of all bundles of an instance up to one. */
    readonly endUpTo: (
      organizationId: OrganizationId,
      instanceId: string,
      sequence: number,
      at: Date,
    ) => Effect.Effect<void>
  }
>()("keyshelf/usage/allowances/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(AllowancesRepo, make))
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const ofInstance = (organizationId: OrganizationId, instanceId: string) =>
    sql`organization_id = ${organizationId} AND instance_id = ${instanceId}`

  return AllowancesRepo.of({
    insert: (bundle, allowances) =>
      executed(sql`
        INSERT INTO offline_allowances (organization_id, instance_id, entitlement_id, bundle_id, sequence, quantity,
          valid_from, valid_until, open_until)
        SELECT ${bundle.organizationId}::uuid, ${bundle.instanceId}::uuid, allowed."entitlementId",
          ${bundle.bundleId}::uuid, ${bundle.sequence}::int, allowed.quantity, ${bundle.validFrom}::timestamptz,
          ${bundle.validUntil}::timestamptz, ${bundle.openUntil}::timestamptz
        FROM jsonb_to_recordset(${sql.json(allowances)}) AS allowed ("entitlementId" uuid, quantity numeric)`),

    ofBundles: (organizationId, instanceId, bundleIds) =>
      decoded(AllowanceRow)(sql`
        SELECT a.bundle_id AS "bundleId", e.slug AS entitlement, a.quantity::text AS quantity, a.ended_at AS "endedAt"
        FROM offline_allowances a
        JOIN ${entitlementsSql.on("e", "a.entitlement_id")}
        WHERE a.organization_id = ${organizationId} AND a.instance_id = ${instanceId}
          AND a.bundle_id = ANY(ARRAY(SELECT unnest(${bundleIds}::uuid[])))
        ORDER BY e.slug`),

    list: (organizationId, instanceId, entitlements) =>
      decoded(Allowance)(sql`
        SELECT e.slug AS entitlement, a.quantity::text AS quantity, a.valid_from AS "validFrom",
          a.valid_until AS "validUntil"
        FROM ${entitlementsSql.as("e")}
        JOIN offline_allowances a ON a.organization_id = e.organization_id AND a.instance_id = ${instanceId}
          AND a.entitlement_id = e.id
        WHERE e.organization_id = ${organizationId}
          AND e.slug IN (SELECT jsonb_array_elements_text(${sql.json(entitlements)}))`),

    endOf: (organizationId, instanceId, bundleId, at) =>
      returnedCount(sql`
        UPDATE offline_allowances SET ended_at = ${at}
        WHERE ${ofInstance(organizationId, instanceId)} AND bundle_id = ${bundleId} AND ended_at IS NULL
        RETURNING 1 AS ended`),

    endUpTo: (organizationId, instanceId, sequence, at) =>
      executed(sql`
        UPDATE offline_allowances SET ended_at = ${at}
        WHERE ${ofInstance(organizationId, instanceId)} AND sequence <= ${sequence} AND ended_at IS NULL`),
  })
})
