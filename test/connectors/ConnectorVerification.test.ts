import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { createVerify, generateKeyPairSync } from "node:crypto"
import type { ServerResponse } from "node:http"
import { sanitize } from "../../src/domains/connectors/settings/TextSanitizer.ts"
import { json, localServer } from "../support/LocalServer.ts"
import type { Reply } from "../support/LocalServer.ts"
import { TestService } from "../support/TestService.ts"

const HUBSPOT = "service.integration.crm.hubspot"
const STRIPE = "service.integration.billing.stripe"
const SALESFORCE = "service.integration.crm.salesforce"
const TOKEN = "pat-na1-0123456789"

const tested = Effect.fnUntraced(function* (name: string, settings: object) {
  const { core, tenant } = yield* TestService
  const { token } = yield* tenant()
  const stored = yield* core("PUT", `/connectors/${name}/settings`, { token, body: { settings } })
  assert.strictEqual(stored.status, 200, stored.text)
  const response = yield* core("POST", `/connectors/${name}/test`, { token })
  assert.strictEqual(response.status, 200, response.text)
  assert.deepStrictEqual(Object.keys(response.body).sort(), ["checkedAt", "message", "status"])
  assert.isAtMost(Array.from<string>(response.body.message).length, 200)
  return response.body as { status: string; message: string }
})

layer(TestService.layer, { excludeTestServices: true })("testing a connector", (it) => {
  it.effect("HubSpot succeeds if the account details are returned", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* localServer(json(200, { portalId: 42, uiDomain: "app.hubspot.com" }))
      const result = yield* tested(HUBSPOT, { accessToken: TOKEN, baseUrl: `${url}/` })
      assert.deepStrictEqual([result.status, result.message], ["succeeded", "HubSpot accepted the token for portal 42"])
      assert.deepStrictEqual(
        asked.map(({ headers, method, url }) => [method, url, headers.authorization]),
        [["GET", "/account-info/v3/details", `Bearer ${TOKEN}`]],
      )
    }),
  )

  it.effect("vendors that hang do not occupy database connections, even with an Idempotency-Key", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const waiting: Array<ServerResponse> = []
      const { url } = yield* localServer((_, response) => void waiting.push(response))
      const { token } = yield* tenant()
      const settings = { accessToken: TOKEN, baseUrl: url }
      yield* core("PUT", `/connectors/${HUBSPOT}/settings`, { token, body: { settings } })
      const calls = yield* Effect.all(
        Array.from({ length: 12 }, (_, index) =>
          core("POST", `/connectors/${HUBSPOT}/test`, { token, headers: { "idempotency-key": `test-${index}` } }),
        ),
        { concurrency: "unbounded" },
      ).pipe(Effect.forkChild)
      while (waiting.length < 12) yield* Effect.sleep(10)
      // The test client has four connections. If the tests used them, this request would wait for the vendors.
      const written = yield* core("POST", "/components", { token, body: { name: "part", version: "1" } }).pipe(
        Effect.timeout("3 seconds"),
      )
      assert.strictEqual(written.status, 201)
      for (const response of waiting) response.writeHead(401).end()
      for (const answer of yield* Fiber.join(calls)) assert.strictEqual(answer.body.status, "failed")
    }),
  )

  it.effect("Stripe succeeds if the customers of the connected account are returned", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* localServer(json(200, { object: "list", data: [] }))
      const settings = { secretKey: "rk_test_abcDEF123", stripeContext: "acct_1", baseUrl: url }
      assert.strictEqual((yield* tested(STRIPE, settings)).status, "succeeded")
      assert.strictEqual(asked[0]?.url, "/v1/customers?limit=1")
      assert.strictEqual(asked[0]?.headers["stripe-context"], "acct_1")
    }),
  )

  const keys = generateKeyPairSync("rsa", { modulusLength: 2048 })
  const privateKey = keys.privateKey.export({ type: "pkcs8", format: "pem" })

  it.effect("Salesforce exchanges a signed assertion and reads the user", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* localServer((request, response, body) =>
        request.url === "/services/oauth2/token"
          ? json(200, { access_token: "00D!token", instance_url: "https://x.example" })(request, response, body)
          : json(200, { user_id: "005", preferred_username: "ops@example.com" })(request, response, body),
      )
      const settings = { loginUrl: url, clientId: "client", username: "ops@example.com", privateKey }
      const result = yield* tested(SALESFORCE, settings)
      assert.deepStrictEqual(
        [result.status, result.message],
        ["succeeded", "Salesforce accepted the app for ops@example.com"],
      )
      const form = new URLSearchParams(asked[0]?.body)
      assert.strictEqual(form.get("grant_type"), "urn:ietf:params:oauth:grant-type:jwt-bearer")
      const [header = "", claims = "", signature = ""] = (form.get("assertion") ?? "").split(".")
      const verify = createVerify("sha256").update(`${header}.${claims}`)
      assert.isTrue(verify.verify(keys.publicKey, signature, "base64url"))
      const { exp, ...said } = JSON.parse(Buffer.from(claims, "base64url").toString())
      assert.deepStrictEqual(said, { iss: "client", sub: "ops@example.com", aud: url })
      assert.approximately(exp, Date.now() / 1000 + 180, 30)
      assert.deepStrictEqual(
        [asked[1]?.url, asked[1]?.headers.authorization],
        ["/services/oauth2/userinfo", "Bearer 00D!token"],
      )
    }),
  )

  it.effect("Salesforce fails if the assertion is rejected or the private key is invalid", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* localServer((request, response, body) =>
        json(400, {
          error: "invalid_grant",
          error_description: `bad ${new URLSearchParams(body).get("assertion")} ${privateKey}`,
        })(request, response, body),
      )
      const settings = { loginUrl: url, clientId: "client", username: "ops", privateKey }
      const result = yield* tested(SALESFORCE, settings)
      assert.deepStrictEqual([result.status, result.message], ["failed", "Salesforce returned 400: bad *** ***"])
      const broken = yield* tested(SALESFORCE, { ...settings, privateKey: "-----BEGIN PRIVATE KEY-----\nnone" })
      assert.strictEqual(broken.message, "The private key is not an RSA key in PEM format")
      assert.lengthOf(asked, 1)
    }),
  )

  it.effect("a token that the vendor rejects fails the test, and the message does not contain it", () =>
    Effect.gen(function* () {
      const long = `${"x".repeat(170)} ${TOKEN} \u0007\u001b[31m`
      for (const message of [`The token\u0000 ${TOKEN}\r\nis not valid`, long, TOKEN.split("").join("\u0001")]) {
        const { url } = yield* localServer(json(401, { status: "error", message }))
        const result = yield* tested(HUBSPOT, { accessToken: TOKEN, baseUrl: url })
        assert.strictEqual(result.status, "failed")
        assert.match(result.message, /^HubSpot returned 401: /)
        assert.notInclude(result.message, TOKEN.slice(0, 12))
        assert.notMatch(result.message, /\p{Cc}/u)
      }
    }),
  )

  const failures: ReadonlyArray<readonly [name: string, reply: Reply, message: RegExp]> = [
    [
      "a redirect",
      (_, response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
      /302, a redirect, which is not followed$/,
    ],
    ["a page that is not JSON", (_, response) => response.end("<html>"), /response is not from the HubSpot API$/],
    [
      "a body that is too large",
      (_, response) => response.end("x".repeat(1024 * 1024 + 1)),
      /larger than 1048576 bytes$/,
    ],
    ["a connection that breaks", (_, response) => response.destroy(), /did not respond/],
    ["an error status of the vendor", json(503, {}), /returned 503$/],
  ]
  for (const [name, reply, message] of failures) {
    it.effect(`${name} fails the test`, () =>
      Effect.gen(function* () {
        const { url } = yield* localServer(reply)
        const result = yield* tested(HUBSPOT, { accessToken: TOKEN, baseUrl: url })
        assert.strictEqual(result.status, "failed")
        assert.match(result.message, message)
      }),
    )
  }

  it.effect(
    "a vendor that does not respond fails the test after ten seconds",
    () =>
      Effect.gen(function* () {
        const { url } = yield* localServer(() => undefined)
        const began = performance.now()
        const result = yield* tested(HUBSPOT, { accessToken: TOKEN, baseUrl: url })
        assert.deepStrictEqual([result.status, result.message], ["failed", "No response within 10 s"])
        assert.approximately(performance.now() - began, 10_000, 3_000)
      }),
    120_000,
  )

  it.effect("testing a connector without settings is not found", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const response = yield* core("POST", `/connectors/${HUBSPOT}/test`, { token })
      assert.deepStrictEqual([response.status, response.body.code], [404, "ConnectorSettings.NotFound"])
    }),
  )
})

describe("a vendor's message", () => {
  const pem = "-----BEGIN KEY-----\nAAAABBBBCCCC\nDDDDEEEEFFFF\n-----END KEY-----\n"
  const cases: ReadonlyArray<readonly [text: string, secrets: ReadonlyArray<string>, shown: string]> = [
    ["plain", ["secret"], "plain"],
    ["a secret b", ["secret"], "a *** b"],
    ["longer-secret", ["secret", "longer-secret"], "***"],
    ["se\u0000cret", ["se cret"], "***"],
    [`key ${pem.replaceAll("\n", "\\n")}`, [pem], "key ***"],
    ["line DDDDEEEEFFFF", [pem], "line ***"],
    ["q=a%2Fb", ["a/b"], "q=***"],
    [`Basic ${Buffer.from("sk_test_1:").toString("base64")}`, ["sk_test_1"], "Basic ***"],
    ["$& $1", ["x"], "$& $1"],
    ["cost $5", ["5"], "cost $***"],
    ["", [""], ""],
  ]
  for (const [text, secrets, shown] of cases) {
    it(`${JSON.stringify(text)} is shown as ${JSON.stringify(shown)}`, () =>
      assert.strictEqual(sanitize(text, secrets), shown))
  }
  it("is truncated after its secrets are masked", () => {
    assert.strictEqual(sanitize(`${"x".repeat(195)}secret`, ["secret"]), `${"x".repeat(195)}***`)
    assert.strictEqual(sanitize("x".repeat(500), []), `${"x".repeat(199)}…`)
  })
})
