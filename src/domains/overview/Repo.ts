/** SQL of the overview. Each statement reads a bounded part of an index, however many records the organization has. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema } from "effect"
import type { Fragment } from "effect/sql/Statement"
import { MAX_COUNTED } from "../../kernel/contract/dryruns/Impact.ts"
import { decodedColumn, decodedOne, records } from "../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { DAY_MS } from "../../kernel/values/Timestamp.ts"
import { licenseKeysOf } from "../access/tokens/TokensSql.ts"
import { customersSql } from "../customers/CustomersSql.ts"
import { entitlementsSql } from "../entitlements/EntitlementsSql.ts"
import { instancesSql } from "../instances/InstancesSql.ts"
import { licenseJoin, licensesSql } from "../licenses/LicensesSql.ts"
import { MAX_LISTED, SetUp, SOON_DAYS } from "./Model.ts"
import type { EndingAccess } from "./Model.ts"

/** Of a new organization, the instances that may have the first license key. */
const MAX_FIRST = 100

/** One more than are counted: then there are more. */
const LIMIT = MAX_COUNTED + 1

const Counts = Schema.Struct({
  customers: Schema.Int,
  active: Schema.Int,
  ending: Schema.Int,
  inGrace: Schema.Int,
  entitlement: Schema.Boolean,
  license: Schema.Boolean,
  instance: Schema.Boolean,
})
type Counts = typeof Counts.Type

const LicenseKeys = Schema.Struct({ licenseKey: SetUp.fields.licenseKey, licenseKeyUsed: SetUp.fields.licenseKeyUsed })

/** Reads what the overview shows. */
export class OverviewRepo extends Context.Service<
  OverviewRepo,
  {
    /** Counts records at an instant, at most one more than {@link MAX_COUNTED} each, in one statement. */
    readonly counts: (organizationId: OrganizationId, at: Date) => Effect.Effect<Counts>
    /** The first instances whose license ends soon. */
    readonly ending: (organizationId: OrganizationId, at: Date) => Effect.Effect<ReadonlyArray<EndingAccess>>
    /** The first instances whose grace period ends. */
    readonly inGrace: (organizationId: OrganizationId, at: Date) => Effect.Effect<ReadonlyArray<EndingAccess>>
    /** Whether the first instances have license keys. */
    readonly licenseKeys: (organizationId: OrganizationId) => Effect.Effect<typeof LicenseKeys.Type>
  }
>()("keyshelf/overview/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(OverviewRepo, make))
}

/** The end of a license and of days of grace, which are of 24 hours. */
const withGrace = (end: string, days: string): string => `${end} + make_interval(hours => 24 * ${days})`

/** The conditions of the terms of instances `i` at an instant. */
const terms = (sql: PgClient.PgClient, organizationId: OrganizationId, at: Date) => {
  const mine = sql`${instancesSql.as("i")} WHERE i.organization_id = ${organizationId}`
  const soon = new Date(at.getTime() + SOON_DAYS * DAY_MS)
  const ended = sql`i.end_license_date <= ${at}`
  const accessEnd = (days: string) => sql.literal(withGrace("i.end_license_date", days))
  return {
    ended,
    ending: sql`${mine} AND i.end_license_date > ${at} AND i.end_license_date < ${soon}`,
    /** Each of the two is a range of an index. */
    active: [
      sql`${mine} AND i.end_license_date > ${at} AND i.start_license_date <= ${at}`,
      sql`${mine} AND i.end_license_date IS NULL AND i.start_license_date <= ${at}`,
    ] as const,
    /** The id and the end of access of the instances in grace: by the days of each license version that has some, and by their own. */
    inGrace: sql`(
      SELECT held.id, held.access_end FROM ${licensesSql.as("l")}, LATERAL (
        SELECT i.id, ${accessEnd("l.grace_days")} AS access_end FROM ${mine}
          AND i.license_id = l.id AND i.grace_days IS NULL AND ${ended}
          AND i.end_license_date > ${at}::timestamptz - make_interval(hours => 24 * l.grace_days)
        LIMIT ${LIMIT}
      ) held WHERE l.organization_id = ${organizationId} AND l.grace_days > 0
      UNION ALL
      SELECT i.id, ${accessEnd("i.grace_days")} FROM ${mine} AND i.grace_days IS NOT NULL AND ${ended}
        AND i.end_license_date > ${at}::timestamptz - interval '365 days'
        AND ${accessEnd("i.grace_days")} > ${at}
      LIMIT ${LIMIT}
    )`,
  }
}

const make = Effect.map(PgClient.PgClient, (sql) => {
  const countOf = (rows: Fragment) => sql`(SELECT count(*)::int FROM (SELECT 1 FROM ${rows} LIMIT ${LIMIT}) found)`
  const isAny = (rows: Fragment, organizationId: OrganizationId) =>
    sql`EXISTS (SELECT 1 FROM ${rows} WHERE organization_id = ${organizationId})`

  const firstIds = decodedColumn("id", Schema.String)
  const columns = (accessEnd: Fragment) => sql`i.slug, i.name, c.slug AS "customerSlug", l.slug AS "licenseSlug",
    i.end_license_date AS "endLicenseDate", ${accessEnd} AS "accessEndsAt"`

  return OverviewRepo.of({
    counts: (organizationId, at) => {
      const { active, ending, inGrace } = terms(sql, organizationId, at)
      return Effect.map(
        decodedOne(Counts)(sql`
          SELECT ${countOf(sql`${customersSql.as("c")} WHERE c.organization_id = ${organizationId}`)} AS customers,
            ${countOf(active[0])} + ${countOf(active[1])} AS active,
            ${countOf(ending)} AS ending, ${countOf(sql`${inGrace} held`)} AS "inGrace",
            ${isAny(entitlementsSql.rows, organizationId)} AS entitlement,
            ${isAny(licensesSql.rows, organizationId)} AS license,
            ${isAny(instancesSql.rows, organizationId)} AS instance`),
        Option.getOrThrow,
      )
    },

    ending: (organizationId, at) =>
      records<EndingAccess>()(sql`
        SELECT ${columns(sql.literal(withGrace("i.end_license_date", "coalesce(i.grace_days, l.grace_days)")))}
        FROM (SELECT i.* FROM ${terms(sql, organizationId, at).ending} ORDER BY i.end_license_date, i.id LIMIT ${MAX_LISTED}) i
        JOIN ${customersSql.on("c", "i.customer_id")}
        ${licenseJoin(sql, sql`${organizationId}`)}
        ORDER BY i.end_license_date, i.id`),

    inGrace: (organizationId, at) =>
      records<EndingAccess>()(sql`
        SELECT ${columns(sql.literal("held.access_end"))}
        FROM (SELECT * FROM ${terms(sql, organizationId, at).inGrace} held ORDER BY access_end, id LIMIT ${MAX_LISTED}) held
        JOIN ${instancesSql.as("i")} ON i.organization_id = ${organizationId} AND i.id = held.id
        JOIN ${customersSql.on("c", "i.customer_id")}
        ${licenseJoin(sql, sql`${organizationId}`)}
        ORDER BY held.access_end, i.id`),

    licenseKeys: Effect.fnUntraced(function* (organizationId: OrganizationId) {
      const first = yield* firstIds(sql`
        SELECT id FROM ${instancesSql.rows} WHERE organization_id = ${organizationId} ORDER BY id LIMIT ${MAX_FIRST}`)
      return Option.getOrThrow(yield* decodedOne(LicenseKeys)(sql`${licenseKeysOf(sql, first)}`))
    }),
  })
})
