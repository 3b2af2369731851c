import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { randomUUID } from "node:crypto"
import { TermNotices } from "../../src/domains/instances/terms/Service.ts"
import { LATE_ROWS, OrganizationRemoval } from "../../src/domains/maintenance/OrganizationRemoval.ts"
import { MigrationRunner } from "../../src/domains/migrations/Runner.ts"
import { Rollups } from "../../src/domains/usage/history/Rollups.ts"
import { now } from "../../src/kernel/values/Timestamp.ts"
import { endpoints } from "../contract/endpoints.ts"
import { populate, scenarioOf } from "../contract/scenarios.ts"
import { anotherNode, follow } from "../events/support.ts"
import { linesOf, newSource } from "../offline-bundles/LedgerSite.ts"
import { allowInventedEvents } from "../support/eventSchemas.ts"
import { TestService } from "../support/TestService.ts"
import type { Tenant } from "../support/TestService.ts"
import { sweep } from "./sweeping.ts"

allowInventedEvents()

/** All tables with rows of organizations. A partition counts as part of its table. */
const tables = Effect.gen(function* () {
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
const countsOf = Effect.fnUntraced(function* (organizationId: string) {
  const sql = yield* PgClient.PgClient
  const counts: Record<string, number> = {}
  for (const table of yield* tables) {
    const [row] = yield* sql<{ count: number }>`
      SELECT count(*)::int AS count FROM ${sql(table)} WHERE organization_id = ${organizationId}`
    counts[table] = row?.count ?? 0
  }
  return counts
})

const MANY = 3_500

/** An organization with rows in every table, and thousands in those that grow. */
const crowdedOrganization = Effect.gen(function* () {
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
  yield* service.core("GET", "/events/checkpoint", { token })
  const actor = sql.json({ id: randomUUID(), name: "many" })
  const at = yield* now
  yield* sql`
    INSERT INTO usage_events (organization_id, instance_id, entitlement_id, period_start, ordinal, timestamp, behavior, value,
      reported_at, reported_by)
    SELECT organization_id, instance_id, entitlement_id, period_start, 1000 + number, ${at}, 'append', 1, ${at}, ${actor}
    FROM (SELECT * FROM usage_totals WHERE organization_id = ${organizationId} LIMIT 1) AS total,
      generate_series(1, ${MANY}::int) AS number`
  yield* sql`UPDATE usage_totals SET event_count = 1000 + ${MANY} WHERE organization_id = ${organizationId}`
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
  yield* sql`
    INSERT INTO events (organization_id, id, type, occurred_at, actor, data)
    SELECT ${organizationId}::uuid, gen_random_uuid(), 'CUSTOMER_UPDATED', ${at}, ${actor}, '{}'
    FROM generate_series(1, ${MANY}::int)`
  yield* sql`
    INSERT INTO customers (organization_id, id, name, slug, created_at, created_by, updated_at, updated_by)
    SELECT ${organizationId}::uuid, gen_random_uuid(), 'many', 'many-' || number, ${at}, ${actor}, ${at}, ${actor}
    FROM generate_series(1, ${MANY}::int) AS number`
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
      FROM generate_series(1, ${MANY}::int) AS number`
  }
  return { ...tenant, slug: fixture.organizationSlug, fixture }
})

const remove = Effect.fnUntraced(function* ({ organizationId }: Tenant) {
  const { operator, platform } = yield* TestService
  const path = `/platform/organizations/${organizationId}`
  const { body } = yield* platform("GET", path, { token: operator })
  const removed = yield* platform("DELETE", `${path}?confirm=${body.slug}`, { token: operator })
  assert.deepStrictEqual([removed.status, removed.text], [204, ""])
})

layer(TestService.layer, { excludeTestServices: true })("the removal of an organization", (it) => {
  it.effect("deletes from every table that has rows of organizations", () =>
    Effect.gen(function* () {
      const removal = yield* OrganizationRemoval
      assert.deepStrictEqual(removal.tables.toSorted(), yield* tables)
    }),
  )

  it.effect(
    "leaves no row of the organization in any table, in bounded batches on several nodes, and touches no other one",
    () =>
      Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        const removed = yield* crowdedOrganization
        const other = yield* crowdedOrganization
        const before = yield* countsOf(other.organizationId)
        const rows = yield* countsOf(removed.organizationId)
        assert.deepStrictEqual(
          Object.entries(rows).filter(([, count]) => count === 0),
          [],
        )
        const total = Object.values(rows).reduce((sum, count) => sum + count, 0)
        yield* remove(removed)

        const { jobs } = yield* OrganizationRemoval
        const at = yield* now
        const stepAt = (time: Date) =>
          Effect.map(
            Effect.forEach(jobs, ({ step }) => step(time, 1000)),
            (done) => done.reduce((sum, count) => sum + count, 0),
          )
        const batches: Array<number> = []
        const node = (most: number) =>
          Effect.gen(function* () {
            for (let batch = 0; batch < most; batch++) {
              const done = yield* stepAt(at)
              batches.push(done)
              if (done === 0) return
            }
          })
        const left = Effect.map(countsOf(removed.organizationId), (counts) =>
          Object.entries(counts).filter(([, count]) => count > 0),
        )
        // A node that stops after some batches leaves nothing behind that the others need.
        yield* Effect.all([node(3), node(5)], { concurrency: 2 })
        assert.isNotEmpty(yield* left)
        yield* Effect.all([node(1000), node(1000)], { concurrency: 2 })
        // What one node skips, because the other one deletes it, may come last.
        yield* node(1000)
        assert.deepStrictEqual(yield* left, [])
        assert.isAtMost(Math.max(...batches), 1000)
        assert.isAbove(total, 10_000)

        // What requests from before the removal still store is found as long as the organization has its row.
        const isStored = Effect.map(
          sql`SELECT 1 FROM organizations WHERE id = ${removed.organizationId}`,
          (found) => found.length === 1,
        )
        assert.isTrue(yield* isStored)
        yield* sql`INSERT INTO event_streams (organization_id, head) VALUES (${removed.organizationId}, 1)`
        const later = new Date(at.getTime() + Duration.toMillis(LATE_ROWS))
        assert.strictEqual(yield* stepAt(later), 1)
        assert.isTrue(yield* isStored)
        yield* stepAt(later)
        assert.isFalse(yield* isStored)

        assert.deepStrictEqual(yield* countsOf(other.organizationId), before)
        const { core } = yield* TestService
        const check = { token: other.token, body: { checks: [{ entitlement: "api-calls" }] } }
        assert.strictEqual((yield* core("POST", `/instances/${other.fixture.instance}/check`, check)).status, 200)
      }),
    120_000,
  )

  it.effect("is part of a sweep", () =>
    Effect.gen(function* () {
      const tenant = yield* (yield* TestService).tenant()
      yield* remove(tenant)
      assert.isAbove((yield* sweep)["removed_organizations"] ?? 0, 0)
      assert.deepStrictEqual(
        Object.entries(yield* countsOf(tenant.organizationId)).filter(([, count]) => count > 0),
        [],
      )
    }),
  )
})

layer(TestService.layer, { excludeTestServices: true })("a removed organization", (it) => {
  it.effect("has no working credential on any node, also not at the token validation", () =>
    Effect.gen(function* () {
      const one = yield* TestService
      const two = yield* anotherNode
      const tenant = yield* one.tenant()
      const fixture = yield* populate({ ...one, ...tenant })
      const issued = yield* one.core("POST", `/service-accounts/${fixture.serviceAccount}/tokens`, {
        token: tenant.token,
        body: { name: "more", scopes: ["read:*"] },
      })
      const bystander = yield* one.tenant()
      const check = { checks: [{ entitlement: "api-calls" }] }
      const statuses = (token: string) =>
        Effect.forEach([one, two], ({ core, internal }) =>
          Effect.all([
            Effect.map(core("GET", "/me", { token }), ({ status }) => status),
            Effect.map(
              core("POST", `/instances/${fixture.instance}/check`, { token, body: check }),
              ({ status }) => status,
            ),
            Effect.map(internal("GET", "/tokens/validate", { token }), ({ status }) => status),
          ]),
        )
      assert.deepStrictEqual((yield* statuses(tenant.token)).flat(), [200, 200, 200, 200, 200, 200])
      yield* remove(tenant)
      for (const token of [tenant.token, String(issued.body.token)]) {
        assert.deepStrictEqual(yield* statuses(token), [
          [401, 401, 401],
          [401, 401, 401],
        ])
      }
      assert.strictEqual((yield* two.core("GET", "/me", { token: bystander.token })).status, 200)
    }),
  )

  it.effect("answers like one that does not exist on the whole Platform API, and is not listed", () =>
    Effect.gen(function* () {
      const service = yield* TestService
      const tenant = yield* service.tenant()
      const fixture = yield* populate({ ...service, ...tenant })
      yield* remove(tenant)
      const ofOrganizations = endpoints.filter(({ path }) => path.includes(":orgId"))
      assert.isAbove(ofOrganizations.length, 8)
      for (const endpoint of ofOrganizations) {
        const { body, path } = scenarioOf(endpoint, fixture)
        const response = yield* service.platform(endpoint.method, path, {
          token: service.operator,
          ...(body === undefined ? {} : { body }),
        })
        assert.deepStrictEqual([response.status, response.body.code], [404, "Organization.NotFound"], endpoint.id)
      }
      const listed = yield* service.platform("GET", "/platform/organizations?limit=200", { token: service.operator })
      assert.notInclude(listed.text, tenant.organizationId)
    }),
  )

  it.effect("is removed only with its slug as confirmation and the scope delete:organizations", () =>
    Effect.gen(function* () {
      const { core, operator, platform, tenant } = yield* TestService
      const { organizationId, token } = yield* tenant()
      const path = `/platform/organizations/${organizationId}`
      for (const query of ["", "?confirm=", "?confirm=other", `?confirm=${organizationId}`]) {
        const rejected = yield* platform("DELETE", path + query, { token: operator })
        assert.deepStrictEqual([rejected.status, rejected.body.errors[0].location], [422, "query.confirm"], query)
      }
      const { slug } = (yield* platform("GET", path, { token: operator })).body
      const writer = yield* platform("POST", "/platform/credentials", {
        token: operator,
        body: { name: "writer", scopes: ["write:*", "delete:users"] },
      })
      const forbidden = yield* platform("DELETE", `${path}?confirm=${slug}`, { token: writer.body.token })
      assert.deepStrictEqual([forbidden.status, forbidden.body.code], [403, "Auth.MissingScope"])
      assert.strictEqual((yield* core("GET", "/me", { token })).status, 200)
    }),
  )

  it.effect("is removed once by concurrent requests, and leaves slug and external id to the next one", () =>
    Effect.gen(function* () {
      const { core, operator, platform } = yield* TestService
      const call = (method: string, path: string, body?: object) =>
        platform(method, path, { token: operator, ...(body === undefined ? {} : { body }) })
      const slug = `acme-${randomUUID()}`
      const create = call("POST", "/platform/organizations", { name: "Acme", slug, externalId: slug })
      const first = yield* create
      const responses = yield* Effect.replicateEffect(
        call("DELETE", `/platform/organizations/${first.body.id}?confirm=${slug}`),
        4,
        { concurrency: 4 },
      )
      assert.sameMembers(
        responses.map(({ status }) => status),
        [204, 404, 404, 404],
      )
      const second = yield* create
      assert.strictEqual(second.status, 201)
      assert.notStrictEqual(second.body.id, first.body.id)
      const minted = yield* call("POST", `/platform/organizations/${second.body.id}/tokens`, { name: "new" })
      const me = yield* core("GET", "/me", { token: minted.body.token })
      assert.deepStrictEqual(me.body.organization, { id: second.body.id, name: "Acme", slug })
    }),
  )

  it.effect("ends its live streams long before their next heartbeat, and no other stream", () =>
    Effect.gen(function* () {
      const { core, origins, tenant } = yield* TestService
      const node = yield* anotherNode
      const [ending, staying] = [yield* tenant(), yield* tenant()]
      const readers = yield* Effect.forEach([origins.core, node.origins.core], (origin) => follow(origin, ending.token))
      const other = yield* follow(origins.core, staying.token)
      yield* remove(ending)
      for (const reader of readers) yield* Effect.timeout(reader.ended, "10 seconds")
      yield* core("POST", "/components", { token: staying.token, body: { name: "part", version: "1" } })
      assert.strictEqual((yield* other.next).event, "COMPONENT_CREATED")
    }).pipe(Effect.scoped),
  )
})
