import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Exit, Layer, Option } from "effect"
import type { Context } from "effect"
import type { RequestListener } from "node:http"
import { CurrentConsoleClient, IdentityProvider } from "../../src/kernel/ports/IdentityProvider.ts"
import * as Provider from "../../src/infra/outbound/OpenIdKeys.ts"
import { Settings } from "../../src/infra/Settings.ts"
import { serve } from "../support/Issuer.ts"

const KEYS = { keys: [{ kty: "EC", kid: "one" }] }

/** Fetches the keys of an issuer that responds as given; `at` is the issuer's address. */
const fetching = Effect.fnUntraced(function* (
  answer: (path: string, at: string) => { status?: number; headers?: Record<string, string>; body: string } | undefined,
  settings: { readonly issuer?: (at: string) => string; readonly jwksUri?: (at: string) => string } = {},
) {
  const requests: Array<string> = []
  const listener: RequestListener = (request, response) => {
    requests.push(request.url ?? "")
    const found = answer(request.url ?? "", at)
    if (found === undefined) return
    response.writeHead(found.status ?? 200, found.headers)
    response.end(found.body)
  }
  const at: string = yield* serve(listener)
  const result = yield* Effect.exit(
    Provider.providerOf({
      issuer: settings.issuer?.(at) ?? at,
      audience: "us",
      organizationClaim: "org_id",
      provisioning: "off",
      jwksUri: Option.map(Option.fromNullishOr(settings.jwksUri), (uri) => uri(at)),
    }).fetchKeys,
  )
  return { requests, keys: Exit.isSuccess(result) ? result.value : undefined, result: JSON.stringify(result) }
})

const json = (value: unknown) => ({ body: JSON.stringify(value) })
const discovery =
  (jwks: (at: string) => string, keys: () => ReturnType<typeof json> | undefined = () => json(KEYS)) =>
  (path: string, at: string) =>
    path.endsWith("/openid-configuration") ? json({ issuer: at, jwks_uri: jwks(at) }) : keys()

describe("fetching the provider's keys", () => {
  it.live("the discovery document names the key set", () =>
    Effect.gen(function* () {
      const { requests, keys } = yield* fetching(discovery((at) => `${at}/keys`))
      assert.deepStrictEqual(keys, KEYS)
      assert.deepStrictEqual(requests, ["/.well-known/openid-configuration", "/keys"])
    }),
  )

  it.live("the trailing slash of an issuer with a path is dropped in the discovery URL", () =>
    Effect.gen(function* () {
      const { requests, keys } = yield* fetching(
        (path, at) =>
          path.endsWith("/openid-configuration")
            ? json({ issuer: `${at}/tenant/`, jwks_uri: `${at}/keys` })
            : json(KEYS),
        { issuer: (at) => `${at}/tenant/` },
      )
      assert.deepStrictEqual(keys, KEYS)
      assert.deepStrictEqual(requests, ["/tenant/.well-known/openid-configuration", "/keys"])
    }),
  )

  it.live("a configured key set URL is used without discovery", () =>
    Effect.gen(function* () {
      const { requests, keys } = yield* fetching(() => json(KEYS), { jwksUri: (at) => `${at}/certs` })
      assert.deepStrictEqual(keys, KEYS)
      assert.deepStrictEqual(requests, ["/certs"])
    }),
  )

  it.live("a discovery document of another issuer is rejected", () =>
    Effect.gen(function* () {
      for (const issuer of ["https://mallory.example", ""]) {
        const { requests, keys, result } = yield* fetching((_path, at) => json({ issuer, jwks_uri: `${at}/keys` }))
        assert.isUndefined(keys)
        assert.include(result, "SERVICE_OIDC_ISSUER")
        assert.strictEqual(requests.length, 1)
      }
      const slash = yield* fetching((_path, at) => json({ issuer: `${at}/`, jwks_uri: `${at}/keys` }))
      assert.isUndefined(slash.keys)
    }),
  )

  it.live("a key set URL must be https, or http on this machine", () =>
    Effect.gen(function* () {
      for (const jwksUri of [
        "http://192.0.2.1/keys",
        "http://login.example/keys",
        "file:///etc/passwd",
        "ftp://127.0.0.1/keys",
        "http://user:password@127.0.0.1/keys",
        "keys",
      ]) {
        const { requests, keys, result } = yield* fetching(discovery(() => jwksUri))
        assert.isUndefined(keys, jwksUri)
        assert.include(result, "neither an https URL", jwksUri)
        assert.strictEqual(requests.length, 1)
      }
    }),
  )

  it.live("a key set URL may have any port, because the operator chose it", () =>
    Effect.gen(function* () {
      const { result } = yield* fetching(() => json(KEYS), { jwksUri: () => "http://127.0.0.1:1/keys" })
      assert.include(result, "127.0.0.1:1 did not respond")
    }),
  )

  it.live("redirects, errors and documents that are not a key set are rejected", () =>
    Effect.gen(function* () {
      const responses = {
        redirect: { status: 302, headers: { location: "/elsewhere" }, body: JSON.stringify(KEYS) },
        "not found": { status: 404, body: JSON.stringify(KEYS) },
        error: { status: 500, body: "" },
        "not JSON": { body: "<html>" },
        "not an object": json([KEYS]),
        "no keys": json({}),
        "keys that are not a list": json({ keys: { one: {} } }),
        "a key that is not an object": json({ keys: ["one"] }),
      }
      for (const [name, response] of Object.entries(responses)) {
        const { requests, keys } = yield* fetching(
          discovery(
            (at) => `${at}/keys`,
            () => response,
          ),
        )
        assert.isUndefined(keys, name)
        assert.strictEqual(requests.length, 2, name)
      }
    }),
  )

  it.live("documents larger than 256 KiB are rejected", () =>
    Effect.gen(function* () {
      const padded = (length: number) => json({ keys: [{ kty: "EC", pad: "x".repeat(length) }] })
      assert.isDefined(
        (yield* fetching(
          discovery(
            (at) => `${at}/keys`,
            () => padded(200 * 1024),
          ),
        )).keys,
      )
      assert.isUndefined(
        (yield* fetching(
          discovery(
            (at) => `${at}/keys`,
            () => padded(256 * 1024),
          ),
        )).keys,
      )
    }),
  )

  it.live(
    "a request for keys times out after five seconds",
    () =>
      Effect.gen(function* () {
        const began = Date.now()
        const { keys, result } = yield* fetching(
          discovery(
            (at) => `${at}/keys`,
            () => undefined,
          ),
        )
        assert.isUndefined(keys)
        assert.include(result, "No response within 5 s")
        assert.isBelow(Date.now() - began, 9000)
      }),
    120_000,
  )
})

describe("the settings of the identity provider", () => {
  const reading =
    <A>(reference: Context.Reference<A>) =>
    (env: Record<string, string>) =>
      reference.pipe(
        Effect.provide(Provider.layer.pipe(Layer.provide(Settings.layer))),
        Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(env))),
      )
  const read = reading(IdentityProvider)
  const issuer = { SERVICE_OIDC_ISSUER: "https://login.example", SERVICE_OIDC_AUDIENCE: "us" }

  it.effect("the settings configure a provider, or none if absent", () =>
    Effect.gen(function* () {
      assert.isTrue(Option.isNone(yield* read({})))
      const { fetchKeys: _, ...provider } = Option.getOrThrow(yield* read(issuer))
      assert.deepStrictEqual(provider, {
        issuer: "https://login.example",
        audience: "us",
        organizationClaim: "org_id",
        provisioning: "off",
      })
      const other = Option.getOrThrow(
        yield* read({
          ...issuer,
          SERVICE_OIDC_ISSUER: "http://localhost:8180/realms/acme",
          SERVICE_OIDC_ORGANIZATION_CLAIM: "organization",
          SERVICE_OIDC_PROVISIONING: "just-in-time",
        }),
      )
      assert.deepInclude(other, { organizationClaim: "organization", provisioning: "just-in-time" })
    }),
  )

  it.effect("invalid or incomplete settings are rejected by name", () =>
    Effect.gen(function* () {
      const invalid = [
        [{ SERVICE_OIDC_ISSUER: "https://login.example" }, "SERVICE_OIDC_AUDIENCE"],
        [{ SERVICE_OIDC_AUDIENCE: "us" }, "SERVICE_OIDC_ISSUER"],
        [{ SERVICE_OIDC_JWKS_URI: "https://login.example/keys" }, "SERVICE_OIDC_ISSUER"],
        [{ ...issuer, SERVICE_OIDC_ISSUER: "login.example" }, "SERVICE_OIDC_ISSUER"],
        [{ ...issuer, SERVICE_OIDC_ISSUER: "http://login.example" }, "SERVICE_OIDC_ISSUER"],
        [{ ...issuer, SERVICE_OIDC_ISSUER: "http://127.0.0.1.mallory.example" }, "SERVICE_OIDC_ISSUER"],
        [{ ...issuer, SERVICE_OIDC_JWKS_URI: "file:///keys" }, "SERVICE_OIDC_JWKS_URI"],
        [{ ...issuer, SERVICE_OIDC_PROVISIONING: "on" }, "SERVICE_OIDC_PROVISIONING"],
      ] as const
      for (const [env, name] of invalid) {
        assert.match((yield* Effect.flip(read(env))).message, new RegExp(`^${name} is `))
      }
    }),
  )

  it.effect("the console has a client if its id is set", () =>
    Effect.gen(function* () {
      const client = reading(CurrentConsoleClient)
      assert.isTrue(Option.isNone(yield* client(issuer)))
      const own = { ...issuer, SERVICE_OIDC_CLIENT_ID: "console" }
      const { endpoints: _, ...first } = Option.getOrThrow(yield* client(own))
      assert.deepStrictEqual(first, {
        issuer: "https://login.example",
        clientId: "console",
        scope: "openid profile",
        parameters: {},
      })
      const other = Option.getOrThrow(
        yield* client({
          ...own,
          SERVICE_OIDC_SCOPE: "openid profile offline_access",
          SERVICE_OIDC_PARAMETERS: "audience=https://keyshelf.example&prompt=select%5Faccount",
        }),
      )
      assert.deepInclude(other, {
        scope: "openid profile offline_access",
        parameters: { audience: "https://keyshelf.example", prompt: "select_account" },
      })
      for (const parameters of ["state=1", "audience=a&audience=b", "=a", "&", "redirect_uri=https://a"]) {
        const error = yield* Effect.flip(client({ ...own, SERVICE_OIDC_PARAMETERS: parameters }))
        assert.match(error.message, /^SERVICE_OIDC_PARAMETERS is not valid/, parameters)
      }
      const alone = yield* Effect.flip(client({ SERVICE_OIDC_CLIENT_ID: "console" }))
      assert.match(alone.message, /^SERVICE_OIDC_ISSUER is missing/)
    }),
  )
})
