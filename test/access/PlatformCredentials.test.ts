import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { TestService } from "../support/TestService.ts"

const MISSING = "01999999-0000-7000-8000-000000000000"

layer(TestService.separate, { excludeTestServices: true })("the operator", (it) => {
  it.effect("another kind of credential is rejected on every path of the Platform listener, before routing", () =>
    Effect.gen(function* () {
      const { platform, tenant } = yield* TestService
      const { token } = yield* tenant()
      const credentials = [
        `Bearer ${token}`,
        "Bearer ksh_x",
        "Bearer eyJhbGciOiJub25lIn0.e30.",
        "Basic a3NtXzp4",
        "Bearer",
      ]
      for (const authorization of credentials) {
        for (const path of ["/platform/me", "/platform/organizations", "/nowhere", "/openapi.json"]) {
          const response = yield* platform("GET", path, { headers: { authorization } })
          assert.strictEqual(response.status, 403, `${authorization} ${path}`)
          assert.strictEqual(response.body.code, "Auth.WrongCredentialKind")
        }
      }
    }),
  )

  it.effect("a missing or unknown platform credential is rejected with 401", () =>
    Effect.gen(function* () {
      const { platform } = yield* TestService
      for (const token of [undefined, "ksm_x", `ksm_${"a".repeat(43)}`]) {
        const response = yield* platform("GET", "/platform/me", token === undefined ? {} : { token })
        assert.strictEqual(response.status, 401)
        assert.strictEqual(response.body.code, "Auth.InvalidCredential")
        assert.strictEqual(response.headers.get("www-authenticate"), "Bearer")
      }
    }),
  )

  it.effect("a platform credential is rejected on the Core API", () =>
    Effect.gen(function* () {
      const { core, operator } = yield* TestService
      assert.strictEqual((yield* core("GET", "/me", { token: operator })).body.code, "Auth.InvalidCredential")
    }),
  )

  it.effect("acts as system:platform, without an organization", () =>
    Effect.gen(function* () {
      const { operator, platform } = yield* TestService
      const me = yield* platform("GET", "/platform/me", { token: operator })
      assert.strictEqual(me.body.identity.name, "system:platform")
      assert.isNull(me.body.organizationId)
      const expiresAt = "2099-01-01T00:00:00.000Z"
      const body = { name: "Terraform", scopes: ["read:users"], expiresAt }
      const issued = yield* platform("POST", "/platform/credentials", { token: operator, body })
      const own = yield* platform("GET", "/platform/me", { token: issued.body.token })
      assert.deepStrictEqual(own.body.credential, {
        id: issued.body.id,
        slug: issued.body.slug,
        name: "Terraform",
        scopes: ["read:users"],
        expiresAt,
      })
    }),
  )

  it.effect("creates and updates organizations, whose slugs and external ids must be unique", () =>
    Effect.gen(function* () {
      const { operator: token, platform } = yield* TestService
      const create = (body: object) => platform("POST", "/platform/organizations", { token, body })
      const first = yield* create({ name: "Acme", slug: "acme", externalId: "crm-1" })
      assert.strictEqual(first.status, 201)
      assert.strictEqual((yield* create({ name: "Acme", slug: "acme" })).body.code, "CreateOrganization.SlugTaken")
      const other = yield* create({ name: "Other" })
      const taken = yield* platform("PATCH", `/platform/organizations/${other.body.id}`, {
        token,
        body: { externalId: "crm-1" },
      })
      assert.strictEqual(taken.body.code, "UpdateOrganization.ExternalIdTaken")
      const path = `/platform/organizations/${first.body.id}`
      const renamed = yield* platform("PATCH", path, { token, body: { name: "Acme Inc", externalId: null } })
      assert.strictEqual(renamed.status, 200)
      assert.strictEqual(renamed.body.slug, "acme")
      assert.isNull(renamed.body.externalId)
      assert.deepStrictEqual((yield* platform("GET", path, { token })).body, renamed.body)
      const missing = yield* platform("GET", `/platform/organizations/${MISSING}`, { token })
      assert.strictEqual(missing.body.code, "Organization.NotFound")
    }),
  )

  it.effect("creates one organization per external id, and answers further creations with it", () =>
    Effect.gen(function* () {
      const { operator: token, platform } = yield* TestService
      const externalId = `crm-${randomUUID()}`
      const create = (name: string) =>
        platform("POST", "/platform/organizations", { token, body: { name, externalId } })
      const responses = yield* Effect.all(
        Array.from({ length: 6 }, (_, index) => create(`Acme ${index}`)),
        { concurrency: 6 },
      )
      assert.sameMembers(
        responses.map(({ status }) => status),
        [200, 200, 200, 200, 200, 201],
      )
      const created = responses.find(({ status }) => status === 201)
      assert.strictEqual(created?.headers.get("location"), `/api/platform/organizations/${created?.body.id}`)
      for (const { body } of responses) assert.deepStrictEqual(body, created?.body)
      const again = yield* create("Renamed")
      assert.deepStrictEqual([again.status, again.body], [200, created?.body])
    }),
  )

  it.effect("mints a token in an organization, which is in its event stream but belongs to no service account", () =>
    Effect.gen(function* () {
      const { core, operator, platform, tenant } = yield* TestService
      const { organizationId, token } = yield* tenant()
      const path = `/platform/organizations/${organizationId}/tokens`
      const minted = yield* platform("POST", path, {
        token: operator,
        body: { name: "provisioning", scopes: ["read:customers"] },
      })
      assert.strictEqual(minted.status, 201)
      assert.match(minted.body.token, /^ksh_/)
      const me = yield* core("GET", "/me", { token: minted.body.token })
      assert.deepStrictEqual(me.body.scopes, ["read:customers"])
      assert.strictEqual(me.body.identity.name, "system:platform")
      const events = (yield* core("GET", "/events", { token })).body.items
      const issued = events.filter((event: { type: string }) => event.type === "SYSTEM_ORGANIZATION_TOKEN_ISSUED")
      assert.include(
        issued.map((event: { data: { slug: string } }) => event.data.slug),
        minted.body.slug,
      )
      assert.deepStrictEqual((yield* core("GET", "/service-accounts", { token })).body.items, [])
      assert.strictEqual((yield* platform("DELETE", `${path}/${minted.body.slug}`, { token: operator })).status, 204)
      assert.strictEqual((yield* core("GET", "/me", { token: minted.body.token })).status, 401)
    }),
  )

  it.effect("mints tokens with at most the scopes of the credential, by default with all of them", () =>
    Effect.gen(function* () {
      const { core, operator, platform, tenant } = yield* TestService
      const { organizationId } = yield* tenant()
      const credential = yield* platform("POST", "/platform/credentials", {
        token: operator,
        body: { name: "narrow", scopes: ["write:tokens", "read:customers", "read:memberships"] },
      })
      assert.match(credential.body.token, /^ksm_[A-Za-z0-9_-]{43}$/)
      const path = `/platform/organizations/${organizationId}/tokens`
      const call = (body: object) => platform("POST", path, { token: credential.body.token, body })
      const rejected = yield* call({ name: "x", scopes: ["write:customers"] })
      assert.strictEqual(rejected.status, 403)
      assert.strictEqual(rejected.body.code, "MintOrganizationToken.ScopeNotHeld")
      const minted = yield* call({ name: "x" })
      assert.deepStrictEqual(minted.body.scopes, ["write:tokens", "read:customers"])
      const self = yield* platform("POST", "/platform/credentials", {
        token: credential.body.token,
        body: { name: "wider", scopes: ["write:organizations"] },
      })
      assert.strictEqual(self.body.code, "CreatePlatformCredential.ScopeNotHeld")
      assert.strictEqual((yield* core("GET", "/me", { token: minted.body.token })).status, 200)
    }),
  )

  it.effect("revoking a platform credential revokes every token minted with it, and emits an event for each", () =>
    Effect.gen(function* () {
      const { core, operator, platform, tenant } = yield* TestService
      const { organizationId, token } = yield* tenant()
      const credential = yield* platform("POST", "/platform/credentials", {
        token: operator,
        body: { name: "parent", scopes: ["write:*"] },
      })
      const minted = yield* platform("POST", `/platform/organizations/${organizationId}/tokens`, {
        token: credential.body.token,
        body: { name: "child" },
      })
      const path = `/platform/credentials/${credential.body.slug}`
      assert.strictEqual((yield* platform("DELETE", path, { token: operator })).status, 204)
      assert.strictEqual((yield* core("GET", "/me", { token: minted.body.token })).status, 401)
      const gone = yield* platform("GET", "/platform/me", { token: credential.body.token })
      assert.strictEqual(gone.body.code, "Auth.InvalidCredential")
      const events = (yield* core("GET", "/events", { token })).body.items
      assert.deepStrictEqual(
        events
          .filter((event: { type: string }) => event.type === "TOKEN_REVOKED")
          .map((event: { data: { slug: string } }) => event.data.slug),
        [minted.body.slug],
      )
    }),
  )

  it.effect("concurrent mints and the revocation of their parent leave no live token", () =>
    Effect.gen(function* () {
      const { core, operator, platform, tenant } = yield* TestService
      const { organizationId } = yield* tenant()
      for (let round = 0; round < 10; round++) {
        const credential = yield* platform("POST", "/platform/credentials", {
          token: operator,
          body: { name: "racer", scopes: ["write:*"] },
        })
        const mint = platform("POST", `/platform/organizations/${organizationId}/tokens`, {
          token: credential.body.token,
          body: { name: "child" },
        })
        const revoke = platform("DELETE", `/platform/credentials/${credential.body.slug}`, { token: operator })
        const [minted] = yield* Effect.all([Effect.all([mint, mint, mint], { concurrency: 3 }), revoke], {
          concurrency: 2,
        })
        for (const child of minted) {
          if (child.status !== 201) assert.strictEqual(child.status, 401)
          else assert.strictEqual((yield* core("GET", "/me", { token: child.body.token })).status, 401)
        }
      }
    }),
  )
})
