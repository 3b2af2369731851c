import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { request } from "../support/http.ts"
import * as Issuer from "../support/Issuer.ts"
import * as ServiceProcess from "../support/ServiceProcess.ts"

describe("a process with SERVICE_OIDC settings", () => {
  it.live(
    "discovers the provider and, with just-in-time provisioning, admits people that it does not know",
    () =>
      Effect.gen(function* () {
        const issuer = yield* Issuer.start
        const operator = ServiceProcess.randomCredential()
        const directory = yield* ServiceProcess.temporaryDirectory
        const service = yield* ServiceProcess.start(["serve"], {
          ...(yield* ServiceProcess.settings(directory, operator)),
          SERVICE_OIDC_ISSUER: issuer.url,
          SERVICE_OIDC_AUDIENCE: Issuer.AUDIENCE,
          SERVICE_OIDC_ORGANIZATION_CLAIM: "tenant",
          SERVICE_OIDC_PROVISIONING: "just-in-time",
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
        assert.notInclude(service.output(), token)
        assert.notInclude(service.output(), other)
      }),
    60_000,
  )
})
