import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { randomUUID } from "node:crypto"
import { LATE_ROWS, OrganizationRemoval } from "../../src/domains/maintenance/OrganizationRemoval.ts"
import { now } from "../../src/kernel/values/Timestamp.ts"
import { endpoints } from "../contract/endpoints.ts"
import { populate, scenarioOf } from "../contract/scenarios.ts"
import { anotherNode, follow } from "../events/support.ts"
import { allowInventedEvents } from "../support/recorded.ts"
import { TestService } from "../support/TestService.ts"
import type { Tenant } from "../support/TestService.ts"
import { countsOf, crowdedOrganization, tables } from "./crowded.ts"
import { sweep } from "./sweeping.ts"

allowInventedEvents()

const remove = Effect.fnUntraced(function* ({ organizationId }: Tenant) {
  const { operator, platform } = yield* TestService
  const path = `/platform/organizations/${organizationId}`
  const { body } = yield* platform("GET", path, { token: operator })
  const removed = yield* platform("DELETE", `${path}?confirm=${body.slug}`, { token: operator })
  assert.deepStrictEqual([removed.status, removed.text], [204, ""])
})

layer(TestService.separate, { excludeTestServices: true })("the removal of an organization", (it) => {
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

layer(TestService.separate, { excludeTestServices: true })("a removed organization", (it) => {
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
