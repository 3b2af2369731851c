import { assert, describe, it } from "@effect/vitest"
import { parse } from "effect/encoding/Yaml"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { GATEWAY_TOKEN_PREFIX } from "../../src/domains/access/tokens/GatewayTokens.ts"
import { invalidCredential } from "../../src/kernel/contract/Problem.ts"
import { problemFor } from "../../src/kernel/contract/Problem.ts"
import { valuesLike } from "./credentialForms.ts"

const text = (file: string) => readFileSync(resolve(import.meta.dirname, "../../deploy", file), "utf8")

/** JSON that can be read at any depth. */
type Json = { readonly [key: string]: Json } & ReadonlyArray<Json>

const envoy = parse(text("envoy/envoy.yaml")) as Json
const manager = envoy["static_resources"]?.["listeners"]?.[0]?.["filter_chains"]?.[0]?.["filters"]?.[0]?.[
  "typed_config"
] as Json
const filters = Object.fromEntries(
  (manager["http_filters"] as Json).map((filter) => [String(filter["name"]), filter["typed_config"] as Json]),
)
const routes = manager["route_config"]?.["virtual_hosts"]?.[0]?.["routes"] as Json
const EXT_AUTHZ = "envoy.filters.http.ext_authz"
const JWT_AUTHN = "envoy.filters.http.jwt_authn"

/** A value as Envoy, Traefik and the service read it: without the blanks and tabs around it. */
const trimmed = (value: string): string => value.replaceAll(/^[ \t]+|[ \t]+$/g, "")

/** The first route that matches a request with this `Authorization` header. */
const routeOf = (authorization: string | undefined) =>
  routes.find((route) => {
    const header = route["match"]?.["headers"]?.[0]
    if (header === undefined) return true
    const pattern = String(header["string_match"]?.["safe_regex"]?.["regex"])
    return authorization !== undefined && new RegExp(`^(?:${pattern})$`).test(authorization)
  }) as Json

const problemsIn = (source: string) =>
  [...source.matchAll(/\{"type":"urn:keyshelf[^\n]*?"errors":\[\]\}/g)].map(([json]) => JSON.parse(json))

describe("the gateway configurations", () => {
  it("reject internal JWTs by their prefix", () => {
    assert.include(text("nginx/keyshelf.conf"), GATEWAY_TOKEN_PREFIX)
    assert.include(text("caddy/Caddyfile"), GATEWAY_TOKEN_PREFIX)
  })

  it("use the problem documents of the service for their own error responses", () => {
    for (const file of ["nginx/keyshelf.conf", "caddy/Caddyfile", "envoy/envoy.yaml"]) {
      const problems = problemsIn(text(file))
      assert.isNotEmpty(problems, file)
      for (const problem of problems) {
        const expected = problem.status === 401 ? invalidCredential() : problemFor(problem.status)
        assert.strictEqual(problem.code, expected.code, file)
        assert.strictEqual(problem.title, expected.title, file)
        assert.strictEqual(problem.type, `urn:keyshelf:problem:${problem.code}`)
        assert.sameMembers(Object.keys(problem), [
          "type",
          "title",
          "status",
          "code",
          "detail",
          "instance",
          "errorId",
          "errors",
        ])
      }
    }
  })
})

describe("the Envoy configuration", () => {
  it("uses external authorization for access tokens only", () => {
    const usesExternalAuthorization = (authorization?: string) =>
      routeOf(authorization)["typed_per_filter_config"]?.[EXT_AUTHZ]?.["disabled"] === undefined
    assert.isTrue(usesExternalAuthorization("Bearer ksh_abc"))
    assert.isTrue(usesExternalAuthorization("bearer  ksh_abc"))
    assert.isFalse(usesExternalAuthorization(`Bearer ${GATEWAY_TOKEN_PREFIX}.e30.AA`))
    assert.isFalse(usesExternalAuthorization("Bearer ksm_abc"))
    assert.isFalse(usesExternalAuthorization())
  })

  it("verifies every JWT, also internal ones, with the identity provider's keys and forwards it", () => {
    const requirement = (authorization?: string) =>
      routeOf(authorization)["typed_per_filter_config"]?.[JWT_AUTHN]?.["requirement_name"]
    assert.strictEqual(String(requirement("Bearer eyJhbGciOiJSUzI1NiJ9.e30.AA")), "identity_provider")
    assert.strictEqual(String(requirement(`Bearer ${GATEWAY_TOKEN_PREFIX}.e30.AA`)), "identity_provider")
    assert.isUndefined(requirement("Bearer ksh_abc"))
    const config = filters[JWT_AUTHN]
    assert.strictEqual(
      String(config?.["requirement_map"]?.["identity_provider"]?.["provider_name"]),
      "identity_provider",
    )
    assert.isTrue(Boolean(config?.["providers"]?.["identity_provider"]?.["forward"]))
  })

  it("forwards only what it lists: it removes or replaces every other form of a credential", () => {
    for (const credential of ["ksh_abc", "ksm_abc", `${GATEWAY_TOKEN_PREFIX}.e30.AA`, "eyJhbGciOiJSUzI1NiJ9.e30.AA"]) {
      for (const value of valuesLike(credential)) {
        const route = routeOf(trimmed(value))
        const [added] = (route["request_headers_to_add"] ?? []) as Json
        const isRemoved = String(route["request_headers_to_remove"]) === "authorization"
        const isReplaced =
          String(added?.["header"]?.["value"]) === "Bearer, Bearer" &&
          String(added?.["append_action"]) === "OVERWRITE_IF_EXISTS_OR_ADD"
        assert.isTrue(isRemoved || isReplaced, JSON.stringify(value))
      }
    }
  })

  it("looks for the token of a person only where the service reads it", () => {
    const provider = filters[JWT_AUTHN]?.["providers"]?.["identity_provider"]
    assert.deepStrictEqual(provider?.["from_headers"], [
      { name: "Authorization", value_prefix: "Bearer " },
    ] as unknown as Json)
    assert.isUndefined(provider?.["from_params"])
    assert.isUndefined(provider?.["from_cookies"])
  })

  it("removes other credentials, so that the service rejects the request", () => {
    for (const authorization of [undefined, "Basic a3NoXzp4", "Bearer ksm_abc"]) {
      assert.deepStrictEqual(routeOf(authorization)["request_headers_to_remove"], ["authorization"] as unknown as Json)
    }
    assert.isUndefined(routeOf("Bearer ksh_abc")["request_headers_to_remove"])
  })

  it("calls the validation endpoint, replaces the secret with the internal JWT, and fails closed", () => {
    const config = filters[EXT_AUTHZ] as Json
    const service = config["http_service"] as Json
    assert.strictEqual(String(service["path_prefix"]), "/tokens/validate")
    assert.deepStrictEqual(service["authorization_response"]?.["allowed_upstream_headers"]?.["patterns"], [
      { exact: "authorization" },
    ] as unknown as Json)
    assert.isFalse(Boolean(config["failure_mode_allow"]))
    assert.strictEqual(String(config["status_on_error"]?.["code"]), "ServiceUnavailable")
  })

  it("references only clusters that it defines", () => {
    const clusters = envoy["static_resources"]?.["clusters"]?.map((cluster) => String(cluster["name"])) ?? []
    const named = [...text("envoy/envoy.yaml").matchAll(/\bcluster: (\w+)/g)].map(([, name]) => name ?? "")
    assert.isAbove(named.length, 3)
    assert.includeMembers(clusters, named)
  })

  it("does not rewrite paths", () => {
    assert.isFalse(Boolean(manager["normalize_path"]))
    assert.isFalse(Boolean(manager["merge_slashes"]))
    assert.strictEqual(String(manager["path_with_escaped_slashes_action"]), "KEEP_UNCHANGED")
  })
})

describe("the Traefik configuration in the documentation", () => {
  const page = readFileSync(resolve(import.meta.dirname, "../../docs/gateways.md"), "utf8")
  const { http } = parse(/```yaml\n(http:[^`]*(?:`[^`]+`[^`]*)+?)```/.exec(page)?.[1] ?? "") as Json
  const routers = http?.["routers"] as Json

  /** Whether a router's rule, which joins `HeaderRegexp` and its negation with `&&`, matches these values of `Authorization`. */
  const matches = (router: string, values: ReadonlyArray<string>): boolean =>
    String(routers[router]?.["rule"])
      .split(" && ")
      .every((condition) => {
        const [, negation, pattern = ""] = /^(!?)HeaderRegexp\(`Authorization`, `([^`]+)`\)$/.exec(condition) ?? []
        return values.some((value) => new RegExp(pattern).test(trimmed(value))) === (negation === "")
      })

  it("forwards the tokens of the service to the validation endpoint, and the tokens of people unchanged", () => {
    assert.isTrue(matches("tokens", ["bearer  ksh_abc"]))
    assert.strictEqual(String(routers["tokens"]?.["middlewares"]), "keyshelf-token")
    assert.isTrue(matches("people", ["Bearer eyJhbGciOiJSUzI1NiJ9.e30.AA"]))
    assert.isUndefined(routers["people"]?.["middlewares"])
  })

  it("removes every other credential, also an internal JWT beside another", () => {
    const internal = `${GATEWAY_TOKEN_PREFIX}.e30.AA`
    const values = ["ksh_abc", "ksm_abc", internal, "eyJhbGciOiJSUzI1NiJ9.e30.AA"].flatMap((credential) =>
      valuesLike(credential).map((value) => [value]),
    )
    for (const sent of [...values, [`Bearer ${internal}`], ["Bearer eyJhbGciOiJSUzI1NiJ9.e30.AA", `x ${internal}`]]) {
      assert.isFalse(matches("tokens", sent), JSON.stringify(sent))
      assert.isFalse(matches("people", sent), JSON.stringify(sent))
    }
    assert.strictEqual(Number(routers["others"]?.["priority"]), 1)
    const [middleware = ""] = (routers["others"]?.["middlewares"] ?? []) as unknown as ReadonlyArray<string>
    assert.deepStrictEqual(http?.["middlewares"]?.[middleware]?.["headers"]?.["customRequestHeaders"], {
      Authorization: "",
    } as unknown as Json)
  })
})
