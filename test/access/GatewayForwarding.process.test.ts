import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import { GATEWAY_TOKEN_PREFIX } from "../../src/domains/access/tokens/GatewayTokens.ts"
import { ambiguousLines, linesLike, spellings, valuesLike } from "./credentialForms.ts"
import { codeOf, getWith } from "../support/rawText.ts"
import { TestService } from "../support/TestService.ts"
import { forEachGateway, Gatewayed, hostOf } from "./gateways.ts"

/** Starts a server that accepts everything and records each request as it came: its first line and its headers. */
const recorder = Effect.gen(function* () {
  const heads: Array<string> = []
  const server = yield* Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<ReturnType<typeof createServer>>((resolve) => {
          const listening = createServer((socket) => {
            socket.on("error", () => socket.destroy())
            socket.on("data", (chunk: Buffer) => {
              heads.push(chunk.toString("latin1"))
              socket.write("HTTP/1.1 204 No Content\r\n\r\n")
            })
          }).listen(0, "127.0.0.1", () => resolve(listening))
        }),
    ),
    (listening) => Effect.sync(() => void listening.close()),
  )
  return { heads, address: `127.0.0.1:${(server.address() as AddressInfo).port}` }
})

/** Paths that some reader could take for one of the gateway or of the internal listener. */
const PATHS = [
  "/api/me",
  "//api/me",
  "/api//me",
  "/API/me",
  "/api/%6de",
  "/api/me;x=/tokens/validate",
  "/api/../tokens/validate",
  "/api/%2e%2e/tokens/validate",
  "/..;/tokens/validate",
  "/tokens/validate",
  "/TOKENS/validate?a=b",
  "/.keyshelf/validate",
  "//.keyshelf/validate",
  "/%2ekeyshelf/validate",
  "/.keyshelf/./validate",
  "/.keyshelf/malformed",
  "/.keyshelf/long?a",
]

/** The values of all `Authorization` headers of a request. */
const credentialsIn = (head: string): ReadonlyArray<string> =>
  head
    .split("\r\n")
    .filter((line) => /^\s*authorization\s*:/i.test(line))
    .map((line) => line.replace(/^[^:]*:/, "").trim())

const exchange = Effect.gen(function* () {
  const { internal, tenant } = yield* TestService
  const { token } = yield* tenant()
  const exchanged = (yield* internal("GET", "/tokens/validate", { token })).headers.get("authorization") ?? ""
  return { token, jwt: exchanged.slice("Bearer ".length) }
})

const named = (lines: ReadonlyArray<string>): string => JSON.stringify(lines)

forEachGateway((gatewayed, gateway) => {
  layer(gatewayed, { excludeTestServices: true })("what a client sends as its credential", (it) => {
    it.effect("works with every spelling of a token, as without the gateway", () =>
      Effect.gen(function* () {
        const { origin } = yield* Gatewayed
        const { origins } = yield* TestService
        const { token } = yield* exchange
        for (const line of spellings(token)) {
          for (const place of [origins.core, origin]) {
            assert.strictEqual((yield* getWith(place, "/api/me", ["Host: 127.0.0.1", line])).status, 200, line)
          }
        }
      }),
    )

    it.effect("works with every spelling of a person's token", () =>
      Effect.gen(function* () {
        const { core, issuer, origin } = yield* Gatewayed
        const { organizationId } = yield* (yield* TestService).tenant()
        const person = yield* issuer.token({ claims: { sub: "anna", org_id: organizationId } })
        for (const line of spellings(person)) {
          for (const place of [core, origin]) {
            assert.strictEqual((yield* getWith(place, "/api/me", ["Host: 127.0.0.1", line])).status, 200, line)
          }
        }
      }),
    )

    it.effect("is rejected if it is an internal JWT, in every spelling and form", () =>
      Effect.gen(function* () {
        const { core, origin } = yield* Gatewayed
        const { jwt } = yield* exchange
        const forms = [...spellings(jwt).map((line) => [line]), ...linesLike(jwt), ...ambiguousLines(jwt)]
        for (const lines of forms) {
          const { status } = yield* getWith(origin, "/api/me", ["Host: 127.0.0.1", ...lines])
          assert.include([400, 401], status, named(lines))
        }
        // It is a valid one: behind the gateway it works.
        assert.strictEqual(
          (yield* getWith(core, "/api/me", ["Host: 127.0.0.1", `Authorization: Bearer ${jwt}`])).status,
          200,
        )
      }),
    )

    it.effect("is rejected in every other form, with the problem that the Core API has for it", () =>
      Effect.gen(function* () {
        const { core, origin } = yield* Gatewayed
        const { origins } = yield* TestService
        const { token } = yield* exchange
        for (const lines of linesLike(token)) {
          const without = yield* getWith(origins.core, "/api/me", ["Host: 127.0.0.1", ...lines])
          assert.include([400, 401], without.status, named(lines))
          const reply = yield* getWith(origin, "/api/me", ["Host: 127.0.0.1", ...lines])
          assert.include([400, 401], reply.status, named(lines))
          if (reply.status === 401) assert.strictEqual(codeOf(reply), "Auth.InvalidCredential", named(lines))
        }
        for (const value of valuesLike(token)) {
          const lines = ["Host: 127.0.0.1", `Authorization: ${value}`]
          const [reply, direct] = [yield* getWith(origin, "/api/me", lines), yield* getWith(core, "/api/me", lines)]
          assert.deepStrictEqual([reply.status, codeOf(reply)], [direct.status, codeOf(direct)], value)
        }
      }),
    )

    it.effect("reaches the Core API only in the forms that the gateway knows, on every path", () =>
      Effect.gen(function* () {
        const { origins } = yield* TestService
        const core = yield* recorder
        const origin = yield* gateway.start({ core: core.address, internal: hostOf(origins.internal) })
        const { jwt, token } = yield* exchange
        for (const credential of [jwt, token]) {
          for (const lines of [...linesLike(credential), ...ambiguousLines(credential)]) {
            core.heads.length = 0
            yield* getWith(origin, "/api/me", ["Host: 127.0.0.1", ...lines])
            for (const sent of core.heads.flatMap(credentialsIn)) {
              // An exchanged token, nothing, or the constant that the Core API rejects.
              const isExchanged = credential === token && sent.startsWith(`Bearer ${GATEWAY_TOKEN_PREFIX}`)
              assert.isTrue(isExchanged || sent === "" || sent === "Bearer, Bearer", `${named(lines)}: ${sent}`)
            }
          }
        }
        for (const path of PATHS) {
          core.heads.length = 0
          yield* getWith(origin, path, ["Host: 127.0.0.1", `Authorization: \tBearer ${jwt}`])
          assert.deepStrictEqual(core.heads.flatMap(credentialsIn).join(""), "", path)
          const target = core.heads.map((head) => head.split(" ")[1])
          assert.deepStrictEqual(target, [path], `${path} is forwarded as it was sent`)
        }
      }).pipe(Effect.scoped),
    )

    it.effect("reaches the validation endpoint only if it is a token, and no request chooses its path", () =>
      Effect.gen(function* () {
        const { core } = yield* Gatewayed
        const internal = yield* recorder
        const origin = yield* gateway.start({ core: hostOf(core), internal: internal.address })
        const { jwt, token } = yield* exchange
        internal.heads.length = 0
        for (const lines of [...linesLike(jwt), ...spellings(jwt).map((line) => [line]), ...linesLike(token)]) {
          yield* getWith(origin, "/api/me", ["Host: 127.0.0.1", ...lines])
          assert.deepStrictEqual(internal.heads, [], named(lines))
        }
        for (const path of [...PATHS, "http://127.0.0.1/metrics"]) {
          internal.heads.length = 0
          yield* getWith(origin, path, ["Host: 127.0.0.1", `Authorization: \tBearer ${token}`])
          // A path of the gateway itself is forwarded without a credential, so that the Core API returns its 404.
          for (const head of internal.heads) {
            const asked = [head.split(/[ ?]/)[1], credentialsIn(head)]
            assert.deepStrictEqual(asked, ["/tokens/validate", [`Bearer ${token}`]], path)
          }
          if (!path.includes("keyshelf")) assert.lengthOf(internal.heads, 1, path)
        }
      }).pipe(Effect.scoped),
    )

    // Caddy's own 400 is a line of text.
    if (gateway.name !== "nginx") return
    it.effect("gets a problem document also for requests that the gateway rejects itself", () =>
      Effect.gen(function* () {
        const { origin } = yield* Gatewayed
        const long = "a".repeat(40_000)
        for (const [path, lines, status] of [
          ["/api/me", ["Host: 127.0.0.1", "Host: b"], 400],
          ["/api/me", ["Host: 127.0.0.1", "Authorization: Bearer a", "Authorization: Bearer b"], 400],
          ["/api/me", ["Host: 127.0.0.1", "X-A: \0"], 400],
          ["/api/%zz", ["Host: 127.0.0.1"], 400],
          ["/api/me", [], 400],
          ["/api/me", ["Host: 127.0.0.1", `X-A: ${long}`], 431],
          [`/api/${long}`, ["Host: 127.0.0.1"], 431],
        ] as const) {
          const reply = yield* getWith(origin, path, lines)
          const what = named([path.slice(0, 20), ...lines.map((line) => line.slice(0, 40))])
          assert.deepStrictEqual([reply.status, codeOf(reply)], [status, "Request.MalformedBody"], what)
          assert.match(reply.head, /^content-type: application\/problem\+json$/im, what)
          assert.match(reply.head, /^x-request-id: \w+$/im, what)
        }
      }),
    )
  })
})
