import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"
import { office, serviceWithIssuer } from "./signIn.ts"

layer(serviceWithIssuer(), { excludeTestServices: true })("members", (it) => {
  it.effect("a person lists the people of the organization with their roles, newest first, in pages", () =>
    Effect.gen(function* () {
      const { as, memberships, operate, person } = yield* office
      const anna = yield* person("VIEWER")
      const { body: bob } = yield* operate("POST", "/platform/users", { name: "Bob", email: "bob@example.com" })
      const { body: added } = yield* operate("POST", memberships, { userId: bob.id, role: "ADMIN" })
      const call = as(anna.subject)
      const { body, status } = yield* call("GET", "/members")
      assert.deepStrictEqual([status, body.items.length, body.hasMore, body.nextCursor], [200, 2, false, ""])
      assert.deepStrictEqual(body.items[0], {
        user: { id: bob.id, name: "Bob", email: "bob@example.com" },
        role: "ADMIN",
        createdAt: added.createdAt,
      })
      assert.deepInclude(body.items[1], { user: { id: anna.id, name: "Anna", email: null }, role: "VIEWER" })
      const first = yield* call("GET", "/members?limit=1")
      assert.deepStrictEqual([first.body.items, first.body.hasMore], [[body.items[0]], true])
      const second = yield* call("GET", `/members?limit=1&cursor=${first.body.nextCursor}`)
      assert.deepStrictEqual([second.body.items, second.body.hasMore], [[body.items[1]], false])
    }),
  )

  it.effect("a role that changed is listed, a member who was removed is not", () =>
    Effect.gen(function* () {
      const { core, memberships, operate, person, token } = yield* office
      const anna = yield* person("MEMBER")
      const carl = yield* person("MEMBER", "Carl")
      yield* operate("PATCH", `${memberships}/${anna.id}`, { role: "ADMIN" })
      yield* operate("DELETE", `${memberships}/${carl.id}`)
      const { body } = yield* core("GET", "/members", { token })
      assert.deepStrictEqual(
        body.items.map((member: { user: { id: string }; role: string }) => [member.user.id, member.role]),
        [[anna.id, "ADMIN"]],
      )
    }),
  )

  it.effect("another organization's members are not listed, nor its cursors accepted", () =>
    Effect.gen(function* () {
      const { core, person, token } = yield* office
      yield* person("ADMIN")
      yield* person("MEMBER", "Bob")
      const { body } = yield* core("GET", "/members?limit=1", { token })
      const { tenant, tokenWith } = yield* TestService
      const other = yield* tenant()
      assert.deepStrictEqual((yield* core("GET", "/members", { token: other.token })).body.items, [])
      const foreign = yield* core("GET", `/members?cursor=${body.nextCursor}`, { token: other.token })
      assert.deepStrictEqual([foreign.status, foreign.body.code], [400, "Request.InvalidCursor"])
      const narrow = yield* core("GET", "/members", { token: yield* tokenWith(other, ["write:customers"]) })
      assert.deepStrictEqual([narrow.status, narrow.body.code], [403, "Auth.MissingScope"])
      const reading = yield* tokenWith(other, ["read:organizations"])
      assert.strictEqual((yield* core("GET", "/members", { token: reading })).status, 200)
    }),
  )
})
