import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"
import type { Call, Tenant } from "../support/TestService.ts"

const accountOf = (core: Call, { token }: Tenant, name = "ci") =>
  Effect.map(core("POST", "/service-accounts", { token, body: { name } }), ({ body }) => String(body.slug))

const issue = (core: Call, { token }: Tenant, account: string, body: object) =>
  core("POST", `/service-accounts/${account}/tokens`, {
    token,
    body: { name: "deploys", scopes: ["read:releases"], ...body },
  })

layer(TestService.layer, { excludeTestServices: true })("service accounts", (it) => {
  it.effect("a service account without a slug gets its name, a hyphen and six random characters", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const created = yield* core("POST", "/service-accounts", { token, body: { name: "Build Server" } })
      assert.strictEqual(created.status, 201)
      assert.match(created.body.slug, /^build-server-[a-z0-9]{6}$/)
      assert.isNull(created.body.tokens)
      assert.isNull(created.body.externalId)
      const read = yield* core("GET", `/service-accounts/${created.body.slug}`, { token })
      assert.deepStrictEqual(read.body, { ...created.body, tokens: [] })
    }),
  )

  it.effect("an explicit slug is used, and rejected if it is taken", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const call = { token, body: { name: "CI", slug: "ci" } }
      assert.strictEqual((yield* core("POST", "/service-accounts", call)).body.slug, "ci")
      assert.strictEqual((yield* core("POST", "/service-accounts", call)).body.code, "CreateServiceAccount.SlugTaken")
    }),
  )

  it.effect("a token works within its scopes, acts as the account, and its secret is returned only once", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const owner = yield* tenant()
      const account = yield* accountOf(core, owner)
      const issued = yield* issue(core, owner, account, { scopes: ["write:components"] })
      assert.strictEqual(issued.status, 201)
      assert.match(issued.body.token, /^ksh_[A-Za-z0-9_-]{43}$/)
      const { token } = issued.body
      const component = yield* core("POST", "/components", { token, body: { name: "part", version: "1" } })
      assert.strictEqual(component.body.createdBy.name, "ci")
      assert.strictEqual((yield* core("GET", "/components", { token })).status, 200)
      const beyond = yield* core("GET", "/service-accounts", { token })
      assert.strictEqual(beyond.status, 403)
      assert.strictEqual(beyond.body.code, "Auth.MissingScope")
      const me = yield* core("GET", "/me", { token })
      assert.deepStrictEqual(me.body, {
        identity: component.body.createdBy,
        kind: "SERVICE_ACCOUNT",
        role: null,
        organizationId: owner.organizationId,
        scopes: ["write:components"],
      })
      const listed = yield* core("GET", `/service-accounts/${account}/tokens`, { token: owner.token })
      assert.notInclude(listed.text, token)
      assert.strictEqual(listed.body.items[0].lastFour, token.slice(-4))
      const record = yield* core("GET", `/service-accounts/${account}`, { token: owner.token })
      assert.notInclude(record.text, token)
      const events = yield* core("GET", "/events", { token: owner.token })
      assert.notInclude(events.text, token)
    }),
  )

  it.effect("a revoked token fails with the next request, and remains listed with the actor and the time", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const owner = yield* tenant()
      const account = yield* accountOf(core, owner)
      const { body } = yield* issue(core, owner, account, {})
      assert.strictEqual((yield* core("GET", "/me", { token: body.token })).status, 200)
      const path = `/service-accounts/${account}/tokens/${body.slug}`
      assert.strictEqual((yield* core("DELETE", path, { token: owner.token })).status, 204)
      assert.strictEqual((yield* core("GET", "/me", { token: body.token })).status, 401)
      const [row] = (yield* core("GET", `/service-accounts/${account}/tokens`, { token: owner.token })).body.items
      assert.strictEqual(row.revokedBy.name, "system:platform")
      assert.isString(row.revokedAt)
      assert.strictEqual((yield* core("DELETE", path, { token: owner.token })).status, 204)
      const [after] = (yield* core("GET", `/service-accounts/${account}/tokens`, { token: owner.token })).body.items
      assert.strictEqual(after.revokedAt, row.revokedAt)
      const missing = yield* core("DELETE", `/service-accounts/${account}/tokens/nope`, { token: owner.token })
      assert.strictEqual(missing.body.code, "AccessToken.NotFound")
    }),
  )

  it.effect("issuing a token with a scope that the caller does not hold is rejected", () =>
    Effect.gen(function* () {
      const { core, tenant, tokenWith } = yield* TestService
      const owner = yield* tenant()
      const account = yield* accountOf(core, owner)
      const clerk = { ...owner, token: yield* tokenWith(owner, ["write:tokens", "read:releases"]) }
      assert.strictEqual((yield* issue(core, clerk, account, { slug: "held" })).status, 201)
      for (const scopes of [
        ["write:releases"],
        ["read:*"],
        ["read:releases", "write:tokens", "read:licenses"],
        ["delete:releases"],
      ]) {
        const rejected = yield* issue(core, clerk, account, { scopes })
        assert.strictEqual(rejected.status, 403)
        assert.strictEqual(rejected.body.code, "IssueToken.ScopeNotHeld")
      }
    }),
  )

  it.effect("unknown or empty scopes and an invalid or past expiry are rejected with their places", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const owner = yield* tenant()
      const account = yield* accountOf(core, owner)
      const cases = [
        [{ scopes: ["write:everything"] }, "body.scopes[0]"],
        [{ scopes: ["read:memberships"] }, "body.scopes[0]"],
        [{ scopes: [] }, "body.scopes"],
        [{ expiresAt: "2020-01-01T00:00:00Z" }, "body.expiresAt"],
        [{ expiresAt: "tomorrow" }, "body.expiresAt"],
      ] as const
      for (const [body, location] of cases) {
        const rejected = yield* issue(core, owner, account, body)
        assert.strictEqual(rejected.status, 422, rejected.text)
        assert.strictEqual(rejected.body.errors[0].location, location)
      }
    }),
  )
})
