/** An organization with rows in every table. Some events are invented: call `allowInventedEvents` in the test file. */
import { PgClient } from "@effect/sql-pg"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { TermNotices } from "../../src/domains/instances/terms/Service.ts"
import { MigrationRunner } from "../../src/domains/licensemoves/Runner.ts"
import { Rollups } from "../../src/domains/usage/history/Rollups.ts"
import { now } from "../../src/kernel/values/Timestamp.ts"
import { populate } from "../contract/scenarios.ts"
import { linesOf, newSource } from "../offline-bundles/LedgerSite.ts"
import { arriving } from "../support/arriving.ts"
import { TestService } from "../support/TestService.ts"

/** All tables with rows of organizations. A partition counts as part of its table. */
export const tables = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const rows = yield* sql<{ name: string }>`
    SELECT columns.table_name AS name FROM information_schema.columns
    JOIN pg_class ON pg_class.oid = to_regclass(quote_ident(columns.table_name))
    WHERE columns.table_schema = current_schema() AND columns.column_name = 'organization_id'
      AND pg_class.relkind IN ('r', 'p') AND NOT pg_class.relispartition
    ORDER BY columns.table_name`
  return rows.map(({ name }) => name)
})

/** How many rows of the organization each table has. */
export const countsOf = Effect.fnUntraced(function* (organizationId: string) {
  const sql = yield* PgClient.PgClient
  const counts: Record<string, number> = {}
  for (const table of yield* tables) {
    const [row] = yield* sql<{ count: number }>`
      SELECT count(*)::int AS count FROM ${sql(table)} WHERE organization_id = ${organizationId}`
    counts[table] = row?.count ?? 0
  }
  return counts
})

/** An organization with rows in every table, and this many in those that grow. */
export const crowdedBy = Effect.fnUntraced(function* (many: number) {
  const service = yield* TestService
  const sql = yield* PgClient.PgClient
  const tenant = yield* service.tenant()
  const { organizationId, token } = tenant
  const fixture = yield* populate({ ...service, ...tenant })
  const call = Effect.fnUntraced(function* (method: string, path: string, body: object, headers = {}) {
    const response = yield* service.core(method, path, { token, body, headers })
    if (response.status >= 300) assert.fail(`${method} ${path}: ${response.text}`)
    return response.body
  })
  const usage = `/instances/${fixture.instance}/entitlements`
  yield* call("POST", "/customers", { name: "Initech" }, { "idempotency-key": "once" })
  yield* call("POST", `${usage}/api-calls/usage`, { value: 1, transactionId: "t1" })
  yield* call("POST", "/entitlements", {
    name: "Users",
    slug: "users",
    type: "NUMBER",
    aggregationMethod: "UNIQUE_COUNT",
  })
  yield* call("POST", "/licenses/pro/entitlements", { entitlementSlug: "users", value: 5 })
  yield* call("POST", `${usage}/users/usage`, { uniqueKey: "anna" })
  yield* call("POST", "/usage-events", {
    specversion: "1.0",
    id: "one",
    source: "/tests",
    subject: fixture.instance,
    type: "api-calls",
    data: { value: 1 },
  })
  const bundles = `/instances/${fixture.instance}/offline-bundles`
  yield* service.core("DELETE", `${bundles}/${fixture.bundle}`, { token })
  const source = newSource()
  const issued = { bundleId: fixture.bundle, time: (yield* now).getTime() }
  const lines = yield* linesOf(source, [{ subject: fixture.instance, type: "api-calls", value: 1 }], issued)
  yield* call("POST", `/instances/${fixture.instance}/offline-usage`, { source, lines })
  yield* sql`
    INSERT INTO offline_allowances (organization_id, instance_id, entitlement_id, bundle_id, sequence, quantity,
      valid_from, valid_until, open_until)
    SELECT organization_id, instance_id, entitlement_id, ${fixture.bundle}::uuid, 1, 1, period_start, period_start, period_start
    FROM offline_period_usage WHERE organization_id = ${organizationId}`
  yield* call("PUT", "/licenses/pro/entitlements/api-calls", { value: 9 })
  yield* call("PUT", "/licenses/pro", { graceDays: 9 })
  const soon = new Date((yield* now).getTime() + 86_400_000).toISOString()
  yield* call("PATCH", `/instances/${fixture.instance}`, { endLicenseDate: soon })
  yield* (yield* TermNotices).emitDue
  yield* call("POST", "/licenses/pro/migrations", { toLicenseSlug: fixture.draft, instances: ["unknown"] })
  yield* Effect.repeat((yield* MigrationRunner).step, { while: (more) => more })
  yield* call("PATCH", `/instances/${fixture.instance}`, { endLicenseDate: "2098-01-01T00:00:00Z" })
  yield* service.platform("PUT", `/platform/organizations/${organizationId}/license`, {
    token: service.operator,
    body: { connectors: ["*"] },
  })
  const actor = sql.json({ id: randomUUID(), name: "many" })
  const at = yield* now
  const addEvents = (count: number) =>
    arriving(
      sql,
      sql`
        INSERT INTO events (organization_id, id, type, occurred_at, actor, data)
        SELECT ${organizationId}::uuid, gen_random_uuid(), 'CUSTOMER_UPDATED', ${at}, ${actor}, '{}'
        FROM generate_series(1, ${count}::int)`,
    )
  // A node of the tree of the event log has 256 events.
  yield* addEvents(256)
  yield* service.core("GET", "/events/checkpoint", { token })
  yield* sql`
    INSERT INTO usage_events (organization_id, instance_id, entitlement_id, period_start, ordinal, timestamp, behavior, value,
      reported_at, reported_by)
    SELECT organization_id, instance_id, entitlement_id, period_start, 1000 + number, ${at}, 'append', 1, ${at}, ${actor}
    FROM (SELECT * FROM usage_totals WHERE organization_id = ${organizationId} LIMIT 1) AS total,
      generate_series(1, ${many}::int) AS number`
  yield* sql`
    INSERT INTO credit_uses (organization_id, credit_id, at, id, instance_id, entitlement_id, period_start, ordinal, quantity)
    SELECT organization_id, ${fixture.credit}::uuid, ${at}, gen_random_uuid(), instance_id, entitlement_id, period_start, 1, 1
    FROM usage_totals WHERE organization_id = ${organizationId} LIMIT 1`
  yield* sql`UPDATE usage_totals SET event_count = 1000 + ${many} WHERE organization_id = ${organizationId}`
  yield* (yield* Rollups).addMissing(at, 100)
  yield* sql`
    INSERT INTO usage_days (organization_id, instance_id, entitlement_id, period_start, day, at_start, stored_count, event_count,
      counted, brought_count, brought_sum)
    SELECT organization_id, instance_id, entitlement_id, period_start, period_start, false, 0, 0, 0, 0, 0
    FROM usage_totals WHERE organization_id = ${organizationId}`
  yield* sql`
    INSERT INTO usage_key_buckets (organization_id, instance_id, entitlement_id, size, start, keys, event_count)
    SELECT DISTINCT ON (instance_id, entitlement_id) organization_id, instance_id, entitlement_id, 'DAY', period_start, 0, 0
    FROM usage_totals WHERE organization_id = ${organizationId}`
  yield* sql`
    INSERT INTO usage_drop_changes SELECT organization_id, instance_id, entitlement_id, period_start
    FROM usage_totals WHERE organization_id = ${organizationId}`
  yield* addEvents(many)
  yield* sql`
    INSERT INTO customers (organization_id, id, name, slug, created_at, created_by, updated_at, updated_by)
    SELECT ${organizationId}::uuid, gen_random_uuid(), 'many', 'many-' || number, ${at}, ${actor}, ${at}, ${actor}
    FROM generate_series(1, ${many}::int) AS number`
  // On Citus no trigger stores the version of the catalog.
  yield* sql`
    INSERT INTO catalog_versions (organization_id, version) VALUES (${organizationId}, ${randomUUID()})
    ON CONFLICT DO NOTHING`
  // Half of them at one time, so that the first column of the key does not tell them apart.
  for (const day of ["2026-01-30", "2026-01-31"]) {
    const next = new Date(Date.parse(day) + 86_400_000).toISOString()
    yield* sql.unsafe(
      `CREATE TABLE IF NOT EXISTS webhook_attempts_${day.replaceAll("-", "")} PARTITION OF webhook_attempts
         FOR VALUES FROM ('${day}T00:00:00Z') TO ('${next}')`,
    )
    yield* sql`
      INSERT INTO webhook_attempts (organization_id, "timestamp", id, delivery_id, event_id, event_name, endpoint_id,
        endpoint_url, attempt, state, duration_ms)
      SELECT ${organizationId}::uuid, ${day}::timestamptz + number % 2 * interval '1 second' * number, gen_random_uuid(),
        gen_random_uuid(), gen_random_uuid(), 'CUSTOMER_UPDATED', ${fixture.webhook}::uuid, 'https://example.com', 1, 'Success', 5
      FROM generate_series(1, ${many}::int) AS number`
  }
  return { ...tenant, slug: fixture.organizationSlug, fixture }
})

/** An organization with rows in every table, and thousands in those that grow. */
export const crowdedOrganization = crowdedBy(3_500)
