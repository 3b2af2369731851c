/**
 * On Citus, the statements of a request ask one shard, because they name its organization. The database of this test
 * (`TEST_CITUS_ONE_SHARD`) refuses a statement that asks several, and one whose rows leave the shard, because another part of the
 * statement reads them: Citus sends these to all workers. The request then answers 500.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { isOnCitus } from "../support/Cluster.ts"
import { withReason } from "../support/skipped.ts"
import { TestService } from "../support/TestService.ts"
import { endpoints } from "./endpoints.ts"
import type { Endpoint } from "./endpoints.ts"
import { populate, scenarioOf } from "./scenarios.ts"

const asksOneShard = isOnCitus && process.env["TEST_CITUS_ONE_SHARD"] !== undefined
const why = asksOneShard ? undefined : "TEST_CITUS_URL and TEST_CITUS_ONE_SHARD are not set"

// The operator's requests may concern all organizations.
const ofOrganizations = endpoints.filter(({ api }) => api !== "platform")

const open = Effect.gen(function* () {
  const service = yield* TestService
  const tenant = yield* service.tenant()
  const fixture = yield* populate({ ...service, ...tenant })
  return (endpoint: Endpoint) => {
    const { path, body } = scenarioOf(endpoint, fixture)
    return Effect.map(
      service.core(endpoint.method, path, { token: tenant.token, ...(body === undefined ? {} : { body }) }),
      ({ status, text }) => ({ id: endpoint.id, status, text }),
    )
  }
})

layer(TestService.layer, { excludeTestServices: true })("a request of an organization", (it) => {
  it.effect.skipIf(why !== undefined)(
    withReason("asks one shard, whatever the endpoint", why),
    () =>
      Effect.gen(function* () {
        const [deleting, others] = [
          ofOrganizations.filter(({ method }) => method === "DELETE"),
          ofOrganizations.filter(({ method }) => method !== "DELETE"),
        ]
        const call = yield* open
        // One after the other: a later one may find what an earlier one changed, and then answers 404 or 409.
        const answers = yield* Effect.forEach([...others.filter(({ method }) => method === "GET"), ...others], call)
        // What it deletes is there.
        const deleted = yield* Effect.forEach(deleting, (endpoint) => Effect.flatMap(open, (fresh) => fresh(endpoint)))
        const all = [...answers, ...deleted]
        assert.deepStrictEqual(
          all.filter(({ status }) => status >= 500),
          [],
        )
        const successes = new Set(all.filter(({ status }) => status < 300).map(({ id }) => id))
        assert.isAbove(successes.size, 0.9 * ofOrganizations.length)
      }),
    300_000,
  )
})
