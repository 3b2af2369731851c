import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Option } from "effect"
import { TestService } from "../support/TestService.ts"
import { at, DAY, expiryEvents, withTestClock, issue, areStored, revoke, sweep, sweeperWith } from "./sweeping.ts"

layer(TestService.separate, { excludeTestServices: true })("the sweeper and tokens that ended", (it) => {
  it.effect("a revoked token is retained for 90 days and then deleted", () =>
    withTestClock((then) =>
      Effect.gen(function* () {
        const { organizationId } = yield* (yield* TestService).tenant()
        const [revoked, live] = [yield* issue({ organizationId }), yield* issue({ organizationId })]
        yield* revoke(organizationId, revoked.slug, at(0))
        yield* then(90 * DAY - 60_000)
        yield* sweep
        assert.deepStrictEqual(yield* areStored(revoked, live), [true, true])
        yield* then(90 * DAY)
        yield* sweep
        assert.deepStrictEqual(yield* areStored(revoked, live), [false, true])
      }),
    ),
  )

  it.effect("an expired token is retained for 90 days and then deleted", () =>
    withTestClock((then) =>
      Effect.gen(function* () {
        const { organizationId } = yield* (yield* TestService).tenant()
        const expired = yield* issue({ organizationId, expiresAt: at(DAY) })
        yield* then(91 * DAY - 60_000)
        yield* sweep
        assert.deepStrictEqual(yield* areStored(expired), [true])
        yield* then(91 * DAY)
        yield* sweep
        assert.deepStrictEqual(yield* areStored(expired), [false])
      }),
    ),
  )

  it.effect("retention counts from the earlier of revocation and expiry", () =>
    withTestClock((then) =>
      Effect.gen(function* () {
        const { organizationId } = yield* (yield* TestService).tenant()
        const early = yield* issue({ organizationId, expiresAt: at(50 * DAY) })
        const late = yield* issue({ organizationId, expiresAt: at(DAY) })
        yield* revoke(organizationId, early.slug, at(0))
        yield* revoke(organizationId, late.slug, at(50 * DAY))
        yield* then(90 * DAY)
        yield* sweep
        assert.deepStrictEqual(yield* areStored(early, late), [false, true])
        yield* then(91 * DAY)
        yield* sweep
        assert.deepStrictEqual(yield* areStored(late), [false])
      }),
    ),
  )

  it.effect("the retention of revoked tokens is configurable", () =>
    withTestClock((then) =>
      Effect.gen(function* () {
        const { organizationId } = yield* (yield* TestService).tenant()
        const revoked = yield* issue({ organizationId })
        yield* revoke(organizationId, revoked.slug, at(0))
        yield* then(7 * DAY)
        const short = sweeperWith({
          retiredTokens: Duration.days(7),
          events: Option.none(),
          usageEvents: Option.none(),
        })
        yield* sweep.pipe(Effect.provide(short))
        assert.deepStrictEqual(yield* areStored(revoked), [false])
      }),
    ),
  )

  it.effect("a revoked platform credential is deleted with the tokens that it minted", () =>
    withTestClock((then) =>
      Effect.gen(function* () {
        const { organizationId } = yield* (yield* TestService).tenant()
        const parent = yield* issue({ organizationId: null })
        const child = yield* issue({ organizationId, parentId: parent.id })
        yield* revoke(null, parent.slug, at(0))
        yield* revoke(organizationId, child.slug, at(0))
        yield* then(90 * DAY)
        yield* sweep
        assert.deepStrictEqual(yield* areStored(parent, child), [false, false])
      }),
    ),
  )

  it.effect("an expired platform credential is retained as long as a token that it minted", () =>
    withTestClock((then) =>
      Effect.gen(function* () {
        const { organizationId } = yield* (yield* TestService).tenant()
        const parent = yield* issue({ organizationId: null, expiresAt: at(DAY) })
        const child = yield* issue({ organizationId, parentId: parent.id })
        yield* then(200 * DAY)
        yield* sweep
        assert.deepStrictEqual(yield* areStored(parent, child), [true, true])
        yield* revoke(organizationId, child.slug, at(200 * DAY))
        yield* then(290 * DAY)
        yield* sweep
        assert.deepStrictEqual(yield* areStored(parent, child), [false, false])
      }),
    ),
  )

  it.effect("records keep the name of their creator after its token is deleted", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const account = (yield* core("POST", "/service-accounts", { token, body: { name: "ci" } })).body.slug
      const issued = yield* core("POST", `/service-accounts/${account}/tokens`, {
        token,
        body: { name: "deploys", scopes: ["write:components"] },
      })
      const component = yield* core("POST", "/components", {
        token: issued.body.token,
        body: { name: "part", version: "1" },
      })
      assert.strictEqual(
        (yield* core("DELETE", `/service-accounts/${account}/tokens/${issued.body.slug}`, { token })).status,
        204,
      )
      yield* withTestClock(() => sweep)
      const tokens = yield* core("GET", `/service-accounts/${account}/tokens`, { token })
      assert.deepStrictEqual(tokens.body.items, [])
      const listed = yield* core("GET", "/components", { token })
      assert.deepStrictEqual(listed.body.items[0].createdBy, component.body.createdBy)
      assert.strictEqual((yield* core("GET", "/events", { token })).status, 200)
      // The slug of the deleted token can be reused.
      const again = yield* core("POST", `/service-accounts/${account}/tokens`, {
        token,
        body: { name: "deploys", slug: issued.body.slug, scopes: ["read:components"] },
      })
      assert.strictEqual(again.status, 201)
    }),
  )

  it.effect("concurrent sweeps emit one expiry event, with the token and its account, but without its secret", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { organizationId, token } = yield* tenant()
      const account = (yield* core("POST", "/service-accounts", { token, body: { name: "ci" } })).body.slug
      const path = `/service-accounts/${account}/tokens`
      const body = { name: "deploys", scopes: ["read:releases"], expiresAt: "2031-12-31T00:00:00Z" }
      const [expired, revoked] = [
        (yield* core("POST", path, { token, body })).body,
        yield* core("POST", path, { token, body }),
      ]
      yield* core("DELETE", `${path}/${revoked.body.slug}`, { token })
      yield* withTestClock(() => Effect.all([sweep, sweep, sweep], { concurrency: 3 }))
      yield* withTestClock(() => sweep)
      const [event, ...others] = yield* expiryEvents(organizationId)
      assert.deepStrictEqual(others, [])
      assert.strictEqual(event?.actor.name, "system:platform")
      assert.strictEqual(event?.data["slug"], expired.slug)
      assert.strictEqual(event?.data["serviceAccountSlug"], account)
      assert.notInclude(JSON.stringify(event), expired.token)
    }),
  )

  it.effect("no expiry event is emitted before the token expires", () =>
    withTestClock((then) =>
      Effect.gen(function* () {
        const { organizationId } = yield* (yield* TestService).tenant()
        yield* issue({ organizationId, expiresAt: at(1000) })
        yield* then(999)
        yield* sweep
        assert.strictEqual((yield* expiryEvents(organizationId)).length, 0)
        yield* then(1000)
        yield* sweep
        assert.strictEqual((yield* expiryEvents(organizationId)).length, 1)
      }),
    ),
  )

  it.effect("an overdue expiry event is emitted before the token is deleted", () =>
    withTestClock((then) =>
      Effect.gen(function* () {
        const { organizationId } = yield* (yield* TestService).tenant()
        const expired = yield* issue({ organizationId, expiresAt: at(1000) })
        yield* then(400 * DAY)
        yield* sweep
        assert.deepStrictEqual(yield* areStored(expired), [false])
        assert.strictEqual((yield* expiryEvents(organizationId)).length, 1)
      }),
    ),
  )
})
