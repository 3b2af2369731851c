import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { randomBytes } from "node:crypto"
import { spawn, spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { tokensIn } from "../../../src/cli/remote/events/bridge/Sources.ts"
import { databaseProxy } from "../../support/cable.ts"
import { natsStream, natsUrl, whyNoNats } from "../../support/nats.ts"
import { freePorts, start } from "../../support/ServiceProcess.ts"
import { temporaryDirectory } from "../../support/temporaryDirectory.ts"
import type { ServiceProcess } from "../../support/ServiceProcess.ts"
import { withReason } from "../../support/skipped.ts"
import { until } from "../../support/until.ts"
import { TestService } from "../../support/TestService.ts"
import type { Tenant } from "../../support/TestService.ts"

const whyNot = await whyNoNats()
const whyNoServer = spawnSync("nats-server", ["--version"]).status === 0 ? undefined : "there is no command nats-server"

const KILLS = 8

/** Starts bridges with a stream of their own, and compares the stream with the service. */
const world = Effect.fnUntraced(function* (url = natsUrl) {
  const { core, origins } = yield* TestService
  const name = `test_${randomBytes(6).toString("hex")}`
  const stream = yield* natsStream(name, url)
  const names = ["--stream", name, "--subject-prefix", name, "--bucket", name, "--takeover-after", "1s"]

  const run = (env: Record<string, string>, ...flags: ReadonlyArray<string>) =>
    start(["events", "bridge", "nats", ...names, ...flags], { KEYSHELF_URL: origins.core, NATS_URL: url, ...env })

  const create = (tenant: Tenant, count: number) =>
    Effect.forEach(
      Array.from({ length: count }, () => randomBytes(8).toString("hex")),
      (component) =>
        Effect.map(
          core("POST", "/components", { token: tenant.token, body: { name: component, version: "1" } }),
          (made) => assert.strictEqual(made.status, 201, made.text),
        ),
      { concurrency: 4, discard: true },
    )

  const eventsOf = Effect.fnUntraced(function* ({ token }: Tenant) {
    const events: Array<{ readonly id: string; readonly type: string }> = []
    for (let cursor = "", hasMore = true; hasMore;) {
      const { body } = yield* core("GET", `/events?limit=200${cursor === "" ? "" : `&cursor=${cursor}`}`, { token })
      events.push(...body.items)
      ;({ nextCursor: cursor, hasMore } = body)
    }
    return events
  })

  const atLeast = (count: number) =>
    until(
      `${count} messages`,
      Effect.map(stream.count, (found) => found >= count),
    )

  /** Waits for all events, and compares ids, order, subjects and bodies. */
  const assertComplete = Effect.fnUntraced(function* (...tenants: ReadonlyArray<Tenant>) {
    const expected = yield* Effect.forEach(tenants, eventsOf)
    yield* atLeast(expected.flat().length)
    const messages = yield* stream.messages
    for (const [at, { organizationId }] of tenants.entries()) {
      const own = messages.filter(({ subject }) => subject.startsWith(`${name}.${organizationId}.`))
      assert.deepStrictEqual(
        own,
        (expected[at] ?? []).map((event) => ({
          id: event.id,
          subject: `${name}.${organizationId}.${event.type}`,
          body: event,
        })),
      )
    }
    assert.strictEqual(messages.length, expected.flat().length)
  })
  return { stream, run, create, atLeast, assertComplete }
})

const logs = (bridge: ServiceProcess, text: string) =>
  until(
    text,
    Effect.sync(() => bridge.output().includes(text)),
  )

const healthOf = (port: number) =>
  Effect.promise(() =>
    fetch(`http://127.0.0.1:${port}/health`).then(
      ({ status }) => status,
      () => 0,
    ),
  )

const isHealth = (port: number, status: number) =>
  until(
    `health ${status}`,
    Effect.map(healthOf(port), (found) => found === status),
  )

layer(TestService.separate, { excludeTestServices: true })("keyshelf events bridge nats", (it) => {
  const withNats = it.effect.skipIf(whyNot !== undefined)
  const named = (name: string) => withReason(name, whyNot)

  it.effect("reads one token per line, without comments", () =>
    Effect.sync(() => assert.deepStrictEqual(tokensIn("# Acme\r\nksh_a\n\n  ksh_b  \n"), ["ksh_a", "ksh_b"])),
  )

  withNats(named("forwards past and new events of several organizations, in their order, and stops cleanly"), () =>
    Effect.gen(function* () {
      const service = yield* TestService
      const tenants = [yield* service.tenant(), yield* service.tenant()] as const
      const { assertComplete, create, run, stream } = yield* world()
      const [health] = yield* freePorts(1)
      const file = join(yield* temporaryDirectory, "tokens")
      writeFileSync(file, tenants.map(({ token }) => token).join("\n"))
      // More than a page.
      yield* create(tenants[0], 230)
      const bridge = yield* run({ KEYSHELF_TOKENS_FILE: file }, "--health-port", String(health))
      yield* assertComplete(...tenants)
      yield* isHealth(health ?? 0, 200)
      yield* Effect.all(
        tenants.map((tenant) => create(tenant, 20)),
        { concurrency: 2 },
      )
      yield* assertComplete(...tenants)
      bridge.process.kill("SIGTERM")
      assert.strictEqual((yield* bridge.ended).code, 0)
      for (const { organizationId, token } of tenants) {
        assert.include(yield* stream.position(organizationId), '"holder":null')
        assert.notInclude(bridge.output(), token)
      }
    }).pipe(Effect.scoped),
  )

  withNats(
    named("a bridge that is killed again and again leaves no event out and repeats none"),
    () =>
      Effect.gen(function* () {
        const tenant = yield* (yield* TestService).tenant()
        const { assertComplete, atLeast, create, run, stream } = yield* world()
        const writer = yield* Effect.forkScoped(create(tenant, 400))
        for (let kill = 0; kill < KILLS; kill++) {
          const before = yield* stream.count
          const bridge = yield* run({ KEYSHELF_TOKEN: tenant.token })
          yield* create(tenant, 50)
          // At another point of its work each time.
          yield* atLeast(before + 1 + kill * 4)
          bridge.process.kill("SIGKILL")
          yield* bridge.ended
        }
        yield* Fiber.join(writer)
        yield* run({ KEYSHELF_TOKEN: tenant.token })
        yield* assertComplete(tenant)
      }).pipe(Effect.scoped),
    240_000,
  )

  withNats(
    named("a bridge whose connection to NATS is cut goes on afterwards, and says so meanwhile"),
    () =>
      Effect.gen(function* () {
        const tenant = yield* (yield* TestService).tenant()
        const { assertComplete, atLeast, create, run } = yield* world()
        const cable = yield* databaseProxy(natsUrl)
        const [health] = yield* freePorts(1)
        cable.cut()
        const bridge = yield* run(
          { KEYSHELF_TOKEN: tenant.token, NATS_URL: cable.url },
          "--health-port",
          String(health),
        )
        yield* logs(bridge, "NATS cannot be reached")
        yield* isHealth(health ?? 0, 503)
        cable.mend()
        yield* isHealth(health ?? 0, 200)
        const writer = yield* Effect.forkScoped(create(tenant, 300))
        for (const count of [40, 80, 120]) {
          yield* atLeast(count)
          cable.cut()
          yield* create(tenant, 10)
          yield* isHealth(health ?? 0, 503)
          cable.mend()
          yield* isHealth(health ?? 0, 200)
        }
        yield* Fiber.join(writer)
        yield* assertComplete(tenant)
        bridge.process.kill("SIGTERM")
        assert.strictEqual((yield* bridge.ended).code, 0)
      }).pipe(Effect.scoped),
    120_000,
  )

  it.effect.skipIf(whyNoServer !== undefined)(
    withReason("a NATS server that is killed and started again has all events", whyNoServer),
    () =>
      Effect.gen(function* () {
        const tenant = yield* (yield* TestService).tenant()
        const [port] = yield* freePorts(1)
        const directory = yield* temporaryDirectory
        const server = Effect.acquireRelease(
          Effect.sync(() => spawn("nats-server", ["-a", "127.0.0.1", "-p", String(port), "-js", "-sd", directory])),
          (child) => Effect.sync(() => child.kill("SIGKILL")),
        )
        const first = yield* server
        yield* until(
          "the server listens",
          Effect.promise(async () => (await whyNoNats(`nats://127.0.0.1:${port}`)) === undefined),
        )
        const { assertComplete, atLeast, create, run } = yield* world(`nats://127.0.0.1:${port}`)
        const bridge = yield* run({ KEYSHELF_TOKEN: tenant.token })
        const writer = yield* Effect.forkScoped(create(tenant, 200))
        yield* atLeast(50)
        first.kill("SIGKILL")
        yield* logs(bridge, "Forwarding failed; it is tried again")
        yield* server
        yield* Fiber.join(writer)
        yield* assertComplete(tenant)
      }).pipe(Effect.scoped),
    120_000,
  )

  withNats(named("of two bridges for one organization the newest works, and the other one takes over from it"), () =>
    Effect.gen(function* () {
      const tenant = yield* (yield* TestService).tenant()
      const { assertComplete, create, run } = yield* world()
      const first = yield* run({ KEYSHELF_TOKEN: tenant.token })
      yield* create(tenant, 20)
      yield* assertComplete(tenant)
      const second = yield* run({ KEYSHELF_TOKEN: tenant.token })
      yield* logs(first, "this one waits")
      yield* create(tenant, 20)
      yield* assertComplete(tenant)
      second.process.kill("SIGKILL")
      yield* second.ended
      yield* create(tenant, 20)
      yield* assertComplete(tenant)
      assert.strictEqual(first.output().match(/"Forwards events"/g)?.length, 2, first.output())
    }).pipe(Effect.scoped),
  )

  withNats(
    named("a rejected token ends the bridge with exit code 4, at the start and later"),
    () =>
      Effect.gen(function* () {
        const { core, tenant, tokenWith } = yield* TestService
        const one = yield* tenant()
        const { atLeast, run } = yield* world()
        for (const [token, expected] of [
          ["ksh_wrong", "401 Auth.InvalidCredential"],
          [yield* tokenWith(one, ["read:customers"]), "403 Auth.MissingScope"],
        ] as const) {
          const rejected = yield* (yield* run({ KEYSHELF_TOKEN: token })).ended
          assert.strictEqual(rejected.code, 4, rejected.output)
          assert.include(rejected.output, expected)
        }
        const { body } = yield* core("POST", "/service-accounts", { token: one.token, body: { name: "bridge" } })
        const tokens = `/service-accounts/${body.slug}/tokens`
        const issued = yield* core("POST", tokens, {
          token: one.token,
          body: { name: "bridge", scopes: ["read:organizations"] },
        })
        const bridge = yield* run({ KEYSHELF_TOKEN: issued.body.token })
        yield* atLeast(1)
        yield* core("DELETE", `${tokens}/${issued.body.slug}`, { token: one.token })
        const ended = yield* bridge.ended
        assert.strictEqual(ended.code, 4, ended.output)
        assert.include(ended.output, "Stopped forwarding")
      }).pipe(Effect.scoped),
    120_000,
  )

  it.effect("without a service, or with two tokens of one organization, it says what is missing", () =>
    Effect.gen(function* () {
      const { origins, tenant } = yield* TestService
      const { token } = yield* tenant()
      const file = join(yield* temporaryDirectory, "tokens")
      writeFileSync(file, `${token}\n${token}\n`)
      for (const [env, expected] of [
        [{}, "Set KEYSHELF_URL, and either KEYSHELF_TOKEN or KEYSHELF_TOKENS_FILE"],
        [{ KEYSHELF_URL: origins.core, KEYSHELF_TOKEN: token, KEYSHELF_TOKENS_FILE: file }, "either KEYSHELF_TOKEN"],
        [{ KEYSHELF_URL: origins.core, KEYSHELF_TOKENS_FILE: `${file}2` }, "KEYSHELF_TOKENS_FILE cannot be read"],
        [{ KEYSHELF_URL: origins.core, KEYSHELF_TOKENS_FILE: file }, "Two tokens belong to the organization"],
      ] as const) {
        const { code, output } = yield* (yield* start(["events", "bridge", "nats"], env)).ended
        assert.strictEqual(code, 1, output)
        assert.include(output, expected)
      }
    }).pipe(Effect.scoped),
  )
})
