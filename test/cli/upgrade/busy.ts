/** SQL that fills databases to be upgraded: a shop, and what makes it a busy one. */

const ORGANIZATION = "00000000-0000-7000-8000-0000000000aa"
const id = (number: number) => `00000000-0000-7000-8000-0000000000b${number}`
const BY = `'{"id": "00000000-0000-7000-8000-000000000001", "name": "system:platform"}'`
const stamped = `'2026-11-01', ${BY}, '2026-11-01', ${BY}`
const stamps = "created_at, created_by, updated_at, updated_by"

/** What no file of answers may contain. */
export const SECRET = "kept-in-the-database"

/** SQL that fills a database with the schema of the baseline: a shop that sells calls, with a flag, an override and a last event. */
export const shop: ReadonlyArray<string> = [
  `INSERT INTO organizations (id, name, slug, ${stamps}) VALUES ('${ORGANIZATION}', 'Acme', 'acme', ${stamped})`,
  `INSERT INTO entitlements (organization_id, id, slug, name, type, aggregation_method, reset_period, display_order, user_facing, ${stamps})
    VALUES ('${ORGANIZATION}', '${id(1)}', 'calls', 'Calls', 'NUMBER', 'SUM', 'MONTH', 0, true, ${stamped}),
      ('${ORGANIZATION}', '${id(2)}', 'sso', 'SSO', 'BOOLEAN', NULL, NULL, 1, true, ${stamped})`,
  `INSERT INTO license_families (organization_id, id, slug, last_version, created_at, created_by)
    VALUES ('${ORGANIZATION}', '${id(3)}', 'pro', 1, '2026-11-01', ${BY})`,
  `INSERT INTO licenses (organization_id, id, family_id, slug, name, version, type, is_default, lifecycle_state, ${stamps})
    VALUES ('${ORGANIZATION}', '${id(4)}', '${id(3)}', 'pro', 'Pro', 1, 'PAID', true, 'PUBLISHED', ${stamped})`,
  `INSERT INTO license_entitlements (organization_id, license_id, entitlement_id, value, overage_percent)
    VALUES ('${ORGANIZATION}', '${id(4)}', '${id(1)}', '5000', 0)`,
  `INSERT INTO customers (organization_id, id, name, slug, ${stamps}) VALUES ('${ORGANIZATION}', '${id(5)}', 'Globex', 'globex', ${stamped})`,
  `INSERT INTO instances (organization_id, id, name, slug, customer_id, license_id, start_license_date, metadata, ${stamps})
    VALUES ('${ORGANIZATION}', '${id(6)}', 'Prod', 'prod', '${id(5)}', '${id(4)}', '2026-01-01', '{"note": "${SECRET}"}', ${stamped})`,
  `INSERT INTO feature_flags (organization_id, id, key, name, type, enabled, metadata, variants, default_variant, targetings, ${stamps})
    VALUES ('${ORGANIZATION}', '${id(7)}', 'dark', 'Dark', 'boolean', true, '{"note": "${SECRET}"}', '[{"name": "on", "value": true}, {"name": "off", "value": false}]', 'on', '[]', ${stamped})`,
  `INSERT INTO events (organization_id, id, type, occurred_at, actor, data)
    VALUES ('${ORGANIZATION}', '${id(8)}', 'INSTANCE_CREATED', '2026-11-20T12:00:00Z', ${BY}, '{}')`,
]

/** How busy it is. */
interface Size {
  readonly instances: number
  /** Reports of a day. */
  readonly events: number
  /** How many days have as many, up to the newest event of the shop. */
  readonly days?: number
}

/**
 * The statements. The shop has one instance `prod`, which has a `NUMBER` entitlement `calls` with a monthly period. Each report counts 1
 * or 2. Their time ends at that of the newest event of the shop.
 */
export const busy = ({ days = 4, events, instances }: Size): ReadonlyArray<string> => [
  `INSERT INTO instances (organization_id, id, name, slug, customer_id, license_id, start_license_date, end_license_date, metadata,
      created_at, created_by, updated_at, updated_by)
    SELECT organization_id, gen_random_uuid(), name || ' ' || n, slug || '-' || n, customer_id, license_id, start_license_date,
      end_license_date, metadata, created_at, created_by, updated_at, updated_by
    FROM instances CROSS JOIN generate_series(1, ${instances}) AS n WHERE slug = 'prod'`,
  `INSERT INTO usage_events (organization_id, instance_id, entitlement_id, period_start, ordinal, timestamp, behavior, value,
      reported_at, reported_by)
    SELECT organization_id, id, entitlement, date_trunc('month', at, 'UTC'),
      row_number() OVER (PARTITION BY id, date_trunc('month', at, 'UTC') ORDER BY at), at, 'append', value, at, created_by
    FROM (
      SELECT i.organization_id, i.id, i.created_by, (SELECT id FROM entitlements WHERE slug = 'calls') AS entitlement,
        date_trunc('milliseconds', newest.at - interval '1 day' * n / ${events}) AS at, 1 + n % 2 AS value
      FROM generate_series(0, ${days * events - 1}) AS n CROSS JOIN (SELECT max(occurred_at) AS at FROM events) newest
      JOIN (SELECT *, row_number() OVER (ORDER BY slug) AS number FROM instances WHERE slug LIKE 'prod-%') i
        ON i.number = 1 + n % ${instances}
    ) report`,
  `INSERT INTO usage_totals (organization_id, instance_id, entitlement_id, period_start, value, event_count, sum, value_count,
      latest_at, last_at, decided_at)
    SELECT organization_id, instance_id, entitlement_id, period_start, sum(value), count(*), sum(value), count(*), max(timestamp),
      max(timestamp), max(timestamp)
    FROM usage_events GROUP BY 1, 2, 3, 4 ON CONFLICT DO NOTHING`,
]
