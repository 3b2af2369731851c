import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { createServer } from "node:net"
import { randomBytes } from "node:crypto"
import { commandLine } from "../../src/infra/PackageFiles.ts"
import { request } from "../support/http.ts"
import { until } from "../faults/support/Installation.ts"
import { emptyDatabase } from "../cli/database.ts"
import { freePorts, randomCredential, settings, start } from "../support/ServiceProcess.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"

const key = randomBytes(32).toString("base64")

const organizations = (origin: string) => `${origin}/api/platform/organizations`

describe("starting and stopping", { concurrent: true, timeout: 90_000 }, () => {
  it.live("the first start prints a credential once; the second keeps the data and prints none", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const { SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL: _, ...env } = yield* settings(directory, randomCredential())
      const first = yield* start(["serve"], env)
      yield* first.ready
      const token = /ksm_[A-Za-z0-9_-]{43}/.exec(first.output())?.[0]
      assert.isDefined(token)
      assert.include(first.output(), `${first.core}/docs`)
      assert.include(first.output(), "npm run keyshelf -- demo --keep")
      const call = { token: token ?? "", body: { name: "Acme" } }
      const created = yield* Effect.promise(() => request("POST", organizations(first.platform), call))
      assert.strictEqual(created.status, 201)
      first.process.kill("SIGTERM")
      assert.strictEqual((yield* first.ended).code, 0)
      const second = yield* start(["serve"], env)
      yield* second.ready
      assert.notMatch(second.output(), /ksm_|demo --keep/)
      const listed = yield* Effect.promise(() => request("GET", organizations(second.platform), { token: token ?? "" }))
      assert.deepStrictEqual(listed.body.items, [created.body])
    }),
  )

  it.live("the credential from the settings works from the first start on, and a second start changes nothing", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const credential = randomCredential()
      const env = yield* settings(directory, credential)
      for (const _ of ["first", "second"]) {
        const service = yield* start(["serve"], env)
        yield* service.ready
        assert.notInclude(service.output(), credential)
        const list = yield* Effect.promise(() =>
          request("GET", `${service.platform}/api/platform/credentials`, { token: credential }),
        )
        assert.strictEqual(list.body.items.length, 1)
        service.process.kill("SIGTERM")
        assert.strictEqual((yield* service.ended).code, 0)
      }
    }),
  )

  it.live("after SIGTERM the running request finishes and its connection is closed", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const credential = randomCredential()
      const env = yield* settings(directory, credential)
      const service = yield* start(["serve"], env)
      yield* service.ready
      const internal = `http://127.0.0.1:${env.SERVICE_INTERNAL_PORT}`
      // The request for the metrics is one of those in flight.
      const isInFlight = async () => {
        const metrics = await (await fetch(`${internal}/metrics`)).text()
        return Number(/^keyshelf_http_requests_in_flight (\d+)$/m.exec(metrics)?.[1]) > 1
      }
      const isDraining = async () => (await fetch(`${internal}/health/ready`).catch(() => undefined))?.status !== 200
      // The body ends only after the signal has arrived, so the request is in flight meanwhile.
      const body = new ReadableStream({
        async start(controller) {
          controller.enqueue(new TextEncoder().encode('{"name":'))
          await Effect.runPromise(until("the request is in flight", isInFlight))
          service.process.kill("SIGTERM")
          await Effect.runPromise(until("the process is draining", isDraining))
          controller.enqueue(new TextEncoder().encode('"Acme"}'))
          controller.close()
        },
      })
      const response = yield* Effect.promise(() =>
        fetch(organizations(service.platform), {
          method: "POST",
          body,
          duplex: "half",
          headers: { authorization: `Bearer ${credential}`, "content-type": "application/json" },
        }),
      )
      assert.strictEqual(response.status, 201)
      assert.strictEqual(response.headers.get("connection"), "close")
      assert.strictEqual((yield* service.ended).code, 0)
    }),
  )

  it.live("a port in use is reported with its setting", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const env = yield* settings(directory, randomCredential())
      const holder = createServer().listen(Number(env.SERVICE_PLATFORM_PORT), "127.0.0.1")
      yield* Effect.addFinalizer(() => Effect.sync(() => holder.close()))
      const { code, output } = yield* (yield* start(["serve"], env)).ended
      assert.strictEqual(code, 1)
      assert.include(output, `127.0.0.1:${env.SERVICE_PLATFORM_PORT} is in use by another process`)
      assert.include(output, "SERVICE_PLATFORM_PORT")
      assert.notInclude(output, "    at ")
    }),
  )

  it.live("a first start that fails on a port creates no credential: the next one prints it", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const { SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL: _, ...env } = yield* settings(directory, randomCredential())
      const holder = createServer().listen(Number(env.SERVICE_CORE_PORT), "127.0.0.1")
      const failed = yield* (yield* start(["serve"], env)).ended
      assert.strictEqual(failed.code, 1)
      yield* Effect.promise(() => new Promise((closed) => holder.close(closed)))
      const second = yield* start(["serve"], env)
      yield* second.ready
      assert.match(second.output(), /ksm_[A-Za-z0-9_-]{43}/)
    }),
  )

  it.live("on a database of the operator's, the banner names the command that creates the first credential", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const { SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL: _, ...others } = yield* settings(directory, randomCredential())
      const env = {
        ...others,
        SERVICE_DATABASE_URL: Redacted.value(yield* emptyDatabase),
        SERVICE_SECRET_KEY: key,
      }
      const service = yield* start(["serve"], env)
      yield* service.ready
      assert.include(service.output(), commandLine("platform-credential create --name first"))
      assert.notMatch(service.output(), /ksm_/)
      const made = yield* (yield* start(["platform-credential", "create", "--name", "first"], env)).ended
      const token = /ksm_[A-Za-z0-9_-]{43}/.exec(made.output)?.[0] ?? ""
      const me = yield* Effect.promise(() => request("GET", `${service.platform}/api/platform/me`, { token }))
      assert.strictEqual(me.status, 200)
    }),
  )

  const unreachable = "postgres://u:hidden@127.0.0.1:1/x"
  const wrong: ReadonlyArray<readonly [setting: string, env: Record<string, string>, sentence: RegExp]> = [
    ["a port that is not a number", { SERVICE_CORE_PORT: "http" }, /^SERVICE_CORE_PORT is not valid: .+\.$/m],
    ["a port out of range", { SERVICE_CORE_PORT: "70000" }, /^SERVICE_CORE_PORT is not valid: .+\.$/m],
    ["an unknown role", { SERVICE_ROLES: "core,cook" }, /^SERVICE_ROLES is not valid: .+\.$/m],
    [
      "the webhooks role without a port",
      { SERVICE_ROLES: "webhooks,internal" },
      /^SERVICE_WEBHOOKS_PORT is missing: .+\.$/m,
    ],
    ["a short key", { SERVICE_SECRET_KEY: "short" }, /^SERVICE_SECRET_KEY is not valid: .+\.$/m],
    ["an empty pool", { SERVICE_DATABASE_POOL_SIZE: "0" }, /^SERVICE_DATABASE_POOL_SIZE is not valid: .+\.$/m],
    [
      "a URL of another database system",
      { SERVICE_DATABASE_URL: "mysql://x" },
      /^SERVICE_DATABASE_URL is not valid: .+\.$/m,
    ],
    ["an unknown log level", { SERVICE_LOG_LEVEL: "chatty" }, /^SERVICE_LOG_LEVEL is not valid: .+\.$/m],
    [
      "no key for an external database",
      { SERVICE_DATABASE_URL: unreachable },
      /^SERVICE_SECRET_KEY is missing: .+\.$/m,
    ],
    [
      "a credential of the wrong form",
      { SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL: "secretive" },
      /^SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL is not valid: .+\.$/m,
    ],
    [
      "an unreachable database",
      { SERVICE_DATABASE_URL: unreachable, SERVICE_SECRET_KEY: key },
      /^The database at 127\.0\.0\.1:1\/x \(SERVICE_DATABASE_URL\) cannot be used: .+$/m,
    ],
  ]
  it.live("an invalid setting stops the start with one message that does not contain its value", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      for (const [setting, env, sentence] of wrong) {
        const all = { ...(yield* settings(directory, randomCredential())), ...env }
        const { code, output } = yield* (yield* start(["serve"], all)).ended
        assert.strictEqual(code, 1, `${setting}: ${output}`)
        assert.match(output, sentence)
        assert.strictEqual(output.trim().split("\n").length, 1, output)
        assert.notMatch(output, /hidden|short\b|chatty|secretive/)
      }
    }),
  )

  it.live("an operator's command works while the service is running", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const env = yield* settings(directory, randomCredential())
      const service = yield* start(["serve"], env)
      yield* service.ready
      const made = yield* (yield* start(["platform-credential", "create", "--name", "ops"], env)).ended
      assert.strictEqual(made.code, 0, made.output)
      const token = /ksm_[A-Za-z0-9_-]{43}/.exec(made.output)?.[0] ?? ""
      const me = yield* Effect.promise(() => request("GET", `${service.platform}/api/platform/me`, { token }))
      assert.strictEqual(me.status, 200)
      const migrated = yield* (yield* start(["migrate"], env)).ended
      assert.include(migrated.output, "up to date")
      const [core, platform, internal] = yield* freePorts(3)
      const second = yield* (yield* start(["serve"], {
        ...env,
        SERVICE_CORE_PORT: String(core),
        SERVICE_PLATFORM_PORT: String(platform),
        SERVICE_INTERNAL_PORT: String(internal),
      })).ended
      assert.strictEqual(second.code, 1)
      assert.notInclude(second.output, "    at ")
    }),
  )
})
