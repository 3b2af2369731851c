import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { randomUUID } from "node:crypto"
import type { IssuedToken } from "../../src/domains/access/Model.ts"
import { Credentials } from "../../src/domains/access/tokens/Credentials.ts"
import { ServiceAccounts } from "../../src/domains/access/ServiceAccounts.ts"
import { bySystem, Caller } from "../../src/kernel/contract/Caller.ts"
import { TestService } from "../support/TestService.ts"

type Token = typeof IssuedToken.Type

/** A new service account, and functions that manage its tokens over HTTP. */
const account = Effect.gen(function* () {
  const { core, tenant, tokenWith } = yield* TestService
  const owner = yield* tenant()
  const { token } = owner
  const slug = String((yield* core("POST", "/service-accounts", { token, body: { name: "ci" } })).body.slug)
  const tokens = `/service-accounts/${slug}/tokens`
  return {
    owner,
    slug,
    tokens,
    tokenWith: (scopes: ReadonlyArray<string>) => tokenWith(owner, scopes),
    issue: (body: object = {}) =>
      core("POST", tokens, { token, body: { name: "deploys", scopes: ["read:releases"], ...body } }),
    rotate: (of: string, body: object = {}, headers: Record<string, string> = {}) =>
      core("POST", `${tokens}/${of}/rotate`, { token, body, headers }),
    revoke: (of: string) => core("DELETE", `${tokens}/${of}`, { token }),
    row: (of: string) =>
      Effect.map(core("GET", tokens, { token }), ({ body }) =>
        body.items.find((row: { slug: string }) => row.slug === of),
      ),
    works: (text: string) => Effect.map(core("GET", "/me", { token: text }), ({ status }) => status === 200),
    eventsAbout: (of: string) =>
      Effect.map(core("GET", "/events", { token }), ({ body }) =>
        body.items.filter((event: { data: { slug: string } }) => event.data.slug === of),
      ),
  }
})

const INSTANT = new Date("2031-05-01T12:00:00.000Z").getTime()
const at = (seconds: number) => new Date(INSTANT + seconds * 1000)

/** A new service account with a test clock. `moveTo` sets the clock to a number of seconds after its start. */
const atInstant = <A, E, R>(
  use: (life: {
    readonly moveTo: (seconds: number) => Effect.Effect<void>
    readonly issue: (expiresAt: Date | null) => Effect.Effect<Token>
    readonly rotate: (token: Token, gracePeriodSeconds?: number) => Effect.Effect<Token, { readonly _tag: string }>
    readonly works: (token: Token) => Effect.Effect<boolean>
  }) => Effect.Effect<A, E, R>,
) =>
  Effect.gen(function* () {
    const { tenant } = yield* TestService
    const { organizationId } = yield* tenant()
    const [accounts, credentials] = [yield* ServiceAccounts, yield* Credentials]
    const caller = { credentialId: randomUUID(), organizationId, ...bySystem, scopes: ["write:*"] }
    const asCaller = Effect.provideService(Caller, caller)
    yield* Effect.gen(function* () {
      yield* TestClock.setTime(INSTANT)
      const { slug } = yield* asCaller(Effect.orDie(accounts.create({ name: "ci" })))
      yield* use({
        moveTo: (seconds) => TestClock.setTime(INSTANT + seconds * 1000),
        issue: (expiresAt) =>
          asCaller(Effect.orDie(accounts.issueToken(slug, { name: "t", scopes: ["read:releases"], expiresAt }))),
        rotate: (token, gracePeriodSeconds) =>
          asCaller(
            accounts.rotateToken(slug, token.slug, gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
          ),
        works: (token) =>
          credentials.authenticate("organization", Redacted.make(token.token)).pipe(
            Effect.as(true),
            Effect.catch(() => Effect.succeed(false)),
          ),
      })
    }).pipe(Effect.provide(TestClock.layer()))
  })

layer(TestService.separate, { excludeTestServices: true })("the life of a token", (it) => {
  it.effect("a rotation without a body ends the old token immediately", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      const { issue, owner, tokens, works } = yield* account
      const old = (yield* issue()).body
      const response = yield* core("POST", `${tokens}/${old.slug}/rotate`, { token: owner.token })
      assert.strictEqual(response.status, 201)
      assert.deepStrictEqual([yield* works(old.token), yield* works(response.body.token)], [false, true])
    }),
  )

  it.effect("a rotation revokes the old token; the new one has the same name and scopes and a new slug", () =>
    Effect.gen(function* () {
      const ci = yield* account
      const old = (yield* ci.issue()).body
      const response = yield* ci.rotate(old.slug)
      assert.strictEqual(response.status, 201)
      assert.match(response.body.slug, /^deploys-[a-z0-9]{6}$/)
      assert.strictEqual(response.headers.get("location"), `/api${ci.tokens}/${response.body.slug}`)
      assert.strictEqual(response.body.name, "deploys")
      assert.deepStrictEqual(response.body.scopes, ["read:releases"])
      assert.isNull(response.body.expiresAt)
      assert.match(response.body.token, /^ksh_[A-Za-z0-9_-]{43}$/)
      assert.isFalse(yield* ci.works(old.token))
      assert.isTrue(yield* ci.works(response.body.token))
      const row = yield* ci.row(old.slug)
      assert.strictEqual(row.revokedBy.name, "system:platform")
      assert.isString(row.revokedAt)
    }),
  )

  it.effect("a rotation emits events for the new token, the rotation and the revocation, without a secret", () =>
    Effect.gen(function* () {
      const ci = yield* account
      const old = (yield* ci.issue()).body
      const successor = (yield* ci.rotate(old.slug)).body
      const events = yield* ci.eventsAbout(old.slug)
      assert.deepStrictEqual(
        events.map((event: { type: string }) => event.type),
        ["TOKEN_ISSUED", "TOKEN_ROTATED", "TOKEN_REVOKED"],
      )
      assert.strictEqual(events[1].data.rotatedTo, successor.slug)
      assert.strictEqual(events[1].data.serviceAccountSlug, ci.slug)
      const [issued] = yield* ci.eventsAbout(successor.slug)
      assert.strictEqual(issued.type, "TOKEN_ISSUED")
      assert.notInclude(JSON.stringify([...events, issued]), successor.token)
    }),
  )

  it.effect("with a grace period the old token works until its end, and fails at that instant", () =>
    atInstant(({ issue, rotate, moveTo, works }) =>
      Effect.gen(function* () {
        const old = yield* issue(null)
        const successor = yield* rotate(old, 3600)
        yield* moveTo(3599.999)
        assert.isTrue(yield* works(old))
        yield* moveTo(3600)
        assert.isFalse(yield* works(old))
        assert.isTrue(yield* works(successor))
      }),
    ),
  )

  it.effect("a grace period does not extend the old token's own expiry", () =>
    atInstant(({ issue, rotate, moveTo, works }) =>
      Effect.gen(function* () {
        const old = yield* issue(at(60))
        yield* rotate(old, 3600)
        yield* moveTo(59.999)
        assert.isTrue(yield* works(old))
        yield* moveTo(60)
        assert.isFalse(yield* works(old))
      }),
    ),
  )

  it.effect("the new token gets the lifetime that the old one was issued with, starting at the rotation", () =>
    atInstant(({ issue, rotate, moveTo }) =>
      Effect.gen(function* () {
        const old = yield* issue(at(1000))
        yield* moveTo(900)
        assert.deepStrictEqual((yield* rotate(old)).expiresAt, at(1900))
      }),
    ),
  )

  it.effect("rotating a revoked, expired or already rotated token is rejected", () =>
    Effect.gen(function* () {
      const ci = yield* account
      const revoked = (yield* ci.issue()).body
      yield* ci.revoke(revoked.slug)
      const inGrace = (yield* ci.issue()).body
      assert.strictEqual((yield* ci.rotate(inGrace.slug, { gracePeriodSeconds: 3600 })).status, 201)
      for (const { slug } of [revoked, inGrace]) {
        const rejected = yield* ci.rotate(slug)
        assert.strictEqual(rejected.status, 409)
        assert.strictEqual(rejected.body.code, "RotateToken.NotLive")
      }
      assert.isTrue(yield* ci.works(inGrace.token))
      yield* atInstant(({ issue, rotate, moveTo }) =>
        Effect.gen(function* () {
          const expired = yield* issue(at(60))
          yield* moveTo(60)
          assert.strictEqual((yield* Effect.flip(rotate(expired)))._tag, "RotateToken.NotLive")
        }),
      )
    }),
  )

  it.effect("rotating a token with scopes that the caller does not hold is rejected", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      const ci = yield* account
      const strong = (yield* ci.issue({ scopes: ["write:licenses"] })).body
      const clerk = yield* ci.tokenWith(["write:tokens", "read:licenses"])
      const rejected = yield* core("POST", `${ci.tokens}/${strong.slug}/rotate`, { token: clerk, body: {} })
      assert.strictEqual(rejected.status, 403)
      assert.strictEqual(rejected.body.code, "IssueToken.ScopeNotHeld")
      assert.isTrue(yield* ci.works(strong.token))
    }),
  )

  it.effect("rotating a token of another account or an unknown token is not found", () =>
    Effect.gen(function* () {
      const ci = yield* account
      const other = yield* account
      const { slug } = (yield* other.issue()).body
      assert.strictEqual((yield* ci.rotate(slug)).body.code, "AccessToken.NotFound")
      assert.strictEqual((yield* ci.rotate("nope")).body.code, "AccessToken.NotFound")
    }),
  )

  it.effect("a grace period that is not a whole number of seconds up to a year is rejected", () =>
    Effect.gen(function* () {
      const ci = yield* account
      const { slug, token } = (yield* ci.issue()).body
      for (const gracePeriodSeconds of [-1, 1.5, "60", null, 31_536_001]) {
        const rejected = yield* ci.rotate(slug, { gracePeriodSeconds })
        assert.strictEqual(rejected.status, 422)
        assert.strictEqual(rejected.body.errors[0].location, "body.gracePeriodSeconds")
      }
      assert.isTrue(yield* ci.works(token))
    }),
  )

  it.effect("exactly one of several concurrent rotations of a token succeeds", () =>
    Effect.gen(function* () {
      const ci = yield* account
      const { slug } = (yield* ci.issue()).body
      const responses = yield* Effect.all(
        Array.from({ length: 8 }, (_, index) => ci.rotate(slug, { gracePeriodSeconds: index * 60 })),
        { concurrency: 8 },
      )
      const statuses = responses.map(({ status }) => status).sort((left, right) => left - right)
      assert.deepStrictEqual(statuses, [201, ...Array<number>(7).fill(409)])
    }),
  )

  it.effect("a rotation repeated with the same idempotency key issues no second token and returns no secret", () =>
    Effect.gen(function* () {
      const ci = yield* account
      const { slug } = (yield* ci.issue()).body
      const headers = { "idempotency-key": randomUUID() }
      const first = yield* ci.rotate(slug, {}, headers)
      assert.strictEqual(first.status, 201)
      const second = yield* ci.rotate(slug, {}, headers)
      assert.strictEqual(second.status, 409)
      assert.strictEqual(second.body.code, "IdempotencyKey.SecretNotReplayable")
      assert.include(second.body.detail, first.body.slug)
      const { core } = yield* TestService
      const listed = yield* core("GET", ci.tokens, { token: ci.owner.token })
      assert.strictEqual(listed.body.items.length, 2)
    }),
  )

  it.effect("the last use of a token is stored in the background within a minute, rounded to the minute", () =>
    Effect.gen(function* () {
      const { tenant } = yield* TestService
      const { token } = yield* tenant()
      const sql = yield* PgClient.PgClient
      yield* Effect.gen(function* () {
        yield* TestClock.setTime(new Date("2031-05-01T12:34:56.789Z").getTime())
        const credentials = Context.get(yield* Layer.build(Layer.fresh(Credentials.layer)), Credentials)
        const { id } = yield* credentials.authenticate("organization", Redacted.make(token))
        const lastUsedAt = Effect.map(
          sql<{ at: Date | null }>`SELECT last_used_at AS at FROM credentials WHERE id = ${id}`,
          ([row]) => row?.at?.toISOString(),
        )
        assert.isUndefined(yield* lastUsedAt)
        yield* TestClock.adjust("1 minute")
        const written = yield* lastUsedAt.pipe(
          Effect.tap((at) => (at === undefined ? TestClock.withLive(Effect.sleep("5 millis")) : Effect.void)),
          Effect.repeat({ until: (at) => at !== undefined }),
        )
        assert.strictEqual(written, "2031-05-01T12:34:00.000Z")
      }).pipe(Effect.scoped, Effect.provide(TestClock.layer()))
    }),
  )
})
