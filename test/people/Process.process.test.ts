import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { request } from "../support/http.ts"
import * as Issuer from "../support/Issuer.ts"
import * as ServiceProcess from "../support/ServiceProcess.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"

describe("a process with SERVICE_OIDC settings", () => {
  it.live(
    "discovers the provider, lets the console use it, and with just-in-time provisioning admits unknown people",
    () =>
      Effect.gen(function* () {
        const issuer = yield* Issuer.start
        const operator = ServiceProcess.randomCredential()
        const [webhooksPort] = yield* ServiceProcess.freePorts(1)
        const directory = yield* temporaryDirectory
        const service = yield* ServiceProcess.start(["serve"], {
          ...(yield* ServiceProcess.settings(directory, operator)),
          SERVICE_OIDC_ISSUER: issuer.url,
          SERVICE_OIDC_AUDIENCE: Issuer.AUDIENCE,
          SERVICE_OIDC_ORGANIZATION_CLAIM: "tenant",
          SERVICE_OIDC_PROVISIONING: "just-in-time",
          SERVICE_OIDC_CLIENT_ID: "console",
          SERVICE_WEBHOOKS_PORT: String(webhooksPort),
          SERVICE_WEBHOOKS_URL: "https://webhooks.keyshelf.example/",
        })
        yield* service.ready
        const call = (method: string, url: string, token: string, body?: object) =>
          Effect.promise(() => request(method, url, { token, ...(body === undefined ? {} : { body }) }))
        const organization = { name: "Acme", slug: "acme" }
        yield* call("POST", `${service.platform}/api/platform/organizations`, operator, organization)
        const token = yield* issuer.token({ claims: { tenant: "acme", name: "Anna" } })
        const me = yield* call("GET", `${service.core}/api/me`, token)
        assert.strictEqual(me.status, 200, me.text)
        assert.deepInclude(me.body, { kind: "PERSON", role: "MEMBER" })
        const other = yield* issuer.token({ claims: { tenant: "acme", aud: "other" } })
        assert.strictEqual((yield* call("GET", `${service.core}/api/me`, other)).status, 401)
        const config = yield* Effect.promise(() => request("GET", `${service.core}/console/config.json`))
        assert.deepInclude(config.body, { surface: "core", webhooks: "https://webhooks.keyshelf.example" })
        assert.deepInclude(config.body.oidc, { clientId: "console", tokenEndpoint: `${issuer.url}/token` })
        assert.notInclude(service.output(), token)
        assert.notInclude(service.output(), other)
      }),
    120_000,
  )
})
