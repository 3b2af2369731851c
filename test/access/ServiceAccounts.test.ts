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

/** What `GET /me` says about the organization. */
const organizationOf = ({ organizationId }: Tenant) =>
  Effect.gen(function* () {
    const { operator, platform } = yield* TestService
    const { body } = yield* platform("GET", `/platform/organizations/${organizationId}`, { token: operator })
    return { id: organizationId, name: body.name, slug: body.slug }
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
        organization: yield* organizationOf(owner),
        credential: { id: issued.body.id, name: "deploys", expiresAt: null },
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

  it.effect("an update changes name and external id, and its tokens act under the new name from then on", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const owner = yield* tenant()
      const account = yield* accountOf(core, owner)
      const issued = yield* issue(core, owner, account, { scopes: ["write:components"] })
      const part = (name: string) =>
        core("POST", "/components", { token: issued.body.token, body: { name, version: "1" } })
      const before = yield* part("before")
      const path = `/service-accounts/${account}`
      const change = (body: object) => core("PATCH", path, { token: owner.token, body })
      const updated = yield* change({ name: "Build farm", externalId: "ci-7" })
      assert.strictEqual(updated.status, 200)
      assert.deepInclude(updated.body, { slug: account, name: "Build farm", externalId: "ci-7" })
      assert.deepStrictEqual((yield* core("GET", path, { token: owner.token })).body, updated.body)
      assert.strictEqual((yield* part("after")).body.createdBy.name, "Build farm")
      const kept = yield* core("GET", `/components/${before.body.slug}`, { token: owner.token })
      assert.strictEqual(kept.body.createdBy.name, "ci")
      assert.deepInclude((yield* change({ externalId: null })).body, { name: "Build farm", externalId: null })
      const { body } = yield* core("GET", "/events?type=SERVICE_ACCOUNT_UPDATED", { token: owner.token })
      assert.deepStrictEqual(body.items[0].data, { ...updated.body, tokens: null })
      assert.strictEqual(body.items.length, 2)
      const missing = yield* core("PATCH", "/service-accounts/nope", { token: owner.token, body: { name: "x" } })
      assert.deepStrictEqual([missing.status, missing.body.code], [404, "ServiceAccount.NotFound"])
    }),
  )

  it.effect("a deletion revokes the tokens, emits its events, and keeps the name in what the account did", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const owner = yield* tenant()
      const account = yield* accountOf(core, owner)
      const tokens = [
        yield* issue(core, owner, account, { scopes: ["write:components"] }),
        yield* issue(core, owner, account, { name: "second" }),
      ].map(({ body }) => body)
      const part = yield* core("POST", "/components", { token: tokens[0].token, body: { name: "part", version: "1" } })
      const path = `/service-accounts/${account}`
      const deleted = yield* core("DELETE", path, { token: owner.token })
      assert.deepStrictEqual([deleted.status, deleted.text], [204, ""])
      for (const { token } of tokens) assert.strictEqual((yield* core("GET", "/me", { token })).status, 401)
      for (const response of [
        yield* core("GET", path, { token: owner.token }),
        yield* core("DELETE", path, { token: owner.token }),
        yield* issue(core, owner, account, {}),
      ]) {
        assert.deepStrictEqual([response.status, response.body.code], [404, "ServiceAccount.NotFound"])
      }
      assert.notInclude((yield* core("GET", "/service-accounts", { token: owner.token })).text, account)
      const { body } = yield* core("GET", "/events?limit=200", { token: owner.token })
      assert.deepStrictEqual(
        body.items.slice(-3).map(({ data, type }: { data: { slug: string }; type: string }) => [type, data.slug]),
        [...tokens.map(({ slug }) => ["TOKEN_REVOKED", slug]), ["SERVICE_ACCOUNT_DELETED", account]],
      )
      const kept = yield* core("GET", `/components/${part.body.slug}`, { token: owner.token })
      assert.strictEqual(kept.body.createdBy.name, "ci")
      const reused = yield* core("POST", "/service-accounts", {
        token: owner.token,
        body: { name: "new", slug: account },
      })
      assert.strictEqual(reused.status, 201)
      assert.deepStrictEqual((yield* core("GET", path, { token: owner.token })).body.tokens, [])
    }),
  )

  it.effect("no token of a deleted account works, even if it was issued or rotated at the same time", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const owner = yield* tenant()
      for (let round = 0; round < 5; round++) {
        const account = yield* accountOf(core, owner)
        const path = `/service-accounts/${account}`
        const { body } = yield* issue(core, owner, account, { slug: `old-${round}` })
        const rotate = core("POST", `${path}/tokens/${body.slug}/rotate`, {
          token: owner.token,
          body: { gracePeriodSeconds: 600 },
        })
        const [deleted, ...issued] = yield* Effect.all(
          [
            core("DELETE", path, { token: owner.token }),
            rotate,
            ...[1, 2, 3].map(() => issue(core, owner, account, {})),
          ],
          { concurrency: "unbounded" },
        )
        assert.strictEqual(deleted.status, 204)
        for (const response of issued) {
          assert.include([201, 404, 409], response.status)
          if (response.status !== 201) continue
          assert.strictEqual((yield* core("GET", "/me", { token: response.body.token })).status, 401)
        }
        assert.strictEqual((yield* core("GET", "/me", { token: body.token })).status, 401)
      }
    }),
  )
})
