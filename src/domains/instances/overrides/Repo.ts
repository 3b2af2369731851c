/** SQL of overrides. The current one of each entitlement is repeated in its instance's row, where checks read it. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { idBefore } from "../../../kernel/contract/Page.ts"
import type { Position } from "../../../kernel/contract/Page.ts"
import type { ActorReference } from "../../../kernel/contract/Caller.ts"
import { decoded, decodedOne, decodedValue, executed } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { entitlementsSql } from "../../entitlements/EntitlementsSql.ts"
import { storedGrantValue } from "../../licenses/Model.ts"
import { instancesSql } from "../InstancesSql.ts"
import { Override } from "./Model.ts"
import { appliedOverride } from "./OverridesSql.ts"

/** An instance whose terms beside its license are locked. */
const OverriddenInstance = Schema.Struct({ id: Schema.String, slug: Schema.String })
type OverriddenInstance = typeof OverriddenInstance.Type

/** A new override. */
interface OverrideRow extends Omit<Override, "endedAt" | "endedBy"> {
  readonly instanceId: string
  readonly entitlementId: string
}

/** An override whose value is the text of its JSON. */
const TextRow = Schema.Struct({ ...Override.fields, value: Schema.String })
type TextRow = typeof TextRow.Type

const rowOf = (row: TextRow): Override => ({
  ...row,
  value: storedGrantValue(row.value),
})

const COLUMNS = `o.id, i.slug AS instance, e.slug AS entitlement, o.mode, o.value::text AS value,
  o.overage_percent AS "overagePercent", o.starts_at AS "startsAt", o.ends_at AS "endsAt", o.reason,
  o.created_at AS "createdAt", o.created_by AS "createdBy", o.ended_at AS "endedAt", o.ended_by AS "endedBy"`

/** Stores and reads overrides. */
export class OverridesRepo extends Context.Service<
  OverridesRepo,
  {
    /** Locks the overrides and add-ons of an instance until the transaction ends. Usage is counted meanwhile. */
    readonly lockInstance: (
      organizationId: OrganizationId,
      slug: string,
    ) => Effect.Effect<Option.Option<OverriddenInstance>>
    /** Reads an instance without a lock. */
    readonly findInstance: (
      organizationId: OrganizationId,
      slug: string,
    ) => Effect.Effect<Option.Option<OverriddenInstance>>
    /** The override of an entitlement that is in force at an instant or starts later. */
    readonly find: (
      organizationId: OrganizationId,
      instanceId: string,
      entitlement: string,
      at: Date,
    ) => Effect.Effect<Option.Option<Override>>
    /** Overrides of an instance, newest first: those in force at an instant or later, or all. */
    readonly list: (
      organizationId: OrganizationId,
      instanceId: string,
      filter: { readonly at: Date; readonly history: boolean },
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<Override>>
    /** Ends the current override of an entitlement, if there is one, also one that has ended by time. */
    readonly end: (
      organizationId: OrganizationId,
      key: Pick<OverrideRow, "instanceId" | "entitlementId">,
      by: ActorReference,
      at: Date,
    ) => Effect.Effect<void>
    /** Stores the override. The one before must have been ended. */
    readonly insert: (organizationId: OrganizationId, row: OverrideRow) => Effect.Effect<void>
  }
>()("keyshelf/instances/overrides/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(OverridesRepo, make))
}

const appliedIn = decodedValue("applied", Schema.String)

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = sql.literal(COLUMNS)
  const joins = sql`JOIN ${instancesSql.on("i", "o.instance_id")} JOIN ${entitlementsSql.on("e", "o.entitlement_id")}`
  const applied = sql.literal(appliedOverride)

  return OverridesRepo.of({
    lockInstance: (organizationId, slug) =>
      decodedOne(OverriddenInstance)(sql`
        SELECT id, slug FROM instances WHERE organization_id = ${organizationId} AND slug = ${slug}
        FOR NO KEY UPDATE`),

    findInstance: (organizationId, slug) =>
      decodedOne(OverriddenInstance)(
        sql`SELECT id, slug FROM instances WHERE organization_id = ${organizationId} AND slug = ${slug}`,
      ),

    find: (organizationId, instanceId, entitlement, at) =>
      Effect.map(
        decodedOne(TextRow)(sql`
          SELECT ${columns} FROM entitlement_overrides o ${joins}
          WHERE o.organization_id = ${organizationId} AND o.instance_id = ${instanceId} AND e.slug = ${entitlement}
            AND o.ended_at IS NULL AND (o.ends_at IS NULL OR o.ends_at > ${at})`),
        Option.map(rowOf),
      ),

    list: (organizationId, instanceId, filter, after, count) =>
      Effect.map(
        decoded(TextRow)(sql`
          SELECT ${columns} FROM entitlement_overrides o ${joins}
          WHERE o.organization_id = ${organizationId} AND o.instance_id = ${instanceId} AND o.id < ${idBefore(after)}
            AND (${filter.history} OR (o.ended_at IS NULL AND (o.ends_at IS NULL OR o.ends_at > ${filter.at})))
          ORDER BY o.id DESC LIMIT ${count}`),
        (rows) => rows.map(rowOf),
      ),

    end: (organizationId, { entitlementId, instanceId }, by, at) =>
      executed(sql`
        WITH ended AS (
          UPDATE entitlement_overrides SET ended_at = ${at}, ended_by = ${sql.json(by)}
          WHERE organization_id = ${organizationId} AND instance_id = ${instanceId} AND entitlement_id = ${entitlementId}
            AND ended_at IS NULL
        )
        UPDATE instances SET overrides = nullif(overrides - ${entitlementId}::text, '{}')
        WHERE organization_id = ${organizationId} AND id = ${instanceId} AND overrides ? ${entitlementId}::text`),

    insert: Effect.fnUntraced(function* (organizationId, row) {
      yield* executed(sql`
        INSERT INTO entitlement_overrides (organization_id, id, instance_id, entitlement_id, mode, value, overage_percent,
          starts_at, ends_at, reason, created_at, created_by)
        VALUES (${organizationId}, ${row.id}, ${row.instanceId}, ${row.entitlementId}, ${row.mode},
          ${JSON.stringify(row.value)}::text::jsonb, ${row.overagePercent}, ${row.startsAt}, ${row.endsAt}, ${row.reason},
          ${row.createdAt}, ${sql.json(row.createdBy)})`)
      const stored = yield* appliedIn(sql`
        SELECT jsonb_build_object(o.entitlement_id::text, ${applied})::text AS applied FROM entitlement_overrides o
        WHERE o.organization_id = ${organizationId} AND o.id = ${row.id}`)
      yield* executed(sql`
        UPDATE instances SET overrides = coalesce(overrides, '{}') || ${Option.getOrThrow(stored)}::text::jsonb
        WHERE organization_id = ${organizationId} AND id = ${row.instanceId}`)
    }),
  })
})
