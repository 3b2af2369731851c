/**
 * Fills a migrated database with organizations, customers, instances, entitlements and usage, by SQL. Leaves a filled database
 * unchanged. Usage: node seed.mjs <database url> <scale as JSON>
 */
import { Client } from "pg"

const [url, scaleText] = process.argv.slice(2)
const { organizations, customers, instances, months, eventsPerTotal } = JSON.parse(scaleText)

const ENTITLEMENTS = 60
const METERED = 10

const client = new Client({ connectionString: url })
await client.connect()

const { rows } = await client.query("SELECT count(*)::int AS count FROM organizations WHERE slug LIKE 'bench-%'")
if (rows[0].count === organizations) {
  await client.end()
  process.exit(0)
}

// Ids are the same in every run, so that the load knows them without a query.
const id = (text) => `md5(${text})::uuid`
const actor = `'{"id":"00000000-0000-7000-8000-000000000001","name":"system:platform"}'::jsonb`
const createdAt = `'2026-01-01T00:00:00Z'::timestamptz`

const steps = [
  // Skip foreign key checks: the keys are right by construction, and ten million checks would take most of the time.
  `SET session_replication_role = replica`,
  `SET synchronous_commit = off`,
  `INSERT INTO organizations (id, name, slug, created_at, created_by, updated_at, updated_by)
    SELECT ${id(`'o' || o`)}, 'Bench ' || o, 'bench-' || o, ${createdAt}, ${actor}, ${createdAt}, ${actor}
    FROM generate_series(1, ${organizations}) o`,
  `INSERT INTO customers (organization_id, id, name, slug, domain, created_at, created_by, updated_at, updated_by)
    SELECT ${id(`'o' || o`)}, ${id(`'c' || o || '-' || c`)}, 'Customer ' || c, 'customer-' || c, 'c' || c || '.example',
      ${createdAt}, ${actor}, ${createdAt}, ${actor}
    FROM generate_series(1, ${organizations}) o, generate_series(1, ${customers}) c`,
  `INSERT INTO entitlements (organization_id, id, slug, name, description, type, aggregation_method, reset_period,
      reset_anchor, unit_singular, unit_plural, display_order, user_facing, warning_threshold_percent, created_at,
      created_by, updated_at, updated_by)
    SELECT ${id(`'o' || o`)}, ${id(`'e' || o || '-' || e`)}, 'entitlement-' || e, 'Entitlement ' || e,
      'Metered feature ' || e, 'NUMBER', 'SUM', 'MONTH', 'CALENDAR', 'call', 'calls', e, true, 80,
      ${createdAt}, ${actor}, ${createdAt}, ${actor}
    FROM generate_series(1, ${organizations}) o, generate_series(1, ${ENTITLEMENTS}) e`,
  `INSERT INTO license_families (organization_id, id, slug, last_version, created_at, created_by)
    SELECT ${id(`'o' || o`)}, ${id(`'f' || o`)}, 'pro', 1, ${createdAt}, ${actor}
    FROM generate_series(1, ${organizations}) o`,
  `INSERT INTO licenses (organization_id, id, family_id, slug, name, version, type, is_default, lifecycle_state,
      created_at, created_by, updated_at, updated_by)
    SELECT ${id(`'o' || o`)}, ${id(`'l' || o`)}, ${id(`'f' || o`)}, 'pro', 'Pro', 1, 'PAID', true, 'PUBLISHED', ${createdAt},
      ${actor}, ${createdAt}, ${actor}
    FROM generate_series(1, ${organizations}) o`,
  `INSERT INTO license_entitlements (organization_id, license_id, entitlement_id, value, overage_percent)
    SELECT ${id(`'o' || o`)}, ${id(`'l' || o`)}, ${id(`'e' || o || '-' || e`)}, '1000000000'::jsonb, 0
    FROM generate_series(1, ${organizations}) o, generate_series(1, ${ENTITLEMENTS}) e`,
  `INSERT INTO instances (organization_id, id, name, slug, customer_id, license_id, start_license_date, end_license_date,
      metadata, created_at, created_by, updated_at, updated_by)
    SELECT ${id(`'o' || o`)}, ${id(`'i' || o || '-' || i`)}, 'Instance ' || i, 'instance-' || i,
      ${id(`'c' || o || '-' || i`)}, ${id(`'l' || o`)}, '2025-01-01', '2099-01-01', '{}', ${createdAt}, ${actor}, ${createdAt}, ${actor}
    FROM generate_series(1, ${organizations}) o, generate_series(1, ${instances}) i`,
  `INSERT INTO usage_totals (organization_id, instance_id, entitlement_id, period_start, value, event_count, sum, value_count,
      last_at)
    SELECT ${id(`'o' || o`)}, ${id(`'i' || o || '-' || i`)}, ${id(`'e' || o || '-' || e`)}, start, ${eventsPerTotal},
      ${eventsPerTotal}, ${eventsPerTotal}, ${eventsPerTotal}, start
    FROM generate_series(1, ${organizations}) o, generate_series(1, ${instances}) i, generate_series(1, ${METERED}) e,
      generate_series(date_trunc('month', now() AT TIME ZONE 'UTC') - interval '${months - 1} months',
        date_trunc('month', now() AT TIME ZONE 'UTC'), interval '1 month') AS periods (start)`,
  `INSERT INTO usage_events (organization_id, instance_id, entitlement_id, period_start, ordinal, timestamp, behavior, value,
      reported_at, reported_by)
    SELECT organization_id, instance_id, entitlement_id, period_start, n, period_start + n * interval '1 minute', 'append', 1,
      period_start, ${actor}
    FROM usage_totals, generate_series(1, ${eventsPerTotal}) n`,
  `SET session_replication_role = origin`,
  `VACUUM (ANALYZE)`,
]

for (const step of steps) await client.query(step)
const counted = await client.query("SELECT count(*)::text AS events FROM usage_events")
console.error(`seeded: ${counted.rows[0].events} usage events`)
await client.end()
