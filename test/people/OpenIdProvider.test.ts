import { assert, layer, vi } from "@effect/vitest"
import { Context, Effect, Layer, Option } from "effect"
import { decodeJwt, decodeProtectedHeader } from "jose"
import type { JWK } from "jose"
import { createHash, generateKeyPairSync, randomBytes, randomUUID } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import * as OidcProvider from "oidc-provider"
import { IdentityProvider } from "../../src/kernel/ports/IdentityProvider.ts"
import * as RuntimeProvider from "../../src/infra/outbound/OpenIdKeys.ts"
import { AUDIENCE, serve } from "../support/Issuer.ts"
import { TestService } from "../support/TestService.ts"

const CALLBACK = "https://console.example/callback"

const signingKey = (): JWK => ({
  ...(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" }) as JWK),
  kid: randomUUID(),
  alg: "ES256",
  use: "sig",
})

interface OpenIdProvider {
  readonly url: string
  /** The organization claim of each account. */
  readonly organizationOf: Map<string, string>
  /** Replaces the signing key. */
  readonly rotate: () => void
}

class TestProvider extends Context.Service<TestProvider, OpenIdProvider>()("keyshelf/test/TestProvider") {}

/** Starts a real OpenID provider with a public client, as an operator would configure one for a console. */
const start = Effect.gen(function* () {
  const organizationOf = new Map<string, string>()
  let handle: (request: IncomingMessage, response: ServerResponse) => unknown = () => undefined
  const url = yield* serve((request, response) => void handle(request, response))
  const cookieKey = randomUUID()
  const rotate = () => {
    const provider = new OidcProvider.Provider(url, {
      clients: [
        {
          client_id: "console",
          token_endpoint_auth_method: "none",
          redirect_uris: [CALLBACK],
          response_types: ["code"],
          grant_types: ["authorization_code"],
          id_token_signed_response_alg: "ES256",
        },
      ],
      cookies: { keys: [cookieKey] },
      jwks: { keys: [signingKey()] },
      features: {
        devInteractions: { enabled: true },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => AUDIENCE,
          useGrantedResource: () => true,
          getResourceServerInfo: () => ({
            scope: "read:customers",
            audience: AUDIENCE,
            accessTokenFormat: "jwt",
            accessTokenTTL: 600,
            jwt: { sign: { alg: "ES256" } },
          }),
        },
      },
      extraTokenClaims: (_context, token) => {
        const organization = "accountId" in token ? organizationOf.get(token.accountId) : undefined
        return organization === undefined ? {} : { org_id: organization }
      },
    })
    handle = provider.callback()
  }
  rotate()
  return { url, organizationOf, rotate }
})

const provider = Layer.effectContext(
  Effect.gen(function* () {
    // Silences its warnings that the sign-in pages are for development only.
    for (const method of ["info", "warn"] as const) vi.spyOn(console, method).mockImplementation(() => undefined)
    const started = yield* start
    const settings = {
      issuer: started.url,
      audience: AUDIENCE,
      organizationClaim: "org_id",
      provisioning: "off" as const,
      jwksUri: Option.none(),
    }
    return Context.make(TestProvider, started).pipe(
      Context.add(IdentityProvider, Option.some(RuntimeProvider.providerOf(settings))),
    )
  }),
)

/** A minimal browser: it stores cookies and follows redirects until they leave the provider. */
const browser = (origin: string) => {
  const cookies = new Map<string, string>()
  return async (path: string, form?: Record<string, string>) => {
    let next = new URL(path, origin)
    let body = form === undefined ? undefined : new URLSearchParams(form)
    for (let step = 0; step < 10; step++) {
      const response: Response = await fetch(next, {
        method: body === undefined ? "GET" : "POST",
        headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
        redirect: "manual",
        ...(body === undefined ? {} : { body }),
      })
      for (const cookie of response.headers.getSetCookie()) {
        const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
        if (value === "") cookies.delete(name)
        else cookies.set(name, value)
      }
      const location = response.headers.get("location")
      if (location === null) return { url: next, page: await response.text() }
      next = new URL(location, next)
      body = undefined
      if (next.origin !== origin) return { url: next, page: "" }
    }
    throw new Error("The provider redirected more than ten times")
  }
}

/** Signs in with authorization code and PKCE, as a console does. Returns the access token. */
const signIn = (origin: string, login: string, scope = "openid"): Effect.Effect<string> =>
  Effect.promise(async () => {
    const visit = browser(origin)
    const verifier = randomBytes(32).toString("base64url")
    const query = new URLSearchParams({
      client_id: "console",
      response_type: "code",
      redirect_uri: CALLBACK,
      scope,
      resource: AUDIENCE,
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
    })
    const submit = ({ page }: { readonly page: string }, form: Record<string, string>) =>
      visit(/action="([^"]+)"/.exec(page)?.[1] ?? "/no-form", form)
    const loginPage = await visit(`/auth?${query.toString()}`)
    const consentPage = await submit(loginPage, { prompt: "login", login, password: "any" })
    const done = await submit(consentPage, { prompt: "consent" })
    const code = done.url.searchParams.get("code")
    if (code === null) throw new Error(`No code: ${done.url.href} ${done.page}`)
    const response = await fetch(`${origin}/token`, {
      method: "POST",
      body: new URLSearchParams({
        client_id: "console",
        grant_type: "authorization_code",
        code,
        redirect_uri: CALLBACK,
        code_verifier: verifier,
      }),
    })
    const { access_token } = (await response.json()) as { access_token?: string }
    if (access_token === undefined) throw new Error(`No token: ${response.status}`)
    return access_token
  })

const service = TestService.separate.pipe(Layer.provideMerge(provider))

layer(service, { excludeTestServices: true })("with a real OpenID provider", (it) => {
  it.effect(
    "a person who signed in can call the API, also after a key rotation, until the membership is removed",
    () =>
      Effect.gen(function* () {
        const { core, operator, platform, tenant } = yield* TestService
        const { organizationOf, rotate, url } = yield* TestProvider
        const { organizationId } = yield* tenant()
        const login = `anna-${randomUUID()}`
        organizationOf.set(login, organizationId)
        const operate = (method: string, path: string, body?: object) =>
          platform(method, path, { token: operator, ...(body === undefined ? {} : { body }) })
        const memberships = `/platform/organizations/${organizationId}/memberships`
        const user = yield* operate("POST", "/platform/users", { name: "Anna", issuer: url, subject: login })
        yield* operate("POST", memberships, { userId: user.body.id, role: "MEMBER" })

        const token = yield* signIn(url, login)
        assert.deepInclude(decodeProtectedHeader(token), { alg: "ES256", typ: "at+jwt" })
        const { aud, iss, org_id, sub } = decodeJwt<{ readonly org_id: string }>(token)
        assert.deepStrictEqual([iss, aud, sub, org_id], [url, AUDIENCE, login, organizationId])
        const me = yield* core("GET", "/me", { token })
        assert.strictEqual(me.status, 200, me.text)
        assert.deepInclude(me.body, { kind: "PERSON", role: "MEMBER", organizationId })
        assert.deepStrictEqual(me.body.identity, { id: user.body.id, name: "Anna" })
        const customer = yield* core("POST", "/customers", { token, body: { name: "Globex" } })
        assert.strictEqual(customer.status, 201)
        assert.deepStrictEqual(customer.body.createdBy, me.body.identity)

        rotate()
        const renewed = yield* signIn(url, login)
        assert.notStrictEqual(decodeProtectedHeader(renewed).kid, decodeProtectedHeader(token).kid)
        assert.strictEqual((yield* core("GET", "/customers", { token: renewed })).status, 200)
        assert.strictEqual((yield* core("GET", "/customers", { token })).status, 401)

        assert.strictEqual((yield* operate("DELETE", `${memberships}/${user.body.id}`)).status, 204)
        const rejected = yield* core("GET", "/customers", { token: renewed })
        assert.deepStrictEqual([rejected.status, rejected.body.code], [403, "Auth.NotAMember"])
      }),
    120_000,
  )

  it.effect(
    "a scope that the person consented to narrows the token's scopes",
    () =>
      Effect.gen(function* () {
        const { core, operator, platform, tenant } = yield* TestService
        const { organizationOf, url } = yield* TestProvider
        const { organizationId } = yield* tenant()
        const login = `bob-${randomUUID()}`
        organizationOf.set(login, organizationId)
        const user = yield* platform("POST", "/platform/users", {
          token: operator,
          body: { name: "Bob", issuer: url, subject: login },
        })
        yield* platform("POST", `/platform/organizations/${organizationId}/memberships`, {
          token: operator,
          body: { userId: user.body.id, role: "ADMIN" },
        })
        const token = yield* signIn(url, login, "openid read:customers")
        assert.strictEqual(decodeJwt<{ readonly scope: string }>(token).scope, "read:customers")
        assert.deepStrictEqual((yield* core("GET", "/me", { token })).body.scopes, ["read:customers"])
      }),
    120_000,
  )

  it.effect(
    "an account without an organization claim or without a membership is rejected",
    () =>
      Effect.gen(function* () {
        const { core, tenant } = yield* TestService
        const { organizationOf, url } = yield* TestProvider
        const { organizationId } = yield* tenant()
        for (const organization of [undefined, organizationId]) {
          const login = `carl-${randomUUID()}`
          if (organization !== undefined) organizationOf.set(login, organization)
          const response = yield* core("GET", "/me", { token: yield* signIn(url, login) })
          assert.deepStrictEqual([response.status, response.body.code], [403, "Auth.NotAMember"])
        }
      }),
    120_000,
  )
})
