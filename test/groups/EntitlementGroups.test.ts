import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"

const setup = Effect.gen(function* () {
  const { core, tenant } = yield* TestService
  const { token } = yield* tenant()
  const post = (path: string, body: object) => core("POST", path, { token, body })
  const get = (path: string) => core("GET", path, { token })
  yield* post("/entitlements", { name: "Seats", slug: "seats", type: "NUMBER", displayOrder: 2 })
  yield* post("/entitlements", { name: "Single sign-on", slug: "sso", type: "BOOLEAN", displayOrder: 1 })
  const group = yield* post("/entitlement-groups", { name: "Team features", description: "For teams" })
  return { core, token, post, get, group }
})

layer(TestService.layer, { excludeTestServices: true })("entitlement groups", (it) => {
  it.effect("a group is created empty, read, changed and deleted; its entitlements are not deleted", () =>
    Effect.gen(function* () {
      const { core, get, group, post, token } = yield* setup
      assert.strictEqual(group.status, 201)
      assert.strictEqual(group.headers.get("location"), "/api/entitlement-groups/team-features")
      assert.deepStrictEqual(group.body.entitlementSlugs, [])
      assert.deepStrictEqual((yield* get("/entitlement-groups/team-features")).body, group.body)
      yield* post("/entitlement-groups/team-features/entitlements", { entitlementSlug: "sso" })
      const changed = yield* core("PUT", "/entitlement-groups/team-features", { token, body: { description: null } })
      assert.strictEqual(changed.status, 204)
      const read = (yield* get("/entitlement-groups/team-features")).body
      assert.isNull(read.description)
      assert.strictEqual(read.name, "Team features")
      assert.strictEqual((yield* core("DELETE", "/entitlement-groups/team-features", { token })).status, 204)
      assert.strictEqual((yield* get("/entitlement-groups/team-features")).body.code, "EntitlementGroup.NotFound")
      assert.deepStrictEqual((yield* get("/entitlements/sso")).body.groupSlugs, [])
    }),
  )

  it.effect("a group lists its entitlements by display order, and each entitlement lists its groups", () =>
    Effect.gen(function* () {
      const { get, group, post } = yield* setup
      const other = yield* post("/entitlement-groups", { name: "All" })
      for (const slug of ["seats", "sso"]) {
        const attached = yield* post("/entitlement-groups/team-features/entitlements", { entitlementSlug: slug })
        assert.strictEqual(attached.status, 204)
      }
      yield* post("/entitlement-groups/all/entitlements", { entitlementSlug: "seats" })
      assert.deepStrictEqual((yield* get("/entitlement-groups/team-features")).body.entitlementSlugs, ["sso", "seats"])
      const seats = (yield* get("/entitlements/seats")).body
      assert.deepStrictEqual(seats.groupSlugs, ["all", "team-features"])
      assert.deepStrictEqual(seats.entitlementGroups, [
        { id: other.body.id, name: "All", slug: "all" },
        { id: group.body.id, name: "Team features", slug: "team-features" },
      ])
      const listed = (yield* get("/entitlements")).body.items
      assert.deepStrictEqual(
        listed.map(({ groupSlugs }: { groupSlugs: ReadonlyArray<string> }) => groupSlugs),
        [["team-features"], ["all", "team-features"]],
      )
      assert.deepStrictEqual(
        (yield* get("/entitlement-groups")).body.items.map(({ slug }: { slug: string }) => slug),
        ["all", "team-features"],
      )
    }),
  )

  it.effect(
    "adding an entitlement twice, or removing one that is not in the group, has no effect and emits no event",
    () =>
      Effect.gen(function* () {
        const { core, get, post, token } = yield* setup
        const into = "/entitlement-groups/team-features/entitlements"
        yield* post(into, { entitlementSlug: "sso" })
        assert.strictEqual((yield* post(into, { entitlementSlug: "sso" })).status, 204)
        assert.strictEqual((yield* core("DELETE", `${into}/seats`, { token })).status, 204)
        assert.strictEqual((yield* core("DELETE", `${into}/sso`, { token })).status, 204)
        assert.deepStrictEqual((yield* get("/entitlement-groups/team-features")).body.entitlementSlugs, [])
        const events = (yield* get("/events?limit=200")).body.items.filter(({ type }: { type: string }) =>
          type.startsWith("ENTITLEMENT_GROUP"),
        )
        assert.deepStrictEqual(
          events.map((event: { type: string; data: { entitlementSlugs: ReadonlyArray<string> } }) => [
            event.type,
            event.data.entitlementSlugs,
          ]),
          [
            ["ENTITLEMENT_GROUP_CREATED", []],
            ["ENTITLEMENT_GROUP_UPDATED", ["sso"]],
            ["ENTITLEMENT_GROUP_UPDATED", []],
          ],
        )
      }),
  )

  it.effect("an entitlement is created in groups, and the groups change with it", () =>
    Effect.gen(function* () {
      const { get, group, post } = yield* setup
      yield* post("/entitlement-groups", { name: "All" })
      const body = { name: "API", slug: "api", type: "NUMBER" }
      const unknown = yield* post("/entitlements", { ...body, groupSlugs: ["all", "nothing"] })
      assert.strictEqual(unknown.status, 422)
      assert.strictEqual(unknown.body.errors[0].location, "body.groupSlugs[1]")
      const created = yield* post("/entitlements", { ...body, groupSlugs: ["team-features", "all", "all"] })
      assert.strictEqual(created.status, 201, created.text)
      assert.deepStrictEqual(created.body.groupSlugs, ["all", "team-features"])
      assert.deepStrictEqual((yield* get("/entitlements/api")).body, created.body)
      const changed = (yield* get("/entitlement-groups/team-features")).body
      assert.deepStrictEqual(changed.entitlementSlugs, ["api"])
      assert.notStrictEqual(changed.updatedAt, group.body.updatedAt)
      const events: ReadonlyArray<{ type: string }> = (yield* get("/events?limit=200")).body.items
      assert.deepStrictEqual(
        events.slice(-3).map(({ type }) => type),
        ["ENTITLEMENT_CREATED", "ENTITLEMENT_GROUP_UPDATED", "ENTITLEMENT_GROUP_UPDATED"],
      )
    }),
  )

  it.effect("an unknown entitlement is rejected with its location in a body, and not found in a path", () =>
    Effect.gen(function* () {
      const { core, post, token } = yield* setup
      const rejected = yield* post("/entitlement-groups/team-features/entitlements", { entitlementSlug: "nothing" })
      assert.strictEqual(rejected.status, 422)
      assert.strictEqual(rejected.body.errors[0].location, "body.entitlementSlug")
      const path = "/entitlement-groups/team-features/entitlements/nothing"
      assert.strictEqual((yield* core("DELETE", path, { token })).body.code, "Entitlement.NotFound")
      const taken = yield* post("/entitlement-groups", { name: "x", slug: "team-features" })
      assert.strictEqual(taken.body.code, "CreateEntitlementGroup.SlugTaken")
    }),
  )

  it.effect("concurrent additions of the same entitlements add each once", () =>
    Effect.gen(function* () {
      const { get, post } = yield* setup
      const into = "/entitlement-groups/team-features/entitlements"
      const responses = yield* Effect.all(
        Array.from({ length: 20 }, (_, index) => post(into, { entitlementSlug: index % 2 === 0 ? "seats" : "sso" })),
        { concurrency: "unbounded" },
      )
      assert.isTrue(responses.every(({ status }) => status === 204))
      assert.deepStrictEqual((yield* get("/entitlement-groups/team-features")).body.entitlementSlugs, ["sso", "seats"])
    }),
  )
})
