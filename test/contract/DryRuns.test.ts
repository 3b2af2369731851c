import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { Signals } from "../../src/kernel/ports/Signals.ts"
import { TestService } from "../support/TestService.ts"
import type { HttpResponse } from "../support/TestService.ts"
import { endpoints } from "./endpoints.ts"
import type { Endpoint } from "./endpoints.ts"
import { populate, scenarioOf } from "./scenarios.ts"
import type { Scenario } from "./scenarios.ts"

const writes = endpoints.filter(({ method }) => method !== "GET")

/** Operations with dry runs (design of offline use and audit, C2; contract, part 2, section 11). */
const DECLARED = [
  "addOns.delete",
  "addOns.put",
  "components.delete",
  "connectors.deactivate",
  "credits.create",
  "credits.void",
  "customers.delete",
  "deploymentZones.delete",
  "deploymentZones.update",
  "entitlements.delete",
  "instances.delete",
  "instances.update",
  "licenseEntitlements.assign",
  "licenseEntitlements.unassign",
  "licenseEntitlements.update",
  "licenseMigrations.request",
  "licenses.archive",
  "licenses.delete",
  "licenses.publish",
  "licenses.unarchive",
  "licenses.update",
  "metadataFields.archive",
  "metadataFields.update",
  "offlineBundles.revoke",
  "releases.delete",
  "releases.updateAccess",
]

/** A hash of all rows of each table. */
const contents = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const names = yield* sql<{ name: string }>`
    SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename`
  const hashes: Record<string, string> = {}
  for (const { name } of names) {
    // The service stores once a minute when tokens were last used, whatever the requests of the moment do.
    const text = sql.literal(name === "credentials" ? "(to_jsonb(t) - 'last_used_at')::text" : "t::text")
    const [row] = yield* sql<{ hash: string }>`
      SELECT md5(coalesce(string_agg(${text}, '|' ORDER BY ${text}), '')) AS hash FROM ${sql(name)} t`
    hashes[name] = row?.hash ?? ""
  }
  return hashes
})

const TIME = /"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/g

/** JSON in which the times since the start of the test are equal. */
const comparable = (value: unknown, since: number): unknown =>
  JSON.parse(
    JSON.stringify(value).replaceAll(TIME, (time) => (Date.parse(time.slice(1, -1)) >= since ? '"now"' : time)),
  )

/** The id of a record that the request creates is an example. */
const withExampleId = (body: object | null): unknown =>
  body === null || !("counts" in body || "addOn" in body || "priority" in body) ? body : { ...body, id: "example" }

const withQuery = (path: string, query: string): string => `${path}${path.includes("?") ? "&" : "?"}${query}`

const setup = Effect.gen(function* () {
  const service = yield* TestService
  const owner = yield* service.tenant()
  const fixture = yield* populate({ ...service, ...owner })
  const send = ({ api, method }: Endpoint, { body, path }: Scenario, query = "", headers = {}) =>
    (api === "platform" ? service.platform : service.core)(method, query === "" ? path : withQuery(path, query), {
      token: api === "platform" ? service.operator : owner.token,
      headers,
      ...(body === undefined ? {} : { body }),
    })
  const post = Effect.fnUntraced(function* (path: string, body: object) {
    const response = yield* service.core("POST", path, { token: owner.token, body })
    assert.isBelow(response.status, 300, response.text)
    return response.body
  })
  return { ...service, owner, fixture, send, post }
})

/** Records of which the request is not refused. */
const free: Readonly<Record<string, readonly [path: string, body: object]>> = {
  "components.delete": ["/components", { name: "free", version: "1" }],
  "customers.delete": ["/customers", { name: "free" }],
  "deploymentZones.delete": ["/deployment-zones", { name: "free", type: "test" }],
  "entitlements.delete": ["/entitlements", { name: "free", type: "NUMBER" }],
  "licenses.archive": ["/licenses", { name: "free", type: "PAID" }],
  "releases.delete": ["/releases", { version: "free" }],
}

const refusal = ({ body: { errorId: _, ...problem }, status }: HttpResponse) => ({ status, problem })

layer(TestService.layer, { excludeTestServices: true })("a dry run", (it) => {
  it.effect(
    "is refused by every write that does not declare it, and nothing changes",
    () =>
      Effect.gen(function* () {
        const { fixture, send } = yield* setup
        assert.deepStrictEqual(writes.flatMap(({ hasDryRun, id }) => (hasDryRun ? [id] : [])).sort(), DECLARED)
        const before = yield* contents
        for (const endpoint of writes.filter(({ hasDryRun }) => !hasDryRun)) {
          for (const value of ["true", "false"]) {
            const response = yield* send(endpoint, scenarioOf(endpoint, fixture), `dryRun=${value}`)
            assert.strictEqual(response.status, 422, `${endpoint.id}: ${response.text}`)
            assert.deepStrictEqual(
              response.body.errors,
              [{ location: "query.dryRun", message: "unknown property", value }],
              endpoint.id,
            )
          }
        }
        assert.deepStrictEqual(yield* contents, before)
      }),
    120_000,
  )

  for (const endpoint of writes.filter(({ hasDryRun }) => hasDryRun)) {
    it.effect(`of ${endpoint.id} changes no table, sends no signal, and answers what the real request then does`, () =>
      Effect.gen(function* () {
        const { core, fixture, owner, post, send } = yield* setup
        const signals = yield* Signals
        const since = Date.now()
        const scenario = scenarioOf(endpoint, fixture)
        const headers = endpoint.takesIdempotencyKey ? { "idempotency-key": "dry" } : {}
        const waitForSignal = yield* signals.subscribe("events")
        // While the listener connects, a subscriber may be woken without a signal.
        yield* Effect.repeat(signals.listening, {
          until: (listening) => listening,
          schedule: Schedule.spaced("5 millis"),
        })
        const isSignalled = Effect.raceFirst(Effect.as(waitForSignal, true), Effect.as(Effect.yieldNow, false))
        const compared = Effect.fnUntraced(function* (scenario: Scenario) {
          const { body: listed } = yield* core("GET", "/events?limit=100", { token: owner.token })
          const { nextCursor } = listed
          yield* isSignalled
          const before = yield* contents
          const dry = yield* send(endpoint, scenario, "dryRun=true", headers)
          assert.deepStrictEqual(yield* contents, before)
          assert.isFalse(yield* isSignalled)
          const wrong = yield* send(endpoint, scenario, "dryRun=yes")
          assert.strictEqual(wrong.body.errors?.[0]?.location, "query.dryRun", wrong.text)
          const real = yield* send(endpoint, scenario, "dryRun=false", headers)
          if (real.status >= 400) {
            assert.deepStrictEqual(refusal(dry), refusal(real))
            return false
          }
          assert.strictEqual(dry.status, 200, dry.text)
          assert.strictEqual(dry.body.dryRun, true)
          assert.strictEqual(dry.body.status, real.status)
          // The events of a migration follow its request.
          assert.strictEqual(yield* isSignalled, endpoint.id !== "licenseMigrations.request")
          assert.deepStrictEqual(
            comparable(withExampleId(dry.body.body), since),
            comparable(withExampleId(real.body ?? null), since),
          )
          const { body: emitted } = yield* core("GET", `/events?limit=100&cursor=${nextCursor}`, { token: owner.token })
          assert.deepStrictEqual(
            comparable(
              dry.body.events.map(({ data, resource: _, ...event }: { data: object; resource: unknown }) => ({
                ...event,
                data: withExampleId(data),
              })),
              since,
            ),
            comparable(
              emitted.items.map(({ data, previous, type }: { data: object; previous?: unknown; type: string }) => ({
                type,
                data: withExampleId(data),
                ...(previous === undefined ? {} : { previous }),
              })),
              since,
            ),
          )
          return true
        })
        const succeeded = yield* compared(scenario)
        const records = free[endpoint.id]
        assert.strictEqual(succeeded, records === undefined)
        if (records !== undefined) {
          const [path, body] = records
          const suffix = endpoint.method === "POST" ? "/archive" : ""
          assert.isTrue(yield* compared({ path: `${path}/${(yield* post(path, body)).slug}${suffix}` }))
        }
      }).pipe(Effect.scoped),
    )
  }
})
