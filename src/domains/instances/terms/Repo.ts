/** SQL of the events about the end of a license: what is due, and what was emitted. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema, Struct } from "effect"
import type { Fragment } from "effect/sql/Statement"
import { isRemoved } from "../../../kernel/database/RemovedOrganizations.ts"
import { dueRowsOf } from "../../../kernel/database/DueOrganizations.ts"
import type { DueRows } from "../../../kernel/database/DueOrganizations.ts"
import { isAt, locatedBy, rowByKey, scopeOf } from "../../../kernel/database/RowsByKey.ts"
import { column, decoded, executed, returnedCount } from "../../../kernel/database/Statements.ts"
import { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { licensesSql } from "../../licenses/LicensesSql.ts"
import { instancesSql } from "../InstancesSql.ts"

/** An instance that may have a notice due. */
const Candidate = Schema.Struct({ organizationId: OrganizationId, instanceId: Schema.String })
type Candidate = typeof Candidate.Type

const LockedSchedule = Candidate.mapFields(Struct.pick(["instanceId"]))

/** The end of an instance's license, and the keys of the notices that were emitted for it. */
const TermRow = Schema.Struct({
  instanceId: Schema.String,
  endLicenseDate: Schema.NullOr(Schema.Date),
  graceDays: Schema.Int,
  setAt: Schema.Date,
  emitted: Schema.Array(Schema.String),
})
export type TermRow = typeof TermRow.Type

/** When to look at an instance again. */
interface NextLook {
  readonly instanceId: string
  readonly dueAt: Date | null
}

/** A notice that was emitted. */
interface EmittedNotice {
  readonly instanceId: string
  readonly endLicenseDate: Date
  readonly key: string
}

/** Stores and reads what is known of the ends of licenses. */
export class TermsRepo extends Context.Service<
  TermsRepo,
  {
    /** Up to `count` instances of all organizations that are due, the longest due first. Takes no locks. */
    readonly due: (at: Date, count: number) => Effect.Effect<ReadonlyArray<Candidate>>
    /** Locks those instances' schedules that are still due, but for those that another transaction holds. */
    readonly lockDue: (
      organizationId: OrganizationId,
      instanceIds: ReadonlyArray<string>,
      at: Date,
    ) => Effect.Effect<ReadonlyArray<typeof LockedSchedule.Type>>
    /**
     * Reads the terms of instances. After `lockDue` it is a statement of its own: it sees all that others have
     * committed.
     */
    readonly terms: (
      organizationId: OrganizationId,
      instanceIds: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyArray<TermRow>>
    /** Stores that notices were emitted. Their schedules must be locked. */
    readonly insertNotices: (
      organizationId: OrganizationId,
      at: Date,
      rows: ReadonlyArray<EmittedNotice>,
    ) => Effect.Effect<void>
    /** Stores when to look at instances again, and the lead times that this rests on. */
    readonly schedule: (
      organizationId: OrganizationId,
      leads: string,
      rows: ReadonlyArray<NextLook>,
    ) => Effect.Effect<void>
    /**
     * Makes up to `count` instances due that were scheduled by other lead times, latest first: no call passes over those
     * of the calls before. Returns how many.
     */
    readonly lookAgain: (leads: string, count: number) => Effect.Effect<number>
  }
>()("keyshelf/instances/terms/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(TermsRepo, make))
}

/** The schedules of instances by a key, to be joined. */
const scheduleOf = (
  sql: PgClient.PgClient,
  organizationId: OrganizationId,
  key: string,
  select: string,
  more = sql``,
  lock?: string,
): Fragment =>
  rowByKey(
    sql,
    select,
    { table: "term_schedules", within: sql`organization_id = ${organizationId} ${more}`, column: "instance_id", key },
    lock,
  )

const notices = (sql: PgClient.PgClient) => ({
  due: (at: Date, count: number) =>
    decoded(Candidate)(sql`
      SELECT organization_id AS "organizationId", instance_id AS "instanceId" FROM term_schedules
      WHERE due_at <= ${at} AND NOT ${sql.literal(isRemoved("term_schedules.organization_id"))}
      ORDER BY due_at LIMIT ${count}`),

  lockDue: (organizationId: OrganizationId, instanceIds: ReadonlyArray<string>, at: Date) =>
    decoded(LockedSchedule)(sql`
      SELECT due.instance_id AS "instanceId" FROM unnest(${instanceIds}::uuid[]) AS candidate (id)
      CROSS JOIN ${scheduleOf(sql, organizationId, "candidate.id", "instance_id", sql`AND (due_at <= ${at}) IS TRUE`, "FOR UPDATE SKIP LOCKED")} AS due`),

  terms: (organizationId: OrganizationId, instanceIds: ReadonlyArray<string>) =>
    decoded(TermRow)(sql`
      SELECT schedule.instance_id AS "instanceId", instance.end_license_date AS "endLicenseDate",
        coalesce(instance.grace_days, license.grace_days) AS "graceDays", schedule.set_at AS "setAt",
        ARRAY(
          SELECT notice FROM term_notices emitted
          WHERE emitted.organization_id = ${organizationId} AND emitted.instance_id = schedule.instance_id
            AND emitted.end_license_date = instance.end_license_date
        ) AS emitted
      FROM unnest(${instanceIds}::uuid[]) AS candidate (id)
      CROSS JOIN ${scheduleOf(sql, organizationId, "candidate.id", "instance_id, set_at")} AS schedule
      CROSS JOIN ${instancesSql.byKey(sql, "license_id, end_license_date, grace_days", organizationId, "candidate.id")} AS instance
      CROSS JOIN ${licensesSql.byKey(sql, "grace_days", organizationId, "instance.license_id")} AS license`),

  insertNotices: (organizationId: OrganizationId, at: Date, rows: ReadonlyArray<EmittedNotice>) =>
    executed(sql`
      INSERT INTO term_notices (organization_id, instance_id, end_license_date, notice, emitted_at)
      SELECT ${organizationId}, instance_id, end_license_date, notice, ${at}
      FROM unnest(${column("uuid", rows, (row) => row.instanceId)}, (SELECT ${column("timestamptz", rows, (row) => row.endLicenseDate)}),
        ${column("text", rows, (row) => row.key)}) AS emitted (instance_id, end_license_date, notice)`),
})

/** When instances are looked at again. */
const nextLooks = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const located = yield* locatedBy(sql)
  const processDue = yield* dueRowsOf("term_schedules")

  return {
    schedule: (organizationId: OrganizationId, leads: string, rows: ReadonlyArray<NextLook>) =>
      executed(sql`
        WITH next AS MATERIALIZED (
          SELECT planned.due_at, schedule.location
          FROM unnest(${column("uuid", rows, (row) => row.instanceId)}, (SELECT ${column("timestamptz", rows, (row) => row.dueAt)}))
            AS planned (instance_id, due_at)
          CROSS JOIN ${scheduleOf(sql, organizationId, "planned.instance_id", "ctid AS location")} AS schedule
        )
        UPDATE term_schedules SET due_at = next.due_at, leads = ${leads} FROM next
        WHERE ${scopeOf(sql, located(organizationId))} term_schedules.ctid = next.location`),

    lookAgain: (leads: string, count: number) => {
      const due: DueRows = (select, scope, limit) => sql`
        SELECT ${sql.literal(select)} FROM term_schedules
        WHERE ${scope} due_at IS NOT NULL AND leads <> ${leads} ORDER BY due_at DESC LIMIT ${limit}`
      return processDue(due, count, (rows) =>
        returnedCount(sql`
          UPDATE term_schedules SET due_at = 'epoch', leads = ${leads}
          WHERE ${isAt(sql, rows.organizationId, sql`${due("ctid", rows.scope, rows.count)} FOR UPDATE SKIP LOCKED`)}
          RETURNING 1`),
      )
    },
  }
})

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  return { ...notices(sql), ...(yield* nextLooks) }
})
