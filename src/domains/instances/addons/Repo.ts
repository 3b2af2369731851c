/** SQL of add-ons. Those in force and planned are repeated in their instance's row, where checks read them. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema } from "effect"
import type { Fragment } from "effect/sql/Statement"
import { idBefore } from "../../../kernel/contract/Page.ts"
import type { Position } from "../../../kernel/contract/Page.ts"
import type { ActorReference } from "../../../kernel/contract/Caller.ts"
import { decoded, decodedOne, executed } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { licenseFamiliesSql, licensesSql } from "../../licenses/LicensesSql.ts"
import { instancesSql } from "../InstancesSql.ts"
import { appliedAddOn, isLive } from "./AddOnsSql.ts"
import { AddOn } from "./Model.ts"
import type { AddOnWindow } from "./Rules.ts"

/** A new add-on. */
interface AddOnRow extends Omit<AddOnWindow, "instance" | "addOn" | "license" | "endedAt" | "endedBy"> {
  readonly instanceId: string
  readonly familyId: string
}

const WindowRow = Schema.Struct({ ...AddOn.fields, licenseId: Schema.String })

/** An add-on that is in force or planned, with the ids of what it belongs to. */
const HeldAddOn = Schema.Struct({ ...WindowRow.fields, instanceId: Schema.String, familyId: Schema.String })
export type HeldAddOn = typeof HeldAddOn.Type

/** How many add-ons an instance has in force or planned, beside those of one family. */
const Counts = Schema.Struct({ families: Schema.Int, windows: Schema.Int })

const COLUMNS = `a.id, i.slug AS instance, f.slug AS "addOn", al.slug AS license, a.quantity, a.starts_at AS "startsAt",
  a.ends_at AS "endsAt", a.reason, a.created_at AS "createdAt", a.created_by AS "createdBy", a.ended_at AS "endedAt",
  a.ended_by AS "endedBy"`

/** An instance and a family of add-ons. */
interface AddOnKey {
  readonly instanceId: string
  readonly familyId: string
}

interface AddOnQueries {
  /** What is in force at an instant of a family, by its slug, or else what starts next. */
  readonly find: (
    organizationId: OrganizationId,
    instanceId: string,
    familySlug: string,
    at: Date,
  ) => Effect.Effect<Option.Option<AddOn>>
  /** Add-ons of an instance, newest first: those in force or planned, or all. */
  readonly list: (
    organizationId: OrganizationId,
    instanceId: string,
    filter: { readonly at: Date; readonly history: boolean },
    after: Position | null,
    count: number,
  ) => Effect.Effect<ReadonlyArray<AddOn>>
  /** Those of a family that are in force or planned at an instant, by their start. */
  readonly live: (organizationId: OrganizationId, key: AddOnKey, at: Date) => Effect.Effect<ReadonlyArray<AddOnWindow>>
  /** What these instances have of a version, in force or planned at an instant, by instance and start. */
  readonly held: (
    organizationId: OrganizationId,
    instanceIds: ReadonlyArray<string>,
    licenseId: string,
    at: Date,
  ) => Effect.Effect<ReadonlyArray<HeldAddOn>>
  /** How many others are in force or planned. */
  readonly others: (organizationId: OrganizationId, key: AddOnKey, at: Date) => Effect.Effect<typeof Counts.Type>
  /** Lets an add-on end at an instant. */
  readonly cut: (organizationId: OrganizationId, id: string, endsAt: Date) => Effect.Effect<void>
  /** Removes add-ons, or replaces planned ones. */
  readonly end: (
    organizationId: OrganizationId,
    ids: ReadonlyArray<string>,
    by: ActorReference,
    at: Date,
  ) => Effect.Effect<void>
  /** Stores an add-on. */
  readonly insert: (organizationId: OrganizationId, row: AddOnRow) => Effect.Effect<void>
  /** Repeats in the row of the instance that it has credits of an entitlement. */
  readonly addCredits: (
    organizationId: OrganizationId,
    instanceId: string,
    entitlementId: string,
  ) => Effect.Effect<void>
  /** Repeats what is in force or planned at an instant in the row of the instance, after a change. */
  readonly repeat: (organizationId: OrganizationId, instanceIds: ReadonlyArray<string>, at: Date) => Effect.Effect<void>
}

/** Stores and reads add-ons. */
export class AddOnsRepo extends Context.Service<AddOnsRepo, AddOnQueries>()("keyshelf/instances/addons/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(AddOnsRepo, make))
}

const reading = (sql: PgClient.PgClient) => {
  const columns = sql.literal(COLUMNS)
  const joins = sql`JOIN ${instancesSql.on("i", "a.instance_id")} JOIN ${licenseFamiliesSql.on("f", "a.family_id")}
    JOIN ${licensesSql.on("al", "a.license_id")}`
  const live = (at: Date): Fragment => isLive(sql, sql`${at}`)

  return {
    find: (organizationId, instanceId, familySlug, at) =>
      decodedOne(AddOn)(sql`
        SELECT ${columns} FROM instance_add_ons a ${joins}
        WHERE a.organization_id = ${organizationId} AND a.instance_id = ${instanceId} AND f.slug = ${familySlug} AND ${live(at)}
        ORDER BY a.starts_at LIMIT 1`),

    list: (organizationId, instanceId, filter, after, count) =>
      decoded(AddOn)(sql`
        SELECT ${columns} FROM instance_add_ons a ${joins}
        WHERE a.organization_id = ${organizationId} AND a.instance_id = ${instanceId} AND a.id < ${idBefore(after)}
          AND (${filter.history} OR (${live(filter.at)}))
        ORDER BY a.id DESC LIMIT ${count}`),

    live: (organizationId, { familyId, instanceId }, at) =>
      decoded(WindowRow)(sql`
        SELECT ${columns}, a.license_id AS "licenseId" FROM instance_add_ons a ${joins}
        WHERE a.organization_id = ${organizationId} AND a.instance_id = ${instanceId} AND a.family_id = ${familyId}
          AND ${live(at)}
        ORDER BY a.starts_at`),

    held: (organizationId, instanceIds, licenseId, at) =>
      decoded(HeldAddOn)(sql`
        SELECT ${columns}, a.license_id AS "licenseId", a.instance_id AS "instanceId", a.family_id AS "familyId"
        FROM instance_add_ons a ${joins}
        WHERE a.organization_id = ${organizationId} AND a.license_id = ${licenseId} AND a.instance_id = ANY(${instanceIds}::uuid[])
          AND ${live(at)}
        ORDER BY a.instance_id, a.starts_at`),

    others: (organizationId, { familyId, instanceId }, at) =>
      Effect.map(
        decodedOne(Counts)(sql`
          SELECT count(DISTINCT a.family_id)::int AS families, count(*)::int AS windows FROM instance_add_ons a
          WHERE a.organization_id = ${organizationId} AND a.instance_id = ${instanceId} AND a.family_id <> ${familyId}
            AND ${live(at)}`),
        Option.getOrThrow,
      ),
  } satisfies Partial<AddOnQueries>
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const applied = sql.literal(appliedAddOn)

  return AddOnsRepo.of({
    ...reading(sql),

    cut: (organizationId, id, endsAt) =>
      executed(
        sql`UPDATE instance_add_ons SET ends_at = ${endsAt} WHERE organization_id = ${organizationId} AND id = ${id}`,
      ),

    end: (organizationId, ids, by, at) =>
      executed(sql`
        UPDATE instance_add_ons SET ended_at = ${at}, ended_by = ${sql.json(by)}
        WHERE organization_id = ${organizationId} AND id = ANY(${ids}::uuid[])`),

    insert: (organizationId, row) =>
      executed(sql`
        INSERT INTO instance_add_ons (organization_id, id, instance_id, family_id, license_id, quantity, starts_at, ends_at,
          reason, created_at, created_by)
        VALUES (${organizationId}, ${row.id}, ${row.instanceId}, ${row.familyId}, ${row.licenseId}, ${row.quantity},
          ${row.startsAt}, ${row.endsAt}, ${row.reason}, ${row.createdAt}, ${sql.json(row.createdBy)})`),

    addCredits: (organizationId, instanceId, entitlementId) =>
      executed(sql`
        UPDATE instances SET extras = coalesce(extras, '{}') || jsonb_build_object('credits',
          coalesce(extras -> 'credits', '[]') || to_jsonb(${entitlementId}::text))
        WHERE organization_id = ${organizationId} AND id = ${instanceId}
          AND NOT coalesce(jsonb_exists(extras -> 'credits', ${entitlementId}), false)`),

    repeat: (organizationId, instanceIds, at) =>
      executed(sql`
        UPDATE instances SET extras = nullif((coalesce(instances.extras, '{}') - 'addOns') || coalesce((
          SELECT jsonb_build_object('addOns', jsonb_agg(${applied} ORDER BY a.starts_at, a.id))
          FROM instance_add_ons a JOIN ${licensesSql.on("al", "a.license_id")}
          WHERE a.organization_id = ${organizationId} AND a.instance_id = instances.id AND ${isLive(sql, sql`${at}`)}
          HAVING count(*) > 0
        ), '{}'), '{}')
        WHERE organization_id = ${organizationId} AND id = ANY(${instanceIds}::uuid[])`),
  })
})
