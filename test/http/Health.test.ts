import { assert, layer } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted } from "effect"
import { HealthChecks, registerHealth } from "../../src/kernel/ports/HealthChecks.ts"
import { Signals } from "../../src/kernel/ports/Signals.ts"
import { CurrentLifecycle } from "../../src/kernel/ports/Lifecycle.ts"
import { serving } from "../../src/http/routes/Health.ts"
import { version } from "../../src/infra/Version.ts"
import type { Lifecycle } from "../../src/kernel/ports/Lifecycle.ts"
import { isOnCitus } from "../support/Cluster.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { TestService } from "../support/TestService.ts"
import type { HttpResponse } from "../support/TestService.ts"

const lifecycle: Lifecycle = { phase: "serving" }

const observedService = TestService.separate.pipe(
  Layer.provideMerge(
    Layer.merge(
      Layer.succeed(CurrentLifecycle, lifecycle),
      Layer.sync(HealthChecks, () => new Map()),
    ),
  ),
)

const ready = Effect.flatMap(TestService, ({ internal }) => internal("GET", "/health/ready"))

const until = Effect.fnUntraced(function* (what: string, holds: (response: HttpResponse) => boolean) {
  for (let tries = 0; tries < 200; tries++) {
    if (holds(yield* ready)) return
    yield* Effect.sleep("20 millis")
  }
  assert.fail(`Timed out waiting until ${what}`)
})

const statesOf = (parts: Record<string, { readonly status: string }>): Record<string, string> =>
  Object.fromEntries(Object.entries(parts).map(([name, { status }]) => [name, status]))

const notReady = (response: HttpResponse, part: string) => {
  assert.strictEqual(response.status, 503, response.text)
  assert.strictEqual(response.headers.get("content-type"), "application/problem+json")
  assert.isNotNull(response.headers.get("retry-after"))
  assert.strictEqual(response.body.code, "Service.Unavailable")
  assert.strictEqual(response.body.detail, `Not ready: ${part}.`)
  assert.strictEqual(response.body.parts[part].status, "down")
}

const partsOfCluster = isOnCitus ? ["citus"] : []

layer(observedService, { excludeTestServices: true })("readiness", (it) => {
  it.effect("readiness reports the state of every part", () =>
    Effect.gen(function* () {
      const response = yield* ready
      assert.strictEqual(response.status, 200, response.text)
      assert.strictEqual(response.body.status, "ready")
      assert.deepStrictEqual(
        Object.entries(response.body.parts).map(([name, part]) => [name, (part as { status: string }).status]),
        ["process", "database", "schema", "clock", "signals", ...partsOfCluster].map((name) => [name, "up"]),
      )
    }),
  )

  it.effect("readiness reports whether signals are polled or received", () =>
    Effect.scoped(
      Effect.gen(function* () {
        assert.strictEqual((yield* ready).body.parts.signals.mode, "polling")
        // The node listens only after the first subscription.
        yield* (yield* Signals).subscribe("events")
        yield* until("signals are received", ({ body }) => body.parts.signals.mode === "listening")
      }),
    ),
  )

  it.effect("a process is unready but alive while the database is unavailable, and recovers", () =>
    Effect.gen(function* () {
      const { url } = yield* TestDatabase
      const { internal } = yield* TestService
      const name = new URL(Redacted.value(url)).pathname.slice(1)
      const server = new URL(Redacted.value(url))
      server.pathname = "/postgres"
      const onServer = (statement: string) =>
        Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe(statement)).pipe(
          Effect.provide(PgClient.layer({ url: Redacted.make(server.href), maxConnections: 1 }), { local: true }),
        )
      yield* onServer(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
      yield* onServer(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`)
      notReady(yield* ready, "database")
      assert.strictEqual((yield* internal("GET", "/health/live")).status, 200)
      yield* onServer(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`)
      yield* until("it is ready again", ({ status }) => status === 200)
    }),
  )

  it.effect("a process is unready if the schema is older than the service", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const newest = yield* sql<{ id: number }>`SELECT max(migration_id)::int AS id FROM keyshelf_migrations`
      yield* sql`UPDATE keyshelf_migrations SET migration_id = 9999 WHERE migration_id = ${newest[0]?.id ?? 0}`
      // During an upgrade an older node sees a newer schema.
      assert.strictEqual((yield* ready).status, 200)
      yield* sql`DELETE FROM keyshelf_migrations WHERE migration_id = 9999`
      notReady(yield* ready, "schema")
      yield* sql`INSERT INTO keyshelf_migrations (migration_id, name) VALUES (${newest[0]?.id ?? 0}, 'again')`
      assert.strictEqual((yield* ready).status, 200)
    }),
  )

  it.effect("a process is unready while it starts and while it drains", () =>
    Effect.gen(function* () {
      lifecycle.phase = "starting"
      notReady(yield* ready, "process")
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* serving
          assert.strictEqual((yield* ready).status, 200)
        }),
      )
      const draining = yield* ready
      notReady(draining, "process")
      assert.strictEqual(draining.body.parts.process.phase, "draining")
      lifecycle.phase = "serving"
    }),
  )

  it.effect("a worker that is down is reported, but the process stays ready", () =>
    Effect.scoped(
      Effect.gen(function* () {
        yield* registerHealth("dispatcher", Effect.succeed({ status: "down", reason: "stuck" }))
        yield* registerHealth("sweeper", Effect.die("broken"))
        const response = yield* ready
        assert.strictEqual(response.status, 200)
        assert.deepStrictEqual(response.body.parts.dispatcher, { status: "down", reason: "stuck" })
        assert.strictEqual(response.body.parts.sweeper.status, "down")
      }),
    ),
  )

  it.effect("the operator reads the parts and the version with any credential, also while the process is unready", () =>
    Effect.gen(function* () {
      const { operator, platform } = yield* TestService
      const created = yield* platform("POST", "/platform/credentials", {
        token: operator,
        body: { name: "monitoring", scopes: ["read:users"] },
      })
      const health = Effect.map(
        platform("GET", "/platform/health", { token: String(created.body.token) }),
        ({ body, status }) => ({ status, body, states: statesOf(body.parts) }),
      )
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* registerHealth("dispatcher", Effect.succeed({ status: "down", reason: "stuck" }))
          const up = yield* health
          assert.deepStrictEqual([up.status, up.body.status, up.body.version], [200, "ready", version])
          assert.deepStrictEqual(up.body.parts.dispatcher, { status: "down", reason: "stuck" })
          assert.deepStrictEqual(up.states, statesOf((yield* ready).body.parts))
        }),
      )
      lifecycle.phase = "starting"
      const starting = yield* health
      lifecycle.phase = "serving"
      assert.deepStrictEqual(
        [starting.status, starting.body.status, starting.states["process"]],
        [200, "not_ready", "down"],
      )
      assert.strictEqual((yield* platform("GET", "/platform/health")).status, 401)
    }),
  )

  it.effect("readiness omits parts that are not registered", () =>
    Effect.gen(function* () {
      assert.notProperty((yield* ready).body.parts, "dispatcher")
    }),
  )
})
