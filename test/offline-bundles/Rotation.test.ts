import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { importJWK, jwtVerify } from "jose"
import { PublishedKeys } from "../../src/domains/offline/PublishedKeys.ts"
import { SigningKeys } from "../../src/domains/signing/Service.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { TestService } from "../support/TestService.ts"
import { at, headerOf, openSite, payloadOf } from "./Site.ts"

const TTL_DAYS = 30
const GRACE_DAYS = 7
const times = { ttlSeconds: TTL_DAYS * 86_400, graceSeconds: GRACE_DAYS * 86_400 }

/** What an air-gapped site knows: keys by `kid`, each with the chain of keys that taught it. */
interface Site {
  readonly trusted: Map<string, string>
  bundle: string
}

const open = Effect.gen(function* () {
  const { asCaller, bundles, organizationId } = yield* openSite
  const keys = yield* SigningKeys
  const published = yield* PublishedKeys
  const start = Date.now()
  const on =
    (day: number) =>
    <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      at(start + day * DAY_MS)(asCaller(effect))
  /** Verifies a bundle at a day with the keys of a site, and learns the next one from it. */
  const accepts = Effect.fnUntraced(function* (site: Site, bundle: string, day: number) {
    const { kid } = headerOf(bundle)
    const x = site.trusted.get(kid)
    if (x === undefined) return false
    const key = yield* Effect.promise(() => importJWK({ kty: "OKP", crv: "Ed25519", alg: "EdDSA", x }))
    const verified = yield* Effect.promise(() =>
      jwtVerify(bundle, key, { currentDate: new Date(start + day * DAY_MS), algorithms: ["EdDSA"] }).catch(() => null),
    )
    if (verified === null) return false
    const next = payloadOf(bundle).next
    if (next !== undefined && !site.trusted.has(next.kid)) site.trusted.set(next.kid, next.x)
    return true
  })
  return {
    keys,
    on,
    accepts,
    issue: (day: number) => Effect.map(on(day)(bundles.issue("prod", times)), ({ bundle }) => bundle),
    published: (day: number) => on(day)(published.of(organizationId)),
    kids: (day: number) => Effect.map(on(day)(published.of(organizationId)), (found) => found.map(({ kid }) => kid)),
  }
})

layer(TestService.layer, { excludeTestServices: true })("over 400 days", (it) => {
  it.effect(
    "keys are rotated without a build that reaches the site, and each bundle verifies with the published keys until it expires",
    () =>
      Effect.gen(function* () {
        const { accepts, issue, keys, kids, on, published } = yield* open
        const first = yield* issue(0)
        const [pinned] = yield* published(0)
        const site: Site = { trusted: new Map([[pinned?.kid ?? "", pinned?.x ?? ""]]), bundle: first }
        const issued: Array<{ readonly bundle: string; readonly until: number }> = []
        const used = new Set<string>()
        let next: string | undefined
        for (let day = 0; day <= 400; day++) {
          // A new key each hundred days, which signs one life of a bundle later.
          if (day % 100 === 50) next = (yield* on(day)(keys.create({ purpose: "offline" }))).kid
          if (day % 100 === 50 + TTL_DAYS + GRACE_DAYS && next !== undefined) yield* on(day)(keys.activate(next))
          if (day % TTL_DAYS === 0) {
            site.bundle = yield* issue(day)
            issued.push({ bundle: site.bundle, until: day + TTL_DAYS + GRACE_DAYS })
          }
          assert.isTrue(yield* accepts(site, site.bundle, day), `day ${day}`)
          used.add(headerOf(site.bundle).kid)
          const now = yield* kids(day)
          for (const { bundle } of issued.filter(({ until }) => day < until)) {
            assert.include(now, headerOf(bundle).kid, `day ${day}`)
          }
          assert.isAtMost(now.length, 3)
        }
        assert.strictEqual(used.size, 5)
        // Those of the beginning are no longer published.
        assert.notInclude(yield* kids(400), pinned?.kid)
        assert.isFalse(yield* accepts(site, first, 400))
      }),
    120_000,
  )

  it.effect(
    "a key that leaked is published no more, nor what it taught; a build with the new key trusts only that",
    () =>
      Effect.gen(function* () {
        const { accepts, issue, keys, kids, on, published } = yield* open
        const old = yield* issue(0)
        const [leaked] = yield* published(0)
        const { kid: announced } = yield* on(10)(keys.create({ purpose: "offline" }))
        yield* issue(11)
        // The leak becomes known: the announced key may be a thief's lesson, too. It goes, and another one comes.
        yield* on(200)(keys.revoke(announced))
        const { kid: fresh } = yield* on(200)(keys.create({ purpose: "offline" }))
        yield* on(200)(keys.activate(fresh))
        yield* on(200)(keys.revoke(leaked?.kid ?? ""))
        assert.deepStrictEqual(yield* kids(200), [fresh])
        const [key] = yield* published(200)
        const build: Site = { trusted: new Map([[fresh, key?.x ?? ""]]), bundle: "" }
        const bundle = yield* issue(200)
        assert.deepStrictEqual([yield* accepts(build, bundle, 200), yield* accepts(build, old, 20)], [true, false])
        assert.deepStrictEqual(yield* kids(400), [fresh])
      }),
  )
})
