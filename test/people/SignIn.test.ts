import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import type { HttpResponse } from "../support/TestService.ts"
import { TestService } from "../support/TestService.ts"
import { AUDIENCE, newKey, sign } from "../support/Issuer.ts"
import { office, serviceWithIssuer } from "./signIn.ts"

const coded = ({ body, status }: HttpResponse) => [status, body?.code]

layer(serviceWithIssuer(), { excludeTestServices: true })("a signed-in person", (it) => {
  it.effect("acts as themselves in the organization of the token", () =>
    Effect.gen(function* () {
      const { as, operate, organizationId, person } = yield* office
      const anna = yield* person("ADMIN")
      const { body: organization } = yield* operate("GET", `/platform/organizations/${organizationId}`)
      const me = yield* as(anna.subject, { exp: 4_070_908_800 })("GET", "/me")
      assert.match(me.body.credential.id, /^[0-9a-f-]{36}$/)
      assert.deepStrictEqual(me.body, {
        identity: { id: anna.id, name: "Anna" },
        kind: "PERSON",
        role: "ADMIN",
        organizationId,
        organization: { id: organizationId, name: organization.name, slug: organization.slug },
        credential: { id: me.body.credential.id, name: "Anna", expiresAt: "2099-01-01T00:00:00.000Z" },
        scopes: ["write:*"],
      })
      const created = yield* as(anna.subject)("POST", "/components", { body: { name: "part", version: "1" } })
      assert.strictEqual(created.status, 201)
      assert.deepStrictEqual(created.body.createdBy, { id: anna.id, name: "Anna" })
      const events = yield* as(anna.subject)("GET", "/events")
      assert.deepStrictEqual(events.body.items.at(-1).actor, { id: anna.id, name: "Anna" })
    }),
  )

  it.effect("has the rights of a new role with the next request", () =>
    Effect.gen(function* () {
      const { as, memberships, operate, person } = yield* office
      const anna = yield* person("VIEWER")
      const create = as(anna.subject)("POST", "/components", { body: { name: "part", version: "1" } })
      assert.deepStrictEqual(coded(yield* create), [403, "Auth.MissingScope"])
      yield* operate("PATCH", `${memberships}/${anna.id}`, { role: "MEMBER" })
      assert.strictEqual((yield* create).status, 201)
      yield* operate("PATCH", `${memberships}/${anna.id}`, { role: "VIEWER" })
      assert.deepStrictEqual(coded(yield* create), [403, "Auth.MissingScope"])
    }),
  )

  it.effect("belongs to no organization that was removed, even if its slug is used again", () =>
    Effect.gen(function* () {
      const { as, operate, organizationId, person } = yield* office
      const anna = yield* person("ADMIN")
      const path = `/platform/organizations/${organizationId}`
      const { slug } = (yield* operate("GET", path)).body
      const removed = yield* operate("DELETE", `${path}?confirm=${slug}`)
      assert.strictEqual(removed.status, 204)
      yield* operate("POST", "/platform/organizations", { name: "Successor", slug })
      for (const org_id of [organizationId, slug, `removed:${organizationId}`]) {
        assert.deepStrictEqual(coded(yield* as(anna.subject, { org_id })("GET", "/me")), [403, "Auth.NotAMember"])
      }
    }),
  )

  it.effect("can call exactly the operations that the role allows", () =>
    Effect.gen(function* () {
      const { as, person } = yield* office
      const attempts = {
        "write customers": ["POST", "/customers", { name: "Globex" }],
        "write licenses": ["POST", "/licenses", { name: "Pro", type: "PAID" }],
        "write tokens": ["POST", "/service-accounts", { name: "ci" }],
        "read licenses": ["GET", "/licenses", undefined],
        "read tokens": ["GET", "/service-accounts", undefined],
      } as const
      const allowed = { ADMIN: Object.keys(attempts), MEMBER: ["write customers", "read licenses", "read tokens"] }
      for (const [role, expected] of Object.entries({ ...allowed, VIEWER: ["read licenses", "read tokens"] })) {
        const call = as((yield* person(role)).subject)
        for (const [name, [method, path, body]] of Object.entries(attempts)) {
          const response = yield* call(method, path, body === undefined ? {} : { body })
          if (expected.includes(name)) assert.isBelow(response.status, 300, `${role}: ${name}`)
          else assert.deepStrictEqual(coded(response), [403, "Auth.MissingScope"], `${role}: ${name}`)
        }
      }
    }),
  )

  it.effect("gets the scopes of the role, narrowed by the token's scope claim", () =>
    Effect.gen(function* () {
      const { as, person } = yield* office
      const admin = yield* person("ADMIN")
      const viewer = yield* person("VIEWER")
      const scopesOf = (subject: string, scope: unknown) =>
        Effect.map(as(subject, { scope })("GET", "/me"), ({ body }) => body.scopes)
      assert.deepStrictEqual(yield* scopesOf(admin.subject, "openid read:customers"), ["read:customers"])
      assert.deepStrictEqual(yield* scopesOf(admin.subject, ["openid read:customers"]), ["read:customers"])
      assert.deepStrictEqual(yield* scopesOf(admin.subject, ["openid\nread:customers", 7]), ["read:customers"])
      assert.deepStrictEqual(yield* scopesOf(admin.subject, [["read:customers"]]), [])
      assert.deepStrictEqual(yield* scopesOf(admin.subject, "openid profile"), ["write:*"])
      assert.deepStrictEqual(yield* scopesOf(viewer.subject, "write:* delete:*"), ["read:*"])
      const narrow = as(admin.subject, { scope: "read:customers" })
      assert.strictEqual((yield* narrow("GET", "/customers")).status, 200)
      const rejected = yield* narrow("POST", "/customers", { body: { name: "Globex" } })
      assert.deepStrictEqual(coded(rejected), [403, "Auth.MissingScope"])
    }),
  )

  it.effect("sees and changes signing keys only as an admin, while a machine needs only the scope", () =>
    Effect.gen(function* () {
      const { as, core, person, token } = yield* office
      const { body: first } = yield* core("POST", "/signing-keys", { token, body: { purpose: "offline" } })
      for (const role of ["MEMBER", "VIEWER"]) {
        const call = as((yield* person(role)).subject)
        for (const response of [
          yield* call("GET", "/signing-keys"),
          yield* call("POST", "/signing-keys", { body: { purpose: "offline" } }),
          yield* call("POST", `/signing-keys/${first.kid}/activate`),
          yield* call("DELETE", `/signing-keys/${first.kid}`),
        ]) {
          assert.deepStrictEqual(coded(response), [403, "Auth.AdminOnly"])
        }
      }
      const admin = as((yield* person("ADMIN")).subject)
      const created = yield* admin("POST", "/signing-keys", { body: { purpose: "offline" } })
      assert.deepStrictEqual([created.status, created.body.state], [201, "NEXT"])
      assert.strictEqual((yield* admin("DELETE", `/signing-keys/${created.body.kid}`)).status, 204)
    }),
  )

  it.effect("can write metadata fields only as an admin, while a machine needs only the scope", () =>
    Effect.gen(function* () {
      const { as, core, organizationId, person, token } = yield* office
      const { tokenWith } = yield* TestService
      const body = (key: string) => ({ key, label: key, resourceType: "INSTANCE", jsonSchema: { type: "string" } })
      const field = yield* core("POST", "/metadata-fields", { token, body: body("racks") })
      const at = `/metadata-fields/${field.body.id}`
      for (const role of ["MEMBER", "VIEWER"]) {
        const call = as((yield* person(role)).subject)
        for (const response of [
          yield* call("POST", "/metadata-fields", { body: body("region") }),
          yield* call("PATCH", at, { body: { label: "Racks" } }),
          yield* call("POST", `${at}/archive`),
          yield* call("POST", `${at}/unarchive`),
        ]) {
          assert.deepStrictEqual(coded(response), [403, "Auth.AdminOnly"])
          assert.strictEqual(response.headers.get("content-type"), "application/problem+json")
        }
        assert.strictEqual((yield* call("GET", "/metadata-fields")).status, 200)
      }
      const admin = yield* person("ADMIN")
      const created = yield* as(admin.subject)("POST", "/metadata-fields", { body: body("region") })
      assert.strictEqual(created.status, 201)
      const narrowed = as(admin.subject, { scope: "read:*" })
      const rejected = yield* narrowed("POST", "/metadata-fields", { body: body("zone") })
      assert.deepStrictEqual(coded(rejected), [403, "Auth.MissingScope"])
      const machine = yield* tokenWith({ organizationId, token }, ["write:metadata_fields"])
      const byMachine = yield* core("POST", "/metadata-fields", { token: machine, body: body("rack") })
      assert.strictEqual(byMachine.status, 201)
    }),
  )

  it.effect("cannot issue a token with a scope that they do not hold", () =>
    Effect.gen(function* () {
      const { as, person } = yield* office
      const admin = yield* person("ADMIN")
      const account = yield* as(admin.subject)("POST", "/service-accounts", { body: { name: "ci" } })
      const path = `/service-accounts/${account.body.slug}/tokens`
      const narrow = as(admin.subject, { scope: "write:tokens read:customers" })
      const rejected = yield* narrow("POST", path, { body: { name: "x", scopes: ["write:customers"] } })
      assert.deepStrictEqual(coded(rejected), [403, "IssueToken.ScopeNotHeld"])
      const deleting = yield* as(admin.subject)("POST", path, { body: { name: "x", scopes: ["delete:*"] } })
      assert.deepStrictEqual(coded(deleting), [403, "IssueToken.ScopeNotHeld"])
      const issued = yield* narrow("POST", path, { body: { name: "x", scopes: ["read:customers"] } })
      assert.strictEqual(issued.status, 201)
      assert.deepStrictEqual(issued.body.createdBy, { id: admin.id, name: "Anna" })
    }),
  )

  it.effect("a removed membership or a new role applies to the next request", () =>
    Effect.gen(function* () {
      const { as, memberships, operate, person, tokenOf, core } = yield* office
      const anna = yield* person("ADMIN")
      const token = yield* tokenOf(anna.subject)
      assert.strictEqual((yield* core("GET", "/me", { token })).body.role, "ADMIN")
      assert.strictEqual((yield* operate("DELETE", `${memberships}/${anna.id}`)).status, 204)
      assert.deepStrictEqual(coded(yield* core("GET", "/me", { token })), [403, "Auth.NotAMember"])
      yield* operate("POST", memberships, { userId: anna.id, role: "VIEWER" })
      assert.strictEqual((yield* core("GET", "/me", { token })).body.role, "VIEWER")
      const rejected = yield* as(anna.subject)("POST", "/customers", { body: { name: "Globex" } })
      assert.deepStrictEqual(coded(rejected), [403, "Auth.MissingScope"])
    }),
  )

  it.effect("the claim can name the organization by its id, slug or external id", () =>
    Effect.gen(function* () {
      const { as, operate, organizationId, person } = yield* office
      const anna = yield* person("VIEWER")
      const path = `/platform/organizations/${organizationId}`
      const externalId = `crm-${randomUUID()}`
      const { slug } = (yield* operate("PATCH", path, { externalId })).body
      for (const org_id of [organizationId, organizationId.toUpperCase(), slug, externalId, [slug]]) {
        const me = yield* as(anna.subject, { org_id })("GET", "/me")
        assert.strictEqual(me.body.organizationId, organizationId, String(org_id))
      }
    }),
  )

  it.effect("a claim that matches two organizations is rejected", () =>
    Effect.gen(function* () {
      const one = yield* office
      const other = yield* office
      const anna = yield* one.person("ADMIN")
      const { slug } = (yield* one.operate("GET", `/platform/organizations/${one.organizationId}`)).body
      assert.strictEqual((yield* one.as(anna.subject, { org_id: slug })("GET", "/me")).status, 200)
      yield* one.operate("PATCH", `/platform/organizations/${other.organizationId}`, { externalId: slug })
      const rejected = yield* one.as(anna.subject, { org_id: slug })("GET", "/me")
      assert.deepStrictEqual(coded(rejected), [403, "Auth.NotAMember"])
    }),
  )

  it.effect("a claim that names several organizations names none, even if the person is a member of all", () =>
    Effect.gen(function* () {
      const one = yield* office
      const other = yield* office
      const anna = yield* one.person("ADMIN")
      yield* other.operate("POST", other.memberships, { userId: anna.id, role: "ADMIN" })
      const ids = [one.organizationId, other.organizationId]
      for (const org_id of [
        ids,
        ids.toReversed(),
        [ids[0], ids[0]],
        [ids],
        [[ids[0]]],
        ids.join(" "),
        ids.join(","),
        { [one.organizationId]: {} },
        { id: one.organizationId },
        [{ id: one.organizationId }],
        true,
      ]) {
        const rejected = yield* one.as(anna.subject, { org_id })("GET", "/me")
        assert.deepStrictEqual(coded(rejected), [403, "Auth.NotAMember"], JSON.stringify(org_id))
      }
      assert.strictEqual((yield* one.as(anna.subject, { org_id: ids[1] })("GET", "/me")).status, 200)
    }),
  )

  it.effect("a missing claim, an unknown organization and a missing membership are rejected with the same error", () =>
    Effect.gen(function* () {
      const { as, organizationId, person } = yield* office
      const elsewhere = yield* office
      const anna = yield* person("ADMIN")
      const known = yield* person()
      const responses = [
        yield* as(anna.subject, { org_id: undefined })("GET", "/me"),
        yield* as(anna.subject, { org_id: "nowhere" })("GET", "/me"),
        yield* as(anna.subject, { org_id: randomUUID() })("GET", "/me"),
        yield* as(anna.subject, { org_id: 7 })("GET", "/me"),
        yield* as(anna.subject, { org_id: [organizationId, elsewhere.organizationId] })("GET", "/me"),
        yield* as(anna.subject, { org_id: elsewhere.organizationId })("GET", "/me"),
        yield* as(known.subject)("GET", "/me"),
        yield* as(`unknown-${randomUUID()}`)("GET", "/me"),
      ]
      const bodies = new Set(responses.map(({ body }) => JSON.stringify({ ...body, errorId: "" })))
      assert.strictEqual(bodies.size, 1)
      assert.deepStrictEqual(
        responses.map(coded),
        responses.map(() => [403, "Auth.NotAMember"]),
      )
    }),
  )

  it.effect("an idempotency key applies to one person in one organization", () =>
    Effect.gen(function* () {
      const one = yield* office
      const other = yield* office
      const anna = yield* one.person("ADMIN")
      const bob = yield* one.person("ADMIN", "Bob")
      yield* other.operate("POST", other.memberships, { userId: anna.id, role: "ADMIN" })
      const options = { body: { name: "Globex" }, headers: { "idempotency-key": "same" } }
      const first = yield* one.as(anna.subject)("POST", "/customers", options)
      const again = yield* one.as(anna.subject)("POST", "/customers", options)
      assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
      assert.deepStrictEqual(again.body, first.body)
      const byBob = yield* one.as(bob.subject)("POST", "/customers", options)
      const elsewhere = yield* other.as(anna.subject)("POST", "/customers", options)
      for (const response of [byBob, elsewhere]) {
        assert.strictEqual(response.status, 201)
        assert.isNull(response.headers.get("idempotent-replayed"))
        assert.notStrictEqual(response.body.id, first.body.id)
      }
    }),
  )

  it.effect("can consume an entitlement in concurrent requests up to its limit", () =>
    Effect.gen(function* () {
      const { as, core, person, token } = yield* office
      const post = (path: string, body: object) => core("POST", path, { token, body })
      yield* post("/entitlements", { name: "Seats", slug: "seats", type: "NUMBER" })
      yield* post("/licenses", { name: "Pro", slug: "pro", type: "PAID", isDefault: true })
      yield* post("/licenses/pro/entitlements", { entitlementSlug: "seats", value: 5 })
      yield* post("/customers", { name: "Globex", slug: "globex" })
      const dates = { startLicenseDate: "2026-01-01T00:00:00Z", endLicenseDate: "2099-01-01T00:00:00Z" }
      yield* post("/instances", { name: "i", slug: "i1", customerSlug: "globex", licenseSlug: "pro", ...dates })
      const anna = yield* person("MEMBER")
      const body = { checks: [{ entitlement: "seats" }], consume: true }
      const responses = yield* Effect.all(
        Array.from({ length: 8 }, () => as(anna.subject)("POST", "/instances/i1/check", { body })),
        { concurrency: 8 },
      )
      assert.isTrue(responses.every(({ status }) => status === 200))
      assert.strictEqual(responses.filter((response) => response.body.checks[0].allowed === true).length, 5)
    }),
  )

  it.effect("all invalid tokens get the same response, except for its ids", () =>
    Effect.gen(function* () {
      const { core, issuer, organizationId, person, tokenOf } = yield* office
      const anna = yield* person("ADMIN")
      const good = yield* tokenOf(anna.subject)
      const mallory = yield* newKey("ES256")
      const [header = "", payload = "", signature = ""] = good.split(".")
      const claims = { sub: anna.subject }
      const tokens = {
        "an unknown ksh_ token": `ksh_${"a".repeat(43)}`,
        "another key": yield* sign(mallory, issuer.url, { claims }),
        "no signature": `${header}.${payload}.`,
        "an altered signature": `${header}.${payload}.${signature.slice(0, -6)}AAAAAA`,
        "another issuer": yield* issuer.token({ claims: { ...claims, iss: "https://other.example" } }),
        "another audience": yield* issuer.token({ claims: { ...claims, aud: "other" } }),
        expired: yield* issuer.token({ claims: { ...claims, exp: Math.floor(Date.now() / 1000) - 3600 } }),
        "with an endless expiry": yield* issuer.tokenOfText(
          `{"iss":"${issuer.url}","aud":"${AUDIENCE}","sub":"${anna.subject}","org_id":"${organizationId}","exp":1e400}`,
        ),
        "with an expiry as text": yield* issuer.token({ claims: { ...claims, exp: "4102444800" } }),
        "without expiry": yield* issuer.token({ claims: { ...claims, exp: undefined } }),
        "without subject": yield* issuer.token({ claims: { sub: undefined } }),
        "another type": yield* issuer.token({ claims, header: { typ: "logout+jwt" } }),
        "too long": yield* issuer.token({ claims: { ...claims, groups: "g".repeat(13_000) } }),
        "the type of an internal JWT": yield* issuer.token({ claims, header: { typ: "keyshelf-gateway+jwt" } }),
      }
      const shapes = new Set<string>()
      for (const [name, token] of Object.entries(tokens)) {
        const response = yield* core("GET", "/me", { token })
        assert.strictEqual(response.status, 401, name)
        const kept = [...response.headers].filter(([name]) => name !== "x-request-id" && name !== "date")
        shapes.add(JSON.stringify([kept, { ...response.body, errorId: "" }]))
      }
      assert.strictEqual(shapes.size, 1)
      assert.strictEqual((yield* core("GET", "/me", { token: good })).status, 200)
    }),
  )

  it.effect("is not created by a valid token alone: only the operator creates users", () =>
    Effect.gen(function* () {
      const { as } = yield* office
      const subject = `stranger-${randomUUID()}`
      assert.strictEqual((yield* as(subject)("GET", "/me")).status, 403)
      const sql = yield* PgClient.PgClient
      assert.deepStrictEqual(yield* sql`SELECT id FROM users WHERE subject = ${subject}`, [])
    }),
  )
})

layer(serviceWithIssuer(), { excludeTestServices: true })("after a key rotation of the provider", (it) => {
  it.effect("the first token with the new key is accepted, and one with the old key is rejected", () =>
    Effect.gen(function* () {
      const { core, issuer, person, tokenOf } = yield* office
      const anna = yield* person("VIEWER")
      const old = yield* tokenOf(anna.subject)
      assert.strictEqual((yield* core("GET", "/me", { token: old })).status, 200)
      yield* issuer.rotate
      const fresh = yield* tokenOf(anna.subject)
      assert.strictEqual((yield* core("GET", "/me", { token: fresh })).status, 200)
      assert.strictEqual((yield* core("GET", "/me", { token: old })).status, 401)
      // Unknown keys cause no load on the provider: its keys are not fetched again within 30 seconds.
      const unknown = yield* newKey("ES256")
      const token = yield* sign(unknown, issuer.url, { claims: { sub: anna.subject } })
      for (let round = 0; round < 10; round++) yield* core("GET", "/me", { token })
      assert.strictEqual(issuer.fetches(), 2)
    }),
  )
})

layer(serviceWithIssuer({}, "gateway"), { excludeTestServices: true })("behind a gateway", (it) => {
  it.effect("tokens of people are accepted and verified again, ksh_ tokens are rejected", () =>
    Effect.gen(function* () {
      const { as, core, issuer, person, token } = yield* office
      const anna = yield* person("MEMBER")
      assert.strictEqual((yield* as(anna.subject)("GET", "/me")).body.role, "MEMBER")
      const forged = yield* sign(yield* newKey("ES256"), issuer.url, { claims: { sub: anna.subject } })
      for (const rejected of [token, forged]) {
        assert.deepStrictEqual(coded(yield* core("GET", "/me", { token: rejected })), [401, "Auth.InvalidCredential"])
      }
    }),
  )
})

const provisioning = serviceWithIssuer({ provisioning: "just-in-time" })

layer(provisioning, { excludeTestServices: true })("just-in-time provisioning", (it) => {
  it.effect("concurrent first requests of a person create one user and one membership", () =>
    Effect.gen(function* () {
      const { as, events, memberships, operate, organizationId } = yield* office
      const subject = `anna-${randomUUID()}`
      const claims = { name: "Anna Kowalska", email: "anna@example.com" }
      const responses = yield* Effect.all(
        Array.from({ length: 16 }, () => as(subject, claims)("GET", "/me")),
        { concurrency: 16 },
      )
      const [first] = responses
      assert.deepStrictEqual(first?.body.role, "MEMBER")
      assert.strictEqual(first?.body.identity.name, "Anna Kowalska")
      for (const { body } of responses) {
        assert.deepStrictEqual([body.identity, body.credential.id], [first?.body.identity, first?.body.credential.id])
      }
      const members = (yield* operate("GET", memberships)).body.items
      assert.strictEqual(members.length, 1)
      assert.deepInclude(members[0], { userId: first?.body.identity.id, role: "MEMBER", organizationId })
      const user = yield* operate("GET", `/platform/users/${first?.body.identity.id}`)
      assert.deepInclude(user.body, { subject, email: "anna@example.com", createdBy: first?.body.identity })
      const created = (yield* events).filter(({ type }: { type: string }) => type === "MEMBERSHIP_CREATED")
      assert.strictEqual(created.length, 1)
      assert.deepStrictEqual(created[0].actor, first?.body.identity)
    }),
  )

  it.effect("one person can join several organizations", () =>
    Effect.gen(function* () {
      const one = yield* office
      const other = yield* office
      const subject = `anna-${randomUUID()}`
      const here = yield* one.as(subject)("GET", "/me")
      const there = yield* other.as(subject)("GET", "/me")
      assert.deepStrictEqual(here.body.identity, there.body.identity)
      assert.deepStrictEqual(
        [here.body.organizationId, there.body.organizationId],
        [one.organizationId, other.organizationId],
      )
    }),
  )

  it.effect("a removed person is not added again until the operator does so", () =>
    Effect.gen(function* () {
      const { as, memberships, operate } = yield* office
      const subject = `anna-${randomUUID()}`
      const me = yield* as(subject)("GET", "/me")
      const { id } = me.body.identity
      yield* operate("DELETE", `${memberships}/${id}`)
      const rejected = yield* Effect.all(
        Array.from({ length: 8 }, () => as(subject)("GET", "/me")),
        { concurrency: 8 },
      )
      assert.deepStrictEqual(
        rejected.map(coded),
        rejected.map(() => [403, "Auth.NotAMember"]),
      )
      assert.deepStrictEqual((yield* operate("GET", memberships)).body.items, [])
      yield* operate("POST", memberships, { userId: id, role: "VIEWER" })
      assert.strictEqual((yield* as(subject)("GET", "/me")).body.role, "VIEWER")
    }),
  )

  it.effect("a removal during concurrent requests of the person is not undone", () =>
    Effect.gen(function* () {
      const { as, memberships, operate } = yield* office
      for (let round = 0; round < 5; round++) {
        const subject = `racer-${randomUUID()}`
        const me = yield* as(subject)("GET", "/me")
        const path = `${memberships}/${me.body.identity.id}`
        yield* Effect.all([operate("DELETE", path), ...Array.from({ length: 6 }, () => as(subject)("GET", "/me"))], {
          concurrency: 7,
        })
        assert.deepStrictEqual(coded(yield* as(subject)("GET", "/me")), [403, "Auth.NotAMember"])
      }
    }),
  )

  it.effect("a removed user comes back neither here nor elsewhere, until the operator creates the person again", () =>
    Effect.gen(function* () {
      const { as, issuer, operate } = yield* office
      const elsewhere = yield* office
      const subject = `anna-${randomUUID()}`
      const me = yield* as(subject)("GET", "/me")
      yield* operate("DELETE", `/platform/users/${me.body.identity.id}`)
      const rejected = yield* Effect.all(
        [as, elsewhere.as, as, elsewhere.as].map((signIn) => signIn(subject)("GET", "/me")),
        { concurrency: 4 },
      )
      assert.deepStrictEqual(
        rejected.map(coded),
        rejected.map(() => [403, "Auth.NotAMember"]),
      )
      const again = yield* operate("POST", "/platform/users", { name: "Anna", issuer: issuer.url, subject })
      assert.strictEqual(again.status, 201)
      assert.notStrictEqual(again.body.id, me.body.identity.id)
      assert.strictEqual((yield* as(subject)("GET", "/me")).body.identity.id, again.body.id)
    }),
  )

  it.effect("a removal of the user during concurrent first requests is not undone", () =>
    Effect.gen(function* () {
      const one = yield* office
      for (let round = 0; round < 5; round++) {
        const other = yield* office
        const subject = `racer-${randomUUID()}`
        const me = yield* one.as(subject)("GET", "/me")
        const removal = one.operate("DELETE", `/platform/users/${me.body.identity.id}`)
        yield* Effect.all([removal, ...Array.from({ length: 6 }, () => other.as(subject)("GET", "/me"))], {
          concurrency: 7,
        })
        assert.deepStrictEqual(coded(yield* other.as(subject)("GET", "/me")), [403, "Auth.NotAMember"])
        assert.deepStrictEqual((yield* one.operate("GET", other.memberships)).body.items, [])
      }
    }),
  )

  it.effect("a token that is invalid or names no organization creates no user", () =>
    Effect.gen(function* () {
      const { as } = yield* office
      const subject = `stranger-${randomUUID()}`
      assert.strictEqual((yield* as(subject, { org_id: "nowhere" })("GET", "/me")).status, 403)
      assert.strictEqual((yield* as(subject, { org_id: undefined })("GET", "/me")).status, 403)
      assert.strictEqual((yield* as(subject, { aud: "other" })("GET", "/me")).status, 401)
      const sql = yield* PgClient.PgClient
      assert.deepStrictEqual(yield* sql`SELECT id FROM users WHERE subject = ${subject}`, [])
    }),
  )
})
