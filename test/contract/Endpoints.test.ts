import { assert, describe, it } from "@effect/vitest"
import {
  Idempotency,
  OrganizationAccess,
  PlatformAccess,
  RequestValidation,
} from "../../src/kernel/contract/Endpoint.ts"
import { coreModules, platformModules } from "../../src/kernel/contract/Scope.ts"
import { endpoints, neverNotFound } from "./endpoints.ts"
import type { Endpoint } from "./endpoints.ts"
import { scenarios } from "./scenarios.ts"

const those = (isWrong: (endpoint: Endpoint) => boolean) => endpoints.filter(isWrong).map(({ id }) => id)

const carries = (endpoint: Endpoint, middleware: unknown) =>
  [...endpoint.middleware].some((service) => (service as unknown) === middleware)

const STATUSES: ReadonlyArray<readonly [RegExp, number]> = [
  // OFREP publishes its own refusals, which are no problems.
  [/^Ofrep\.FlagNotFound$/, 404],
  [/^Ofrep\.(BulkEvaluationFailure|EvaluationFailure)$/, 400],
  [/\.NotFound$|^GetLicenseFamily\.NoPublishedVersion$/, 404],
  [
    /\.ScopeNotHeld$|^Auth\.(MissingScope|AdminOnly|NotAMember|WrongCredentialKind)$|^RemoveMembership\.PlatformIdentity$|^ActivateConnector\.NotLicensed$/,
    403,
  ],
  [/^Auth\.InvalidCredential$/, 401],
  [/^Request\.RateLimited$/, 429],
  [/^FollowEvents\.TooManyStreams$/, 429],
  [/^FollowEvents\.NodeFull$/, 503],
  [/^Request\.(MalformedBody|InvalidCursor)$/, 400],
  [/^Request\.ValidationFailed$|^IdempotencyKey\.Reused$/, 422],
]

describe("every endpoint", () => {
  it("there are endpoints", () => {
    assert.isAbove(endpoints.length, 50)
  })

  it("declares the scope it needs, of a module that its listener knows", () => {
    assert.deepStrictEqual(
      those(({ api, scope }) => {
        if (scope === "any-credential") return false
        const [action, module] = (scope ?? "").split(":")
        const modules: ReadonlyArray<string> = api === "platform" ? platformModules : coreModules
        return !["read", "write", "delete"].includes(action ?? "") || !modules.includes(module ?? "")
      }),
      [],
    )
  })

  it("reads with a read scope and changes with another", () => {
    const readsByPost = ["check.check", "ofrep.evaluate", "ofrep.evaluateAll"]
    assert.deepStrictEqual(
      those(
        ({ id, method, scope }) =>
          scope !== "any-credential" &&
          !readsByPost.includes(id) &&
          (method === "GET") !== (scope ?? "").startsWith("read:"),
      ),
      [],
    )
  })

  it("is authenticated and validated", () => {
    assert.deepStrictEqual(
      those(
        (endpoint) =>
          !carries(endpoint, RequestValidation) ||
          !carries(endpoint, endpoint.api === "platform" ? PlatformAccess : OrganizationAccess),
      ),
      [],
    )
  })

  it("takes an idempotency key if it is a POST, and only then", () => {
    assert.deepStrictEqual(
      those(
        (endpoint) => (endpoint.method === "POST") !== (carries(endpoint, Idempotency) && endpoint.takesIdempotencyKey),
      ),
      [],
    )
  })

  it("is documented by a summary", () => {
    assert.deepStrictEqual(
      those(({ summary }) => (summary ?? "").length < 8),
      [],
    )
  })

  it("shows an example of its body that it would accept", () => {
    assert.deepStrictEqual(
      those(({ accepts, example, hasBody }) => hasBody !== (example !== undefined && accepts(example))),
      [],
    )
  })

  it("belongs to a group whose name no other API uses", () => {
    const owners = new Map<string, string>()
    assert.deepStrictEqual(
      those(({ api, group }) => {
        const owner = owners.get(group) ?? api
        owners.set(group, owner)
        return owner !== api
      }),
      [],
    )
  })

  it("answers problems with the statuses of their kind", () => {
    const wrong = endpoints.flatMap(({ id, problems }) =>
      [...problems]
        .filter(([code, status]) => status !== (STATUSES.find(([pattern]) => pattern.test(code))?.[1] ?? 409))
        .map(([code, status]) => `${id}: ${code} with ${status}`),
    )
    assert.deepStrictEqual(wrong, [])
  })

  it("declares that it may not find what its path names", () => {
    assert.deepStrictEqual(
      those(
        ({ id, path, problems }) =>
          path.includes(":") &&
          !neverNotFound.includes(id) &&
          ![...problems.keys()].some((code) => /\.(Flag)?NotFound$/.test(code)),
      ),
      [],
    )
  })

  it("has a scenario, and no scenario is left over", () => {
    assert.deepStrictEqual(Object.keys(scenarios).sort(), endpoints.map(({ id }) => id).sort())
  })
})
