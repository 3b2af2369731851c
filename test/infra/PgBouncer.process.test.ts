import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { follow } from "../events/support.ts"
import { request } from "../support/http.ts"
import { furnishInstance, installation } from "../support/Nodes.ts"
import { behindPgBouncer, pgBouncer, POOL_SIZE, whyNoPgBouncer } from "../support/PgBouncer.ts"
import { freePorts, start } from "../support/ServiceProcess.ts"
import type { ServiceProcess } from "../support/ServiceProcess.ts"
import { TestDatabase, testSql } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"

const LIMIT = 50

/** An installation whose processes reach their database through PgBouncer. */
const openInstallation = Effect.gen(function* () {
  const { url } = yield* TestDatabase
  const sql = yield* PgClient.PgClient
  const pooled = yield* pgBouncer(Redacted.value(url))
  // docs/scaling.md: PgBouncer ignores what the service sends, so it is set once. Here for the database, not for the role of all tests.
  const name = new URL(Redacted.value(url)).pathname.slice(1)
  for (const [setting, value] of [
    ["jit", "off"],
    ["statement_timeout", "30s"],
    ["lock_timeout", "10s"],
    ["idle_in_transaction_session_timeout", "60s"],
    ["timezone", "UTC"],
  ]) {
    yield* sql.unsafe(`ALTER DATABASE ${name} SET ${setting} = '${value}'`)
  }
  const { node, operator, settings, tenant } = installation(url)
  return {
    node: (env = {}) => node({ ...pooled, ...env }),
    operator,
    settings: { ...settings, ...pooled },
    sql,
    tenant,
  }
})

/** Sends requests to a process and fails if a response is not as expected. */
const caller = (service: ServiceProcess, token: string) => (path: string, body: object, status: number) =>
  Effect.promise(async () => {
    const answer = await request("POST", `${service.core}/api${path}`, { token, body })
    assert.strictEqual(answer.status, status, answer.text)
    return answer
  })

describe.skipIf(whyNoPgBouncer !== undefined)(behindPgBouncer("behind PgBouncer"), { timeout: 120_000 }, () => {
  it.live("the demo plays to its end, with its webhook", () =>
    Effect.gen(function* () {
      const { node, operator, settings } = yield* openInstallation
      const service = yield* node({ SERVICE_WEBHOOKS_ALLOW_INSECURE: "true" })
      const demo = yield* start(["demo"], {
        ...settings,
        SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL: operator,
        SERVICE_CORE_PORT: new URL(service.core).port,
        SERVICE_PLATFORM_PORT: new URL(service.platform).port,
      })
      const { code, output } = yield* demo.ended
      assert.strictEqual(code, 0, output)
      assert.include(output, "It received, with a genuine signature:")
    }).pipe(Effect.provide(testSql)),
  )

  it.live("two nodes share live events, and a limit, on the connections of the pool", () =>
    Effect.gen(function* () {
      const { node, sql, tenant } = yield* openInstallation
      const nodes = [yield* node(), yield* node()] as const
      const token = yield* tenant(nodes[0])
      const call = caller(nodes[0], token)

      const reader = yield* follow(nodes[1].core, token)
      yield* call("/components", { name: "engine", version: "1" }, 201)
      const { data, event } = yield* reader.next
      assert.deepStrictEqual([event, data.data.name], ["COMPONENT_CREATED", "engine"])

      yield* furnishInstance((path, body) => call(path, body, 201), "exports", LIMIT)
      const consumed = yield* Effect.forEach(
        Array.from({ length: 120 }, (_, index) => caller(nodes[index % 2 === 0 ? 0 : 1], token)),
        (consume) => consume("/instances/prod/check", { checks: [{ entitlement: "exports" }], consume: true }, 200),
        { concurrency: "unbounded" },
      )
      assert.lengthOf(
        consumed.filter(({ body }) => body.checks[0].allowed),
        LIMIT,
      )

      // Outside of the pool are the connection of LISTEN and the proof of life of each node, and this test's own.
      const [pool] = yield* sql<{ count: number }>`
        SELECT count(*)::int AS count FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'keyshelf%'
          AND application_name <> 'keyshelf listener' AND state <> 'idle in transaction'`
      assert.isAtMost(pool?.count ?? 0, POOL_SIZE)
    }).pipe(Effect.provide(testSql)),
  )

  it.live("without SERVICE_DATABASE_PREPARE=false, readiness, the log and doctor name the setting", () =>
    Effect.gen(function* () {
      const { settings } = yield* openInstallation
      // An uncertain result, as on a busy machine, counts as no problem until the next probe.
      const serve = Effect.fnUntraced(function* (env: Record<string, string>, expected: number) {
        const [core, platform, internal] = yield* freePorts(3)
        const service = yield* start(["serve"], {
          ...settings,
          SERVICE_CORE_PORT: String(core),
          SERVICE_PLATFORM_PORT: String(platform),
          SERVICE_INTERNAL_PORT: String(internal),
          ...env,
        })
        const probe = (path: string) => request("GET", `http://127.0.0.1:${internal}/health/${path}`)
        yield* until(
          `readiness responds with ${expected}`,
          Effect.promise(() =>
            probe("ready").then(
              ({ body, status }) => body.parts?.process.phase === "serving" && status === expected,
              () => false,
            ),
          ),
        )
        const { body, status } = yield* Effect.promise(() => probe("ready"))
        return { output: service.output(), status, reason: String(body.parts.database.reason) }
      })
      assert.deepInclude(yield* serve({}, 200), { status: 200, reason: "undefined" })

      const unset = { ...settings, SERVICE_DATABASE_PREPARE: "true" }
      const { output, reason, status } = yield* serve(unset, 503)
      assert.strictEqual(status, 503)
      assert.include(reason, "Set SERVICE_DATABASE_PREPARE=false")
      assert.include(output, "SERVICE_DATABASE_PREPARE=false")

      const doctor = yield* (yield* start(["doctor"], unset)).ended
      assert.match(doctor.output, /^FAILED +database .*Set SERVICE_DATABASE_PREPARE=false/m)
      const content = yield* (yield* start(["doctor"], settings)).ended
      assert.notInclude(content.output, "prepared statements do not last")
    }).pipe(Effect.provide(testSql)),
  )
})
