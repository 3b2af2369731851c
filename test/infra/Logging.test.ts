import { assert, describe, it, layer } from "@effect/vitest"
import { Cause, Console, Effect, Layer, Logger } from "effect"
import { randomBytes, randomUUID } from "node:crypto"
import { inspect } from "node:util"
import * as Logging from "../../src/infra/telemetry/Logging.ts"
import { endpoints } from "../contract/endpoints.ts"
import { populate, scenarioOf } from "../contract/scenarios.ts"
import { issuedSecrets, recordIssued } from "../support/issuedSecrets.ts"
import { TestLogLevel, TestService } from "../support/TestService.ts"

const random = (prefix: string) => `${prefix}${randomBytes(32).toString("base64url")}`

/** Creates a console that records its output as text. */
const capture = () => {
  const lines: Array<string> = []
  const write = (...shown: ReadonlyArray<unknown>) =>
    void lines.push(shown.map((part) => (typeof part === "string" ? part : inspect(part, { depth: 9 }))).join(" "))
  const silent = () => {}
  const console = Object.assign(Object.create(globalThis.console) as Console.Console, {
    log: write,
    error: write,
    warn: write,
    info: write,
    debug: write,
    group: silent,
    groupEnd: silent,
  })
  return { lines, console }
}

const captured = capture()

const loudService = TestService.separate.pipe(
  Layer.provide([
    Layer.succeed(TestLogLevel, "Debug"),
    Layer.succeed(Console.Console, captured.console),
    Logger.layer([Logging.json, Logging.pretty({ colors: false })]),
  ]),
)

interface Line {
  readonly message: unknown
  readonly annotations: Readonly<Record<string, unknown>>
}

const jsonLines = () => captured.lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as Line)

const linesOf = (requestId: string) => jsonLines().filter(({ annotations }) => annotations["requestId"] === requestId)

layer(loudService, { excludeTestServices: true })("the log", (it) => {
  it.effect("log lines of a failed request name request, organization, credential and error", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const owner = yield* tenant()
      const requestId = randomUUID()
      const response = yield* core("GET", "/components/none", {
        token: owner.token,
        headers: { "x-request-id": requestId },
      })
      const lines = linesOf(requestId)
      assert.isAbove(lines.length, 0)
      for (const { annotations } of lines) {
        assert.strictEqual(annotations["organizationId"], owner.organizationId)
        assert.match(String(annotations["credentialId"]), /^[0-9a-f-]{36}$/)
      }
      assert.include(
        lines.map(({ annotations }) => annotations["errorId"]),
        response.body.errorId,
      )
      assert.deepInclude(
        lines.map(({ annotations: { code, path, status } }) => ({ code, path, status })),
        { code: "Component.NotFound", path: "/api/components/none", status: 404 },
      )
    }),
  )

  it.effect("log lines of an unauthenticated request name the request only", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      const requestId = randomUUID()
      yield* core("GET", "/me", { headers: { "x-request-id": requestId } })
      const [line] = linesOf(requestId)
      assert.strictEqual(line?.annotations["code"], "Auth.InvalidCredential")
      assert.notProperty(line?.annotations, "credentialId")
    }),
  )

  it.effect(
    "the log never contains a secret, wherever a caller sends it",
    () =>
      Effect.gen(function* () {
        const service = yield* TestService
        const { core, internal, operator, platform } = service
        const owner = yield* service.tenant()
        const fixture = yield* populate({ ...service, ...owner })
        const password = random("password-")
        recordIssued([random("ksh_"), random("ksm_"), `whsec_${randomBytes(32).toString("base64")}`].join(" "))

        // Calls every endpoint validly, which also issues tokens and webhook secrets.
        for (const endpoint of endpoints) {
          const { body, path } = scenarioOf(endpoint, fixture)
          const [call, token] = endpoint.api === "platform" ? [platform, operator] : [core, owner.token]
          yield* call(endpoint.method, path, {
            token,
            ...(body === undefined ? {} : { body }),
          })
        }
        yield* core("PUT", "/connectors/service.integration.crm.hubspot/settings", {
          token: owner.token,
          body: { settings: { accessToken: password, baseUrl: 7 } },
        })

        const jwt = `eyJhbGciOiJFZERTQSJ9.${Buffer.from(randomUUID()).toString("base64url")}.${random("")}`
        recordIssued(jwt)
        const secrets = [...issuedSecrets()]
        assert.isAbove(secrets.length, 8)
        for (const secret of secrets) {
          const inPath = encodeURIComponent(secret)
          for (const call of [core, platform, internal]) yield* call("GET", `/${inPath}?token=${inPath}`)
          const token = owner.token
          yield* core("GET", `/components/${inPath}`, { token })
          yield* core("GET", `/components?cursor=${inPath}`, { token })
          yield* core("GET", `/instances?customer=${inPath}`, { token })
          yield* core("GET", "/me", { token: `${secret}x` })
          yield* core("GET", "/me", { headers: { authorization: `Basic ${secret}`, "x-api-key": secret } })
          yield* core("POST", "/components", { token, body: { name: "a", version: "1", slug: secret } })
          yield* core("POST", "/components", { token, body: { [secret]: secret } })
          yield* core("POST", "/components", { token, rawBody: `{"name": "${secret}` })
          yield* core("POST", "/components", {
            token,
            body: { name: "a", version: "1" },
            headers: { "idempotency-key": `no key ${secret}` },
          })
        }

        const output = captured.lines.join("\n")
        assert.isAbove(output.length, 10_000)
        for (const secret of [...secrets, password]) assert.notInclude(output, secret)
        assert.isAbove(output.split("***").length, 10)
      }),
    120_000,
  )

  it.effect("an error response masks a credential that was sent in the wrong place", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      for (const response of [
        yield* core("GET", `/components/${token}`, { token }),
        yield* core("GET", `/${token}`),
        yield* core("POST", "/components", { token, body: { name: "a", version: "1", slug: token } }),
      ]) {
        assert.isAbove(response.status, 399)
        assert.notInclude(response.text, token)
        assert.include(response.text, "ksh_***")
      }
    }),
  )
})

describe("a logger", () => {
  const secret = random("ksh_")
  const lines = [
    ["a message", Effect.logInfo(`took ${secret}`)],
    ["an object", Effect.logInfo("took", { deep: { token: secret } })],
    ["an annotation", Effect.logInfo("took").pipe(Effect.annotateLogs({ header: `Bearer ${secret}` }))],
    ["an annotated object", Effect.logInfo("took").pipe(Effect.annotateLogs({ headers: { "x-key": secret } }))],
    ["a cause", Effect.logError("failed", Cause.die(new Error(`at ${secret}`, { cause: new Error(secret) })))],
  ] as const
  for (const [kind, logger] of [
    ["json", Logging.json],
    ["pretty", Logging.pretty({ colors: false })],
  ] as const) {
    for (const [where, line] of lines) {
      it.effect(`masks a credential in ${where}, as ${kind}`, () =>
        Effect.gen(function* () {
          const { console, lines } = capture()
          yield* line.pipe(Effect.provide(Logger.layer([logger])), Effect.provideService(Console.Console, console))
          const output = lines.join("\n")
          assert.include(output, "ksh_***")
          assert.notInclude(output, secret)
        }),
      )
    }
  }
})
