import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { platformIdentity } from "../../src/kernel/contract/Caller.ts"
import { TestService } from "../support/TestService.ts"

const MISSING = "01999999-0000-7000-8000-000000000000"

const setup = Effect.gen(function* () {
  const { core, operator, platform, tenant } = yield* TestService
  const { organizationId, token } = yield* tenant()
  const path = `/platform/organizations/${organizationId}/memberships`
  const call = (method: string, to: string, body?: object) =>
    platform(method, to, { token: operator, ...(body === undefined ? {} : { body }) })
  const user = (name: string) => Effect.map(call("POST", "/platform/users", { name }), ({ body }) => String(body.id))
  const add = (userId: string, role = "MEMBER") => call("POST", path, { userId, role })
  const events = Effect.map(core("GET", "/events", { token }), ({ body }) =>
    body.items
      .filter(({ type }: { type: string }) => type.startsWith("MEMBERSHIP_"))
      .map((event: { type: string; data: { userId: string; removedAt: string | null } }) => ({
        type: event.type,
        userId: event.data.userId,
        isRemoved: event.data.removedAt !== null,
      })),
  )
  return { call, user, add, events, path, organizationId, token }
})

layer(TestService.layer, { excludeTestServices: true })("people", (it) => {
  it.effect("a user is created, read and listed, newest first", () =>
    Effect.gen(function* () {
      const { call } = yield* setup
      const subject = randomUUID()
      const body = { name: "Anna", email: "anna@example.com", issuer: "https://login.example", subject }
      const created = yield* call("POST", "/platform/users", body)
      assert.strictEqual(created.status, 201)
      const { id, createdAt, ...rest } = created.body
      assert.deepStrictEqual(rest, { ...body, createdBy: platformIdentity })
      assert.match(createdAt, /^\d{4}-.*Z$/)
      assert.strictEqual(created.headers.get("location"), `/api/platform/users/${id}`)
      assert.deepStrictEqual((yield* call("GET", `/platform/users/${id}`)).body, created.body)
      const plain = yield* call("POST", "/platform/users", { name: "Bob" })
      assert.deepInclude(plain.body, { email: null, issuer: null, subject: null })
      const listed = yield* call("GET", "/platform/users?limit=2")
      assert.deepStrictEqual(listed.body.items, [plain.body, created.body])
    }),
  )

  it.effect("one of several concurrent creations of a user with the same issuer and subject succeeds", () =>
    Effect.gen(function* () {
      const { call } = yield* setup
      const body = { name: "Anna", issuer: "https://login.example", subject: randomUUID() }
      const responses = yield* Effect.all(
        Array.from({ length: 8 }, () => call("POST", "/platform/users", body)),
        { concurrency: 8 },
      )
      assert.strictEqual(responses.filter(({ status }) => status === 201).length, 1)
      assert.strictEqual(responses.filter(({ status }) => status === 409).length, 7)
      assert.strictEqual(responses.find(({ status }) => status === 409)?.body.code, "CreateUser.IdentityTaken")
      const elsewhere = yield* call("POST", "/platform/users", { ...body, issuer: "https://other.example" })
      assert.strictEqual(elsewhere.status, 201)
    }),
  )

  it.effect(
    "an issuer without a subject, a subject without an issuer, and invalid names and e-mails are rejected",
    () =>
      Effect.gen(function* () {
        const { call } = yield* setup
        const refusals = [
          [{ name: "A", issuer: "https://login.example" }, "body.subject"],
          [{ name: "A", subject: "anna", issuer: null }, "body.issuer"],
          [{ name: "A", email: "no address" }, "body.email"],
          [{ name: "", email: "a@b" }, "body.name"],
        ] as const
        for (const [body, location] of refusals) {
          const rejected = yield* call("POST", "/platform/users", body)
          assert.deepStrictEqual([rejected.status, rejected.body.errors[0].location], [422, location])
        }
      }),
  )

  it.effect("a membership is created, listed and removed, each with its event", () =>
    Effect.gen(function* () {
      const { add, call, events, organizationId, path, user } = yield* setup
      const anna = yield* user("Anna")
      const created = yield* add(anna, "ADMIN")
      assert.strictEqual(created.status, 201)
      assert.strictEqual(created.headers.get("location"), `/api${path}/${anna}`)
      const { createdAt: _, ...rest } = created.body
      assert.deepStrictEqual(rest, {
        organizationId,
        userId: anna,
        userName: "Anna",
        role: "ADMIN",
        createdBy: platformIdentity,
        removedAt: null,
      })
      assert.deepStrictEqual((yield* call("GET", path)).body.items, [created.body])
      const removed = yield* call("DELETE", `${path}/${anna}`)
      assert.deepStrictEqual([removed.status, removed.text], [204, ""])
      assert.deepStrictEqual((yield* call("GET", path)).body.items, [])
      const kept = (yield* call("GET", `${path}?includeRemoved=true`)).body.items
      assert.strictEqual(kept.length, 1)
      assert.deepStrictEqual({ ...kept[0], removedAt: null }, created.body)
      assert.match(kept[0].removedAt, /Z$/)
      assert.deepStrictEqual(yield* events, [
        { type: "MEMBERSHIP_CREATED", userId: anna, isRemoved: false },
        { type: "MEMBERSHIP_REMOVED", userId: anna, isRemoved: true },
      ])
      const again = yield* call("DELETE", `${path}/${anna}`)
      assert.deepStrictEqual([again.status, again.body.code], [404, "Membership.NotFound"])
    }),
  )

  it.effect("a membership that was read can be written back with another role, and nothing else", () =>
    Effect.gen(function* () {
      const { add, call, path, user } = yield* setup
      const anna = yield* user("Anna")
      const { body: membership } = yield* add(anna)
      const change = (body: object) => call("PATCH", `${path}/${anna}`, body)
      assert.deepInclude((yield* change({ ...membership, role: "ADMIN" })).body, { ...membership, role: "ADMIN" })
      const renamed = yield* change({ ...membership, userName: "Other" })
      assert.strictEqual(renamed.status, 422)
      assert.deepStrictEqual(
        renamed.body.errors.map(({ location }: { location: string }) => location),
        ["body.userName"],
      )
    }),
  )

  it.effect("a removed person can be added again in another role, a current member cannot", () =>
    Effect.gen(function* () {
      const { add, call, path, user } = yield* setup
      const anna = yield* user("Anna")
      yield* add(anna, "MEMBER")
      const twice = yield* add(anna, "ADMIN")
      assert.deepStrictEqual([twice.status, twice.body.code], [409, "CreateMembership.AlreadyMember"])
      yield* call("DELETE", `${path}/${anna}`)
      assert.strictEqual((yield* add(anna, "ADMIN")).status, 201)
      const roles = (items: ReadonlyArray<{ role: string; removedAt: string | null }>) =>
        items.map(({ removedAt, role }) => [role, removedAt === null])
      assert.deepStrictEqual(roles((yield* call("GET", path)).body.items), [["ADMIN", true]])
      assert.deepStrictEqual(roles((yield* call("GET", `${path}?includeRemoved=true`)).body.items), [
        ["ADMIN", true],
        ["MEMBER", false],
      ])
    }),
  )

  it.effect("concurrent creations and removals leave at most one membership and emit one event per change", () =>
    Effect.gen(function* () {
      const { add, call, events, path, user } = yield* setup
      const anna = yield* user("Anna")
      const responses = yield* Effect.all(
        Array.from({ length: 12 }, (_, index) => (index % 3 === 2 ? call("DELETE", `${path}/${anna}`) : add(anna))),
        { concurrency: 12 },
      )
      const created = responses.filter(({ status }) => status === 201).length
      const removed = responses.filter(({ status }) => status === 204).length
      assert.isTrue(responses.every(({ status }) => [201, 204, 404, 409].includes(status)))
      const current = (yield* call("GET", path)).body.items.length
      assert.strictEqual(current, created - removed)
      assert.include([0, 1], current)
      assert.strictEqual((yield* events).length, created + removed)
    }),
  )

  it.effect("a cursor of the memberships without removed ones is rejected in the list with removed ones", () =>
    Effect.gen(function* () {
      const { add, call, path, user } = yield* setup
      for (const name of ["A", "B", "C"]) yield* add(yield* user(name))
      const first = yield* call("GET", `${path}?limit=2`)
      assert.deepStrictEqual(
        first.body.items.map(({ userName }: { userName: string }) => userName),
        ["C", "B"],
      )
      const next = yield* call("GET", `${path}?limit=2&cursor=${first.body.nextCursor}`)
      assert.deepStrictEqual(
        next.body.items.map(({ userName }: { userName: string }) => userName),
        ["A"],
      )
      const other = yield* call("GET", `${path}?includeRemoved=true&cursor=${first.body.nextCursor}`)
      assert.deepStrictEqual([other.status, other.body.code], [400, "Request.InvalidCursor"])
      const unclear = yield* call("GET", `${path}?includeRemoved=perhaps`)
      assert.deepStrictEqual([unclear.status, unclear.body.errors[0].location], [422, "query.includeRemoved"])
    }),
  )

  it.effect("system:platform is never listed and can be neither added nor removed", () =>
    Effect.gen(function* () {
      const { add, call, events, path } = yield* setup
      for (const id of [platformIdentity.id, platformIdentity.id.toUpperCase()]) {
        const removed = yield* call("DELETE", `${path}/${id}`)
        assert.deepStrictEqual([removed.status, removed.body.code], [403, "RemoveMembership.PlatformIdentity"])
        const added = yield* add(id, "VIEWER")
        assert.deepStrictEqual([added.status, added.body.code], [409, "CreateMembership.AlreadyMember"])
      }
      assert.deepStrictEqual((yield* call("GET", `${path}?includeRemoved=true`)).body.items, [])
      const listed = yield* call("GET", "/platform/users?limit=200")
      assert.notInclude(listed.text, `"id":"${platformIdentity.id}","name":"system:platform","email"`)
      assert.strictEqual((yield* call("GET", `/platform/users/${platformIdentity.id}`)).status, 404)
      assert.deepStrictEqual(yield* events, [])
      const sql = yield* PgClient.PgClient
      const [row] = yield* sql`SELECT name, issuer, subject FROM users WHERE id = ${platformIdentity.id}`
      assert.deepStrictEqual(row, { name: "system:platform", issuer: null, subject: null })
    }),
  )

  it.effect("an unknown organization, user or membership is rejected with the error code of its kind", () =>
    Effect.gen(function* () {
      const { add, call, path, user } = yield* setup
      const nowhere = `/platform/organizations/${MISSING}/memberships`
      const anna = yield* user("Anna")
      for (const response of [
        yield* call("GET", nowhere),
        yield* call("POST", nowhere, { userId: anna, role: "MEMBER" }),
        yield* call("DELETE", `${nowhere}/${anna}`),
      ]) {
        assert.deepStrictEqual([response.status, response.body.code], [404, "Organization.NotFound"])
      }
      assert.strictEqual((yield* call("DELETE", `${path}/${anna}`)).body.code, "Membership.NotFound")
      assert.strictEqual((yield* call("GET", `/platform/users/${MISSING}`)).body.code, "User.NotFound")
      const unknown = yield* add(MISSING)
      assert.strictEqual(unknown.status, 422)
      assert.deepStrictEqual(unknown.body.errors, [
        { location: "body.userId", message: "must be the id of an existing user", value: MISSING },
      ])
      assert.strictEqual((yield* add(anna, "OWNER")).body.errors[0].location, "body.role")
      assert.strictEqual((yield* call("DELETE", `${path}/anna`)).body.errors[0].location, "path.userId")
    }),
  )

  it.effect("removing a membership without the scope delete:memberships is rejected", () =>
    Effect.gen(function* () {
      const { add, call, path, user } = yield* setup
      const { platform } = yield* TestService
      const anna = yield* user("Anna")
      yield* add(anna)
      const credential = yield* call("POST", "/platform/credentials", { name: "writer", scopes: ["write:*"] })
      const rejected = yield* platform("DELETE", `${path}/${anna}`, { token: credential.body.token })
      assert.deepStrictEqual([rejected.status, rejected.body.code], [403, "Auth.MissingScope"])
    }),
  )

  it.effect("a role is changed by a patch, with its event", () =>
    Effect.gen(function* () {
      const { add, call, events, path, user } = yield* setup
      const anna = yield* user("Anna")
      const created = yield* add(anna, "VIEWER")
      const updated = yield* call("PATCH", `${path}/${anna}`, { role: "ADMIN" })
      assert.deepStrictEqual([updated.status, updated.body], [200, { ...created.body, role: "ADMIN" }])
      assert.deepStrictEqual((yield* call("GET", path)).body.items, [updated.body])
      assert.deepStrictEqual(
        (yield* events).map(({ type }: { type: string }) => type),
        ["MEMBERSHIP_CREATED", "MEMBERSHIP_UPDATED"],
      )
      assert.strictEqual((yield* call("PATCH", `${path}/${anna}`, { role: "OWNER" })).status, 422)
      const platform = yield* call("PATCH", `${path}/${platformIdentity.id}`, { role: "VIEWER" })
      assert.deepStrictEqual([platform.status, platform.body.code], [403, "UpdateMembership.PlatformIdentity"])
      yield* call("DELETE", `${path}/${anna}`)
      const former = yield* call("PATCH", `${path}/${anna}`, { role: "VIEWER" })
      assert.deepStrictEqual([former.status, former.body.code], [404, "Membership.NotFound"])
    }),
  )

  it.effect("a removed user is gone, with all memberships; former memberships keep the name", () =>
    Effect.gen(function* () {
      const one = yield* setup
      const other = yield* setup
      const { call } = one
      const anna = yield* one.user("Anna")
      yield* one.add(anna)
      yield* other.add(anna, "ADMIN")
      const removed = yield* call("DELETE", `/platform/users/${anna}`)
      assert.deepStrictEqual([removed.status, removed.text], [204, ""])
      for (const response of [
        yield* call("GET", `/platform/users/${anna}`),
        yield* call("DELETE", `/platform/users/${anna}`),
      ]) {
        assert.deepStrictEqual([response.status, response.body.code], [404, "User.NotFound"])
      }
      assert.notInclude((yield* call("GET", "/platform/users?limit=200")).text, anna)
      assert.strictEqual((yield* one.add(anna)).body.errors[0].location, "body.userId")
      for (const { events, path } of [one, other]) {
        assert.deepStrictEqual((yield* call("GET", path)).body.items, [])
        const [former] = (yield* call("GET", `${path}?includeRemoved=true`)).body.items
        assert.deepInclude(former, { userId: anna, userName: "Anna" })
        assert.deepStrictEqual((yield* events).at(-1), { type: "MEMBERSHIP_REMOVED", userId: anna, isRemoved: true })
      }
    }),
  )

  it.effect("a user who is removed while being added to an organization is a member of none", () =>
    Effect.gen(function* () {
      const { add, call, path, user } = yield* setup
      for (let round = 0; round < 5; round++) {
        const anna = yield* user("Anna")
        const [added, removed] = yield* Effect.all([add(anna), call("DELETE", `/platform/users/${anna}`)], {
          concurrency: 2,
        })
        assert.include([201, 422], added.status)
        assert.strictEqual(removed.status, 204)
        assert.deepStrictEqual((yield* call("GET", path)).body.items, [])
      }
    }),
  )

  it.effect("system:platform cannot be removed, and removing a user needs the scope delete:users", () =>
    Effect.gen(function* () {
      const { call, user } = yield* setup
      const { platform } = yield* TestService
      for (const id of [platformIdentity.id, platformIdentity.id.toUpperCase()]) {
        const rejected = yield* call("DELETE", `/platform/users/${id}`)
        assert.deepStrictEqual([rejected.status, rejected.body.code], [403, "RemoveUser.PlatformIdentity"])
      }
      const anna = yield* user("Anna")
      const credential = yield* call("POST", "/platform/credentials", { name: "writer", scopes: ["write:*"] })
      const rejected = yield* platform("DELETE", `/platform/users/${anna}`, { token: credential.body.token })
      assert.deepStrictEqual([rejected.status, rejected.body.code], [403, "Auth.MissingScope"])
      assert.strictEqual((yield* call("GET", `/platform/users/${anna}`)).status, 200)
    }),
  )
})
