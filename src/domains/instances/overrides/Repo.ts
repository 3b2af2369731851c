/** SQL of overrides. The current one of each entitlement is repeated in its instance's row, where checks read it. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option } from "effect"
import { idBefore } from "../../../kernel/contract/Page.ts"
import type { Position } from "../../../kernel/contract/Page.ts"
import type { ActorReference } from "../../../kernel/contract/Caller.ts"
import { executed, record, records } from "../../../kernel/database/Statements.ts"
import { storedGrantValue } from "../../licenses/Model.ts"
import type { Override } from "./Model.ts"
import { appliedOverride } from "./OverridesSql.ts"

/** An instance whose overrides are locked. */
interface OverriddenInstance {
  readonly id: string
  readonly slug: string
}

/** A new override. */
interface OverrideRow extends Omit<Override, "endedAt" | "endedBy"> {
  readonly instanceId: string
  readonly entitlementId: string
}

interface TextRow extends Omit<Override, "value"> {
  readonly value: string
}

const rowOf = (row: TextRow): Override => ({
  ...row,
  value: storedGrantValue(row.value),
})

const COLUMNS = `o.id, i.slug AS instance, e.slug AS entitlement, o.mode, o.value::text AS value,
  o.overage_percent AS "overagePercent", o.starts_at AS "startsAt", o.ends_at AS "endsAt", o.reason,
  o.created_at AS "createdAt", o.created_by AS "createdBy", o.ended_at AS "endedAt", o.ended_by AS "endedBy"`

const JOINS = `JOIN instances i ON i.organization_id = o.organization_id AND i.id = o.instance_id
  JOIN entitlements e ON e.organization_id = o.organization_id AND e.id = o.entitlement_id`

/** Stores and reads overrides. */
export class OverridesRepo extends Context.Service<
  OverridesRepo,
  {
    /** Locks the overrides of an instance until the transaction ends. Usage is counted meanwhile. */
    readonly lockInstance: (organizationId: string, slug: string) => Effect.Effect<Option.Option<OverriddenInstance>>
    /** Reads an instance without a lock. */
    readonly findInstance: (organizationId: string, slug: string) => Effect.Effect<Option.Option<OverriddenInstance>>
    /** The override of an entitlement that is in force at an instant or starts later. */
    readonly find: (
      organizationId: string,
      instanceId: string,
      entitlement: string,
      at: Date,
    ) => Effect.Effect<Option.Option<Override>>
    /** Overrides of an instance, newest first: those in force at an instant or later, or all. */
    readonly list: (
      organizationId: string,
      instanceId: string,
      filter: { readonly at: Date; readonly history: boolean },
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<Override>>
    /** Ends the current override of an entitlement, if there is one, also one that has ended by time. */
    readonly end: (
      organizationId: string,
      key: Pick<OverrideRow, "instanceId" | "entitlementId">,
      by: ActorReference,
      at: Date,
    ) => Effect.Effect<void>
    /** Stores the override. The one before must have been ended. */
    readonly insert: (organizationId: string, row: OverrideRow) => Effect.Effect<void>
  }
>()("keyshelf/instances/overrides/Repo") {
  static readonly layer = Layer.effect(
    OverridesRepo,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = sql.literal(COLUMNS)
  const joins = sql.literal(JOINS)
  const applied = sql.literal(appliedOverride)

  return {
    lockInstance: (organizationId: string, slug: string) =>
      record<OverriddenInstance>()(sql`
        SELECT id, slug FROM instances WHERE organization_id = ${organizationId} AND slug = ${slug}
        FOR NO KEY UPDATE`),

    findInstance: (organizationId: string, slug: string) =>
      record<OverriddenInstance>()(
        sql`SELECT id, slug FROM instances WHERE organization_id = ${organizationId} AND slug = ${slug}`,
      ),

    find: (organizationId: string, instanceId: string, entitlement: string, at: Date) =>
      Effect.map(
        record<TextRow>()(sql`
          SELECT ${columns} FROM entitlement_overrides o ${joins}
          WHERE o.organization_id = ${organizationId} AND o.instance_id = ${instanceId} AND e.slug = ${entitlement}
            AND o.ended_at IS NULL AND (o.ends_at IS NULL OR o.ends_at > ${at})`),
        Option.map(rowOf),
      ),

    list: (
      organizationId: string,
      instanceId: string,
      filter: { readonly at: Date; readonly history: boolean },
      after: Position | null,
      count: number,
    ) =>
      Effect.map(
        records<TextRow>()(sql`
          SELECT ${columns} FROM entitlement_overrides o ${joins}
          WHERE o.organization_id = ${organizationId} AND o.instance_id = ${instanceId} AND o.id < ${idBefore(after)}
            AND (${filter.history} OR (o.ended_at IS NULL AND (o.ends_at IS NULL OR o.ends_at > ${filter.at})))
          ORDER BY o.id DESC LIMIT ${count}`),
        (rows) => rows.map(rowOf),
      ),

    end: (
      organizationId: string,
      { entitlementId, instanceId }: Pick<OverrideRow, "instanceId" | "entitlementId">,
      by: ActorReference,
      at: Date,
    ) =>
      Effect.asVoid(
        Effect.orDie(sql`
          WITH ended AS (
            UPDATE entitlement_overrides SET ended_at = ${at}, ended_by = ${sql.json(by)}
            WHERE organization_id = ${organizationId} AND instance_id = ${instanceId} AND entitlement_id = ${entitlementId}
              AND ended_at IS NULL
          )
          UPDATE instances SET overrides = nullif(overrides - ${entitlementId}::text, '{}')
          WHERE organization_id = ${organizationId} AND id = ${instanceId} AND overrides ? ${entitlementId}::text`),
      ),

    insert: Effect.fnUntraced(function* (organizationId: string, row: OverrideRow) {
      yield* executed(sql`
        INSERT INTO entitlement_overrides (organization_id, id, instance_id, entitlement_id, mode, value, overage_percent,
          starts_at, ends_at, reason, created_at, created_by)
        VALUES (${organizationId}, ${row.id}, ${row.instanceId}, ${row.entitlementId}, ${row.mode},
          ${JSON.stringify(row.value)}::text::jsonb, ${row.overagePercent}, ${row.startsAt}, ${row.endsAt}, ${row.reason},
          ${row.createdAt}, ${sql.json(row.createdBy)})`)
      const [stored] = yield* records<{ readonly applied: string }>()(sql`
        SELECT jsonb_build_object(o.entitlement_id::text, ${applied})::text AS applied FROM entitlement_overrides o
        WHERE o.organization_id = ${organizationId} AND o.id = ${row.id}`)
      yield* executed(sql`
        UPDATE instances SET overrides = coalesce(overrides, '{}') || ${stored?.applied ?? "{}"}::text::jsonb
        WHERE organization_id = ${organizationId} AND id = ${row.instanceId}`)
    }),
  }
})
