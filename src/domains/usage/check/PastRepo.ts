/** SQL of checks of the past: the terms and grants at an instant, and the usage up to it. */
import { PgClient } from "@effect/sql-pg"
import { BigDecimal, Context, Effect, Layer, Schema, Struct } from "effect"
import type { Fragment } from "effect/sql/Statement"
import { AggregationMethod, ReportAggregation } from "../../entitlements/Model.ts"
import { storedDecimal } from "../../../kernel/values/Decimal.ts"
import { decoded } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { LEDGER_SOURCE } from "../cloudevents/Model.ts"
import { summaryOf, SummaryRow } from "../ledger/SummaryRow.ts"
import { valueOf } from "../rules/Aggregation.ts"
import { EntitlementRow, WithoutEntitlement } from "../rules/Terms.ts"
import { pastAddOns } from "../../instances/addons/AddOnsSql.ts"
import { pastOverrideJoin } from "../../instances/overrides/OverridesSql.ts"
import { sumsUntil, wasDropped } from "../partitions/DaysSql.ts"
import { entitlementsSql } from "../../entitlements/EntitlementsSql.ts"
import { instancesSql, pastTermsJoin } from "../../instances/InstancesSql.ts"
import { licensedTerms, pastGrantJoin } from "../../licenses/grants/GrantSql.ts"
import { familyJoin, licensesSql, pastGraceJoin } from "../../licenses/LicensesSql.ts"
import { broughtIn, reservedInPast, tranchesInPast } from "../terms/HeldSql.ts"
import { burnedInPast, hasCredits, isPastUnknown, pastCredits } from "../terms/CreditsSql.ts"
import { checkedAllowances, explainedColumns, liveLeases, meterOfInstance } from "../terms/TermsSql.ts"

/** A row of a check of the past, without its usage. */
const PastRow = Schema.Union([
  Schema.Struct({
    ...Struct.omit(EntitlementRow.fields, ["broughtIn"]),
    instanceId: Schema.String,
    entitlementId: Schema.String,
    aggregationMethod: Schema.NullOr(AggregationMethod),
    /** What credits had paid then is no longer known: only sums of it are stored. */
    isUnknown: Schema.Boolean,
  }),
  WithoutEntitlement,
])
type PastRow = typeof PastRow.Type

/** A total whose usage up to an instant is needed. */
interface PastUsageKey {
  readonly instanceId: string
  readonly entitlementId: string
  readonly periodStart: Date
  readonly method: ReportAggregation
}

/** The usage in that period; a decimal. */
interface PastUsage {
  readonly entitlementId: string
  readonly periodStart: Date
  readonly used: string
  /** A decimal: the part of it that ledgers have brought. */
  readonly broughtIn: string | null
  /** A decimal: what tranches held of the period. */
  readonly tranches: string | null
  /** A decimal: what credits had paid of it. */
  readonly burned: string
  /** The instant is on a day whose events were dropped, between two of them: the usage then is no longer known. */
  readonly isUnknown: boolean
}

const SummedUp = Schema.Struct({
  ...SummaryRow.fields,
  entitlementId: Schema.String,
  periodStart: Schema.Date,
  method: ReportAggregation,
  /**
   * The present total of the period, if all its events count; otherwise the sums of the events up to the instant do.
   */
  total: Schema.NullOr(Schema.String),
  broughtIn: Schema.NullOr(Schema.String),
  tranches: Schema.NullOr(Schema.String),
  burned: Schema.String,
  isUnknown: Schema.Boolean,
})
type SummedUp = typeof SummedUp.Type

const usedIn = (row: SummedUp): BigDecimal.BigDecimal =>
  row.total === null ? valueOf(row.method, summaryOf(row)) : storedDecimal(row.total)

const usageOf = (row: SummedUp): PastUsage => ({
  entitlementId: row.entitlementId,
  periodStart: row.periodStart,
  broughtIn: row.broughtIn,
  tranches: row.tranches,
  burned: row.burned,
  isUnknown: row.isUnknown,
  used: BigDecimal.format(usedIn(row)),
})

/** Rows of checks of the past. */
export class PastRepo extends Context.Service<
  PastRepo,
  {
    /** Everything that a check of the past is decided on, except usage; no row if there is no such instance. */
    readonly findTerms: (
      organizationId: OrganizationId,
      instanceSlug: string,
      entitlements: ReadonlyArray<string>,
      at: Date,
      explain: boolean,
    ) => Effect.Effect<ReadonlyArray<PastRow>>
    /**
     * The usage of each entitlement in its period up to an instant, by all events that are known today. The database
     * adds them up, so that no event is transferred; of dropped events it adds the sums of days. The period's total is used where all
     * its events are up to the instant, and where an operator deleted events, because nothing more exact is left.
     */
    readonly usageUntil: (
      organizationId: OrganizationId,
      among: ReadonlyArray<PastUsageKey>,
      at: Date,
    ) => Effect.Effect<ReadonlyArray<PastUsage>>
  }
>()("keyshelf/usage/check/PastRepo") {
  static readonly layer = Layer.suspend(() => Layer.effect(PastRepo, make))
}

// No terms are stored for the time before the instance was created. Its present terms are used for that time.
const termsAndLicense = (sql: PgClient.PgClient, organization: Fragment) => sql`${pastTermsJoin(sql, organization)}
  CROSS JOIN LATERAL (
    SELECT past.license_id, past.start_license_date, past.end_license_date, past.grace_days WHERE past.license_id IS NOT NULL
    UNION ALL
    SELECT i.license_id, i.start_license_date, i.end_license_date, i.grace_days WHERE past.license_id IS NULL
  ) terms
  JOIN ${licensesSql.as("l")} ON l.organization_id = i.organization_id AND l.id = terms.license_id
  ${pastGraceJoin(sql, organization)}`

const terms = (sql: PgClient.PgClient): Pick<PastRepo["Service"], "findTerms"> => {
  const columns = sql.literal(`i.id AS "instanceId", i.slug AS instance, l.slug AS license,
    terms.start_license_date AS "startLicenseDate", terms.end_license_date AS "endLicenseDate",
    coalesce(terms.grace_days, before.grace_days, l.grace_days) AS "graceDays", e.id AS "entitlementId",
    e.slug AS entitlement, e.type, e.aggregation_method AS "aggregationMethod", e.reset_period AS "resetPeriod",
    e.reset_anchor AS "resetAnchor", ${licensedTerms}, overridden.override,
    CASE e.aggregation_method WHEN 'CONCURRENT' THEN terms.start_license_date END AS "periodStart", h.quantity::text AS held`)
  const credited = sql.literal(hasCredits("e.id"))
  const more = (organization: Fragment) => sql`
    CASE e.aggregation_method WHEN 'CONCURRENT' THEN (${liveLeases(sql, organization, "e.id")})::text END AS used,
    ${checkedAllowances(sql, organization)}, ${pastAddOns(sql, organization)},
    CASE WHEN ${credited} THEN (${pastCredits(sql, meterOfInstance(organization), "asked.at")}) END AS credits,
    CASE WHEN ${credited} THEN ${isPastUnknown(sql, meterOfInstance(organization), "asked.at")} ELSE false END AS "isUnknown"`
  const explained = sql.literal(explainedColumns)
  const family = sql.literal(familyJoin)
  const nothing = sql.literal("")

  return {
    findTerms: (
      organizationId: OrganizationId,
      instanceSlug: string,
      entitlements: ReadonlyArray<string>,
      at: Date,
      explain: boolean,
    ) => {
      const organization = sql`${organizationId}`
      return decoded(PastRow)(sql`
        SELECT ${columns}, ${more(organization)}${explain ? explained : nothing}
        FROM ${instancesSql.as("i")}
        CROSS JOIN (SELECT ${at}::timestamptz AS at, ${at}::timestamptz AS known) asked
        ${termsAndLicense(sql, organization)}
        ${explain ? family : nothing}
        LEFT JOIN ${entitlementsSql.as("e")}
          ON e.organization_id = i.organization_id AND e.slug = ANY(ARRAY(SELECT unnest(${entitlements}::text[])))
        ${pastGrantJoin(sql, organization)}
        ${pastOverrideJoin(sql, organization)}
        LEFT JOIN LATERAL (${reservedInPast(sql, meterOfInstance(organization), "asked.at")}
        ) h ON true
        WHERE i.organization_id = ${organizationId} AND i.slug = ${instanceSlug}`)
    },
  }
}

/** The newest set of a total `t` up to `asked.at`, and the sums of the events that count with it. */
const eventsUntil = (
  sql: PgClient.PgClient,
  organizationId: OrganizationId,
  { dropped, ofTotal }: { readonly dropped: Fragment; readonly ofTotal: Fragment },
): Fragment => sql`
          LEFT JOIN LATERAL (
            SELECT timestamp, ordinal, value FROM usage_events
            WHERE ${ofTotal} AND t.set_at IS NOT NULL AND behavior = 'set' AND timestamp <= asked.at AND voided_at IS NULL
            ORDER BY timestamp DESC, ordinal DESC LIMIT 1
          ) newest_set ON true
          LEFT JOIN LATERAL (
            SELECT count(*) AS stored, count(*) FILTER (WHERE counts) AS count, sum(value) FILTER (WHERE counts) AS sum,
              min(value) FILTER (WHERE counts) AS minimum, max(value) FILTER (WHERE counts) AS maximum,
              count(DISTINCT unique_key) FILTER (WHERE counts AND asked.method = 'UNIQUE_COUNT' AND NOT EXISTS (
                SELECT 1 FROM usage_unique_keys k
                WHERE k.organization_id = ${organizationId} AND k.instance_id = t.instance_id
                  AND k.entitlement_id = t.entitlement_id AND k.period_start = t.period_start
                  AND k.unique_key = events.unique_key AND ${dropped})) AS keys,
              sum(CASE asked.method WHEN 'COUNT' THEN 1 ELSE value END) FILTER (WHERE counts AND is_brought) AS brought
            FROM (
              SELECT value, unique_key, coalesce(starts_with(source, ${LEDGER_SOURCE}), false) AS is_brought, voided_at IS NULL AND timestamp <= asked.at AND (newest_set.timestamp IS NULL
                OR (timestamp, ordinal) >= (newest_set.timestamp, newest_set.ordinal)) AS counts
              FROM usage_events WHERE ${ofTotal}
            ) events
          ) counted ON true`

const usage = (sql: PgClient.PgClient): Pick<PastRepo["Service"], "usageUntil"> => {
  const dropped = sql.literal(wasDropped("asked.at"))
  const isSummedUp = sql.literal("t.last_at > asked.at AND counted.stored + coalesce(past.stored, 0) = t.event_count")
  // The events of a total that was changed after the instant.
  const ofThatTotal = sql.literal(`AND instance_id = t.instance_id AND entitlement_id = t.entitlement_id
    AND period_start = t.period_start AND t.last_at > asked.at`)

  return {
    usageUntil: (
      organizationId: OrganizationId,
      among: ReadonlyArray<PastUsageKey>,
      at: Date,
    ): Effect.Effect<ReadonlyArray<PastUsage>> => {
      const ofTotal = sql`organization_id = ${organizationId} ${ofThatTotal}`
      const meter = { organization: sql`${organizationId}`, instance: "t.instance_id", entitlement: "t.entitlement_id" }
      const brought = broughtIn(sql, meter, "t.period_start")
      const burned = burnedInPast(sql, sql`${organizationId}`, "asked.at")
      const tranches = tranchesInPast(sql, meter, "asked.at", "t.period_start")
      return Effect.map(
        decoded(SummedUp)(sql`
          SELECT asked."entitlementId", asked."periodStart", asked.method,
            CASE WHEN ${isSummedUp} THEN NULL ELSE t.value::text END AS total,
            coalesce(newest_set.value, past.replaced_by)::text AS "replacedBy",
            (counted.count + before.count)::float8 AS count, (counted.keys + CASE asked.method WHEN 'UNIQUE_COUNT' THEN (
              SELECT count(*) FROM usage_unique_keys k
              WHERE k.organization_id = ${organizationId} AND k.instance_id = t.instance_id
                AND k.entitlement_id = t.entitlement_id AND k.period_start = t.period_start AND ${dropped}
            ) ELSE 0 END)::float8 AS keys,
            CASE WHEN before.sum IS NULL THEN counted.sum ELSE before.sum + coalesce(counted.sum, 0) END::text AS sum,
            least(counted.minimum, before.minimum)::text AS minimum, greatest(counted.maximum, before.maximum)::text AS maximum,
            coalesce(latest.value, before.latest)::text AS latest,
            CASE WHEN NOT (${isSummedUp}) THEN (${brought}) WHEN before.brought IS NULL THEN counted.brought::text
              ELSE (before.brought + coalesce(counted.brought, 0))::text END AS "broughtIn",
            (${tranches})::text AS tranches, (${burned})::text AS burned,
            coalesce(${isSummedUp} AND past.is_between, false) AS "isUnknown"
          FROM (
            SELECT *, ${at}::timestamptz AS at FROM jsonb_to_recordset(${sql.json(among)}) AS key
              ("instanceId" uuid, "entitlementId" uuid, "periodStart" timestamptz, method text)
          ) asked
          JOIN usage_totals t ON t.organization_id = ${organizationId} AND t.instance_id = asked."instanceId"
            AND t.entitlement_id = asked."entitlementId" AND t.period_start = asked."periodStart"
          ${eventsUntil(sql, organizationId, { dropped, ofTotal })}
          ${sumsUntil(sql, sql`${organizationId}`, "asked.at")}
          -- What was dropped before a set that is there no longer counts.
          LEFT JOIN LATERAL (
            SELECT past.count, past.sum, past.minimum, past.maximum, past.latest,
              CASE WHEN past.brought_count > 0 THEN CASE asked.method WHEN 'COUNT' THEN past.brought_count
                ELSE past.brought_sum END END AS brought
            WHERE newest_set.timestamp IS NULL
            UNION ALL
            SELECT 0, NULL, NULL, NULL, NULL, NULL WHERE newest_set.timestamp IS NOT NULL
          ) before ON true
          LEFT JOIN LATERAL (
            SELECT value FROM usage_events
            WHERE ${ofTotal} AND asked.method = 'LATEST' AND timestamp <= asked.at AND voided_at IS NULL
            ORDER BY timestamp DESC, ordinal DESC LIMIT 1
          ) latest ON true`),
        (rows) => rows.map(usageOf),
      )
    },
  }
}

const make = Effect.map(PgClient.PgClient, (sql) => ({ ...terms(sql), ...usage(sql) }))
