import { assert, describe, it } from "@effect/vitest"
import {
  Idempotency,
  OrganizationAccess,
  PlatformAccess,
  PublicAccess,
  RequestValidation,
} from "../../src/kernel/contract/Endpoint.ts"
import { coreModules, platformModules } from "../../src/kernel/contract/Scope.ts"
import { endpoints, neverNotFound } from "./endpoints.ts"
import type { Endpoint } from "./endpoints.ts"
import { exceptions, scenarioOf } from "./scenarios.ts"
import type { Fixture } from "./scenarios.ts"

const failing = (isWrong: (endpoint: Endpoint) => boolean) => endpoints.filter(isWrong).map(({ id }) => id)

const carries = (endpoint: Endpoint, middleware: unknown) =>
  [...endpoint.middleware].some((service) => (service as unknown) === middleware)

const STATUSES: ReadonlyArray<readonly [RegExp, number]> = [
  // OFREP defines its own error bodies, which are not problem documents.
  [/^Ofrep\.FlagNotFound$/, 404],
  [/^Ofrep\.(BulkEvaluationFailure|EvaluationFailure)$/, 400],
  [/\.NotFound$|^GetLicenseFamily\.NoPublishedVersion$/, 404],
  [
    /\.ScopeNotHeld$|^Auth\.(MissingScope|AdminOnly|NotAMember|WrongCredentialKind)$|\.PlatformIdentity$|^ActivateConnector\.NotLicensed$/,
    403,
  ],
  [/^Auth\.InvalidCredential$/, 401],
  [/^Request\.NotAcceptable$/, 406],
  [/^Request\.RateLimited$/, 429],
  [/^Follow(Events|Changes)\.TooManyStreams$/, 429],
  [/^Follow(Events|Changes)\.NodeFull$/, 503],
  [/^Request\.(MalformedBody|InvalidCursor)$/, 400],
  [/^Request\.ValidationFailed$|^IdempotencyKey\.Reused$/, 422],
  // The rejections of a single usage event have the codes of other problems.
  [/^UsageEvent\./, 422],
]

/** A fixture in which every record has the same id and slug. */
const anyFixture = new Proxy({} as Fixture, { get: () => "01a1fe56-aaf8-74c8-a331-6d16e44e9843" })

describe("every endpoint", () => {
  it("exists", () => {
    assert.isAbove(endpoints.length, 50)
  })

  it("declares a required scope of a module of its listener, or that it is public", () => {
    assert.deepStrictEqual(
      failing(({ api, isPublic, scope }) => {
        if (isPublic) return scope !== undefined
        if (scope === "any-credential") return false
        const [action, module] = (scope ?? "").split(":")
        const modules: ReadonlyArray<string> = api === "platform" ? platformModules : coreModules
        return !["read", "write", "delete"].includes(action ?? "") || !modules.includes(module ?? "")
      }),
      [],
    )
  })

  it("requires a read scope for reads and another scope for changes", () => {
    const readsByPost = ["check.check", "ofrep.evaluate", "ofrep.evaluateAll"]
    assert.deepStrictEqual(
      failing(
        ({ id, isPublic, method, scope }) =>
          !isPublic &&
          scope !== "any-credential" &&
          !readsByPost.includes(id) &&
          (method === "GET") !== (scope ?? "").startsWith("read:"),
      ),
      [],
    )
  })

  it("has the middleware for authentication and validation", () => {
    assert.deepStrictEqual(
      failing(
        (endpoint) =>
          !carries(endpoint, RequestValidation) ||
          !carries(
            endpoint,
            endpoint.isPublic ? PublicAccess : endpoint.api === "platform" ? PlatformAccess : OrganizationAccess,
          ),
      ),
      [],
    )
  })

  it("is public only to read what is on this list", () => {
    assert.deepStrictEqual(
      endpoints.filter(({ isPublic }) => isPublic).map(({ id, method }) => `${method} ${id}`),
      ["GET offline.keys", "GET offline.revocations", "GET ofrepStreams.follow"],
    )
  })

  it("accepts an idempotency key if and only if it is a POST", () => {
    assert.deepStrictEqual(
      failing(
        (endpoint) => (endpoint.method === "POST") !== (carries(endpoint, Idempotency) && endpoint.takesIdempotencyKey),
      ),
      [],
    )
  })

  it("has a summary", () => {
    assert.deepStrictEqual(
      failing(({ summary }) => (summary ?? "").length < 8),
      [],
    )
  })

  it("has a valid example of its body", () => {
    assert.deepStrictEqual(
      failing(({ accepts, example, hasBody }) => hasBody !== (example !== undefined && accepts(example))),
      [],
    )
  })

  it("belongs to a group whose name is unique across APIs", () => {
    const owners = new Map<string, string>()
    assert.deepStrictEqual(
      failing(({ api, group }) => {
        const owner = owners.get(group) ?? api
        owners.set(group, owner)
        return owner !== api
      }),
      [],
    )
  })

  it("declares problems with the status of their code", () => {
    const wrong = endpoints.flatMap(({ id, problems }) =>
      [...problems]
        .filter(([code, status]) => status !== (STATUSES.find(([pattern]) => pattern.test(code))?.[1] ?? 409))
        .map(([code, status]) => `${id}: ${code} with ${status}`),
    )
    assert.deepStrictEqual(wrong, [])
  })

  it("declares a NotFound problem if its path has a parameter", () => {
    assert.deepStrictEqual(
      failing(
        ({ id, path, problems }) =>
          path.includes(":") &&
          !neverNotFound.includes(id) &&
          ![...problems.keys()].some((code) => /\.(Flag)?NotFound$/.test(code)),
      ),
      [],
    )
  })

  it("has a scenario: a value for each path parameter, and a body if it takes one", () => {
    assert.deepStrictEqual(
      failing((endpoint) => {
        const { body, path } = scenarioOf(endpoint, anyFixture)
        return /:|undefined/.test(path) || endpoint.hasBody !== (body !== undefined && endpoint.accepts(body))
      }),
      [],
    )
  })

  it("has an exception only if it exists", () => {
    const ids = new Set(endpoints.map(({ id }) => id))
    assert.deepStrictEqual(
      Object.keys(exceptions).filter((id) => !ids.has(id)),
      [],
    )
  })
})
