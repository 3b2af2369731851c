import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { TestService } from "../support/TestService.ts"
import { headerOf, inDays, openSite, rejection } from "./Site.ts"

const DAY = 86_400

const fingerprint = (component: string) => createHash("sha256").update(component).digest("base64url")

layer(TestService.layer, { excludeTestServices: true })("an offline bundle", (it) => {
  it.effect("says who may use what until when, under a key that the service publishes", () =>
    Effect.gen(function* () {
      const { call, entitlement, grant, instance, issue, open, organizationId, verified } = yield* openSite
      yield* entitlement("exports", { aggregationMethod: "COUNT", resetPeriod: "DAY", resetAnchor: "CALENDAR" })
      yield* grant("pro", "exports", 500, 10)
      const before = Math.floor(Date.now() / 1000)
      const answer = yield* issue()
      assert.strictEqual(answer.status, 201, answer.text)
      const { bundle, ...record } = answer.body
      assert.strictEqual(answer.headers.get("location"), `/api/instances/prod/offline-bundles/${record.id}`)
      const { claims, header } = yield* verified(bundle)
      assert.strictEqual(
        JSON.stringify(headerOf(bundle)),
        JSON.stringify({ typ: "keyshelf-bundle+jwt", alg: "EdDSA", kid: header.kid }),
      )
      const { iat } = claims
      assert.isAtLeast(iat, before)
      const time = (seconds: number) => new Date(seconds * 1000).toISOString()
      assert.deepStrictEqual(record, {
        id: claims.jti,
        instance: "prod",
        sequence: 1,
        keyId: header.kid,
        issuedAt: time(iat),
        renewAt: time(iat + 30 * DAY),
        expiresAt: time(iat + 37 * DAY),
        usageUntil: time(iat + 127 * DAY),
        binding: null,
        allowances: [],
        revokedAt: null,
        revokedBy: null,
        createdAt: record.createdAt,
        createdBy: record.createdBy,
      })
      const { entitlements, periods, ...rest } = claims
      assert.deepStrictEqual(rest, {
        v: 1,
        iss: `urn:keyshelf:organization:${organizationId}`,
        sub: instance.id,
        jti: record.id,
        seq: 1,
        iat,
        nbf: iat,
        renew: iat + 30 * DAY,
        exp: iat + 37 * DAY,
        instance: { slug: "prod", name: "Globex production" },
        customer: { slug: "globex", name: "Globex" },
        license: {
          slug: "pro",
          family: "pro",
          version: "1",
          name: "pro",
          type: "PAID",
          start: instance.startLicenseDate,
          termEnd: instance.endLicenseDate,
          end: instance.endLicenseDate,
        },
        flags: {},
        rules: [],
        zone: null,
        release: null,
        binding: null,
        usage: { until: iat + 127 * DAY },
      })
      const today = `${time(iat).slice(0, 10)}T00:00:00.000Z`
      assert.deepStrictEqual(entitlements, [
        {
          slug: "exports",
          type: "NUMBER",
          limit: "500",
          overagePercent: "10",
          aggregation: "COUNT",
          used: "0",
          usedFrom: today,
          period: "DAY/CALENDAR",
        },
      ])
      assert.deepStrictEqual(periods, { "DAY/CALENDAR": { from: today, every: DAY } })
      assert.deepStrictEqual((yield* call("GET", `/instances/prod/offline-bundles/${record.id}`)).body, answer.body)
      assert.deepStrictEqual((yield* call("GET", "/instances/prod/offline-bundles")).body.items, [record])
      assert.strictEqual((yield* open("keys")).body.keys[0].kid, header.kid)
    }),
  )

  it.effect("names zone, release, flags and the next key where there are some", () =>
    Effect.gen(function* () {
      const { call, issued, zone } = yield* openSite
      const { body: release } = yield* call("POST", "/releases", { version: "2.4.0" })
      const where = yield* zone("Berlin")
      yield* call("PUT", `/deployment-zones/${where.slug}`, { releaseId: release.id })
      yield* call("PATCH", "/instances/prod", { deploymentZoneId: where.id })
      const flag = (key: string, more: object) =>
        call("POST", "/feature-flags", { key, enabled: true, defaultVariant: "off", ...more })
      const variants = [
        { name: "on", value: true },
        { name: "off", value: false },
      ]
      yield* flag("new-search", {
        type: "boolean",
        variants,
        targetings: [
          { name: "here", conditions: [{ attribute: "region", operator: "EQUALS", values: ["eu"] }], variant: "on" },
        ],
      })
      yield* flag("mine", {
        type: "boolean",
        variants,
        targetings: [
          {
            name: "me",
            conditions: [{ attribute: "targetingKey", operator: "EQUALS", values: ["prod"] }],
            variant: "on",
          },
        ],
      })
      yield* call("POST", "/signing-keys", { purpose: "offline" })
      const { body: next } = yield* call("POST", "/signing-keys", { purpose: "offline" })
      const { claims } = yield* issued({ context: { region: "eu", targetingKey: "another" } })
      assert.deepStrictEqual(claims.flags, { mine: true, "new-search": true })
      assert.deepStrictEqual(claims.zone, { slug: where.slug, type: "production" })
      assert.deepStrictEqual(claims.release, { slug: release.slug, version: "2.4.0" })
      assert.deepStrictEqual(Object.keys(claims.next), ["kty", "crv", "x", "kid"])
      assert.strictEqual(claims.next.kid, next.kid)
      assert.deepStrictEqual((yield* issued()).claims.flags, { mine: true, "new-search": false })
    }),
  )

  it.effect("has amounts as decimal texts of all digits, booleans and configurations", () =>
    Effect.gen(function* () {
      const { call, entitlement, grant, granted, sql, organizationId } = yield* openSite
      for (const [slug, value, more] of [
        ["projects", -1, { aggregationMethod: "LATEST" }],
        ["gigabytes", 0.3, {}],
        ["tokens", 7, {}],
        ["sso", true, { type: "BOOLEAN" }],
        ["export", false, { type: "BOOLEAN" }],
        ["support", { level: "gold", hours: 4 }, { type: "CONFIG" }],
      ] as const) {
        yield* entitlement(slug, more)
        yield* grant("pro", slug, value)
      }
      yield* entitlement("unlicensed")
      yield* sql`UPDATE license_entitlements SET value = '123456789012345678'
        WHERE organization_id = ${organizationId} AND value = '7'`
      yield* call("POST", "/instances/prod/entitlements/gigabytes/usage", { value: 0.1 })
      yield* call("POST", "/instances/prod/entitlements/gigabytes/reservations", { quantity: 0.15 })
      const grants = yield* granted()
      assert.deepStrictEqual(Object.keys(grants), ["export", "gigabytes", "projects", "sso", "support", "tokens"])
      assert.deepStrictEqual([grants.projects.limit, grants.projects.aggregation], ["-1", "LATEST"])
      // What a reservation holds is not free.
      assert.deepStrictEqual([grants.gigabytes.limit, grants.gigabytes.used], ["0.3", "0.25"])
      assert.strictEqual(grants.tokens.limit, "123456789012345678")
      assert.deepStrictEqual(grants.sso, { slug: "sso", type: "BOOLEAN", value: true })
      assert.deepStrictEqual(grants.export, { slug: "export", type: "BOOLEAN", value: false })
      assert.deepStrictEqual(grants.support, { slug: "support", type: "CONFIG", value: { level: "gold", hours: 4 } })
    }),
  )

  it.effect("does not grant seats, which only the service can count", () =>
    Effect.gen(function* () {
      const { entitlement, grant, granted } = yield* openSite
      yield* entitlement("editors", { aggregationMethod: "CONCURRENT" })
      yield* grant("pro", "editors", 5)
      assert.deepStrictEqual(yield* granted(), {})
    }),
  )

  it.effect("grants the least of what an override makes of its life, and all of one that outlives it", () =>
    Effect.gen(function* () {
      const { call, entitlement, grant, granted } = yield* openSite
      for (const [slug, value, more] of [
        ["raised", 100, {}],
        ["raised-long", 100, {}],
        ["cut-later", 100, {}],
        ["sso", false, { type: "BOOLEAN" }],
        ["support", { level: "gold" }, { type: "CONFIG" }],
        ["theme", { color: "red" }, { type: "CONFIG" }],
      ] as const) {
        yield* entitlement(slug, more)
        yield* grant("pro", slug, value)
      }
      yield* entitlement("lent")
      const override = Effect.fnUntraced(function* (slug: string, body: object) {
        const answer = yield* call("PUT", `/instances/prod/entitlements/${slug}/override`, body)
        assert.strictEqual(answer.status, 200, answer.text)
      })
      yield* override("raised", { mode: "ADD", value: 900, endsAt: inDays(20) })
      yield* override("raised-long", { mode: "ADD", value: 900, endsAt: inDays(50) })
      yield* override("cut-later", { mode: "SET", value: 10, startsAt: inDays(5) })
      yield* override("lent", { mode: "SET", value: 10, endsAt: inDays(20) })
      yield* override("sso", { mode: "SET", value: true, endsAt: inDays(20) })
      yield* override("support", { mode: "SET", value: { level: "platinum" }, endsAt: inDays(20) })
      yield* override("theme", { mode: "SET", value: { color: "blue" } })
      const grants = yield* granted()
      assert.strictEqual(grants.raised.limit, "100")
      assert.strictEqual(grants["raised-long"].limit, "1000")
      assert.strictEqual(grants["cut-later"].limit, "10")
      assert.strictEqual(grants.sso.value, false)
      assert.deepStrictEqual(grants.theme.value, { color: "blue" })
      // Nothing is granted behind the end, and of two configurations none is the lower one.
      assert.notProperty(grants, "lent")
      assert.notProperty(grants, "support")
      // A bundle that ends before has it all.
      const short = yield* granted({ ttlSeconds: 10 * DAY, graceSeconds: 0 })
      assert.deepStrictEqual(
        [short.raised.limit, short.lent.limit, short.sso.value, short.support.value],
        ["1000", "10", true, { level: "platinum" }],
      )
    }),
  )

  it.effect("never outlives the license and its grace period, which is the end that it names", () =>
    Effect.gen(function* () {
      const { call, issued } = yield* openSite
      const end = inDays(10)
      yield* call("PATCH", "/instances/prod", { endLicenseDate: end })
      const until = (instant: string) => Math.floor(Date.parse(instant) / 1000)
      const { claims } = yield* issued()
      assert.deepStrictEqual([claims.renew, claims.exp, claims.license.end], [until(end), until(end), end])
      yield* call("PATCH", "/instances/prod", { graceDays: 3 })
      const graceEnd = new Date(Date.parse(end) + 3 * DAY_MS).toISOString()
      const inGrace = (yield* issued()).claims
      assert.deepStrictEqual([inGrace.exp, inGrace.license.end], [until(graceEnd), graceEnd])
      yield* call("PATCH", "/instances/prod", { endLicenseDate: null })
      assert.isNull((yield* issued()).claims.license.end)
    }),
  )

  it.effect("is refused after the end of the license and its grace period, and not within", () =>
    Effect.gen(function* () {
      const { call, issue, issued } = yield* openSite
      yield* call("PATCH", "/instances/prod", { endLicenseDate: inDays(-2), graceDays: 1 })
      assert.deepStrictEqual(rejection(yield* issue()), [409, "IssueOfflineBundle.LicenseEnded"])
      yield* call("PATCH", "/instances/prod", { graceDays: 3 })
      // The refused one left no number out.
      assert.strictEqual((yield* issued()).sequence, 1)
    }),
  )

  it.effect("is valid from the start of a license on, and refused if it would end before", () =>
    Effect.gen(function* () {
      const { call, issue, issued } = yield* openSite
      yield* call("PATCH", "/instances/prod", { startLicenseDate: inDays(5) })
      const { claims } = yield* issued()
      assert.strictEqual(claims.nbf, Math.ceil(Date.parse(claims.license.start) / 1000))
      assert.isBelow(claims.iat, claims.nbf)
      const refused = yield* issue({ ttlSeconds: 3_600, graceSeconds: 0 })
      assert.deepStrictEqual([refused.status, refused.body.errors[0].location], [422, "body.ttlSeconds"])
    }),
  )

  it.effect("is bound to machines by fingerprints", () =>
    Effect.gen(function* () {
      const { issue, issued } = yield* openSite
      const of = ["disk", "board", "network"].map(fingerprint)
      const binding = { match: 2, of }
      const bound = yield* issued({ binding })
      assert.deepStrictEqual([bound.binding, bound.claims.binding], [binding, binding])
      for (const [wrong, place] of [
        [{ match: 4, of }, "body.binding.match"],
        [{ match: 0, of }, "body.binding.match"],
        [{ match: 1, of: [] }, "body.binding.of"],
        [{ match: 1, of: [of[0], of[0]] }, "body.binding.of"],
        [{ match: 1, of: [`${of[0]?.slice(0, -1)}B`] }, "body.binding.of[0]"],
        [{ match: 1, of: ["serial-number-4711"] }, "body.binding.of[0]"],
      ] as const) {
        const refused = yield* issue({ binding: wrong })
        assert.deepStrictEqual([refused.status, refused.body.errors[0].location], [422, place], refused.text)
      }
    }),
  )

  it.effect("is refused with times out of range", () =>
    Effect.gen(function* () {
      const { issue } = yield* openSite
      for (const [body, place] of [
        [{ ttlSeconds: 3_599 }, "body.ttlSeconds"],
        [{ ttlSeconds: 34_560_001 }, "body.ttlSeconds"],
        [{ ttlSeconds: 3_600.5 }, "body.ttlSeconds"],
        [{ graceSeconds: -1 }, "body.graceSeconds"],
        [{ graceSeconds: 7_776_001 }, "body.graceSeconds"],
      ] as const) {
        const refused = yield* issue(body)
        assert.deepStrictEqual([refused.status, refused.body.errors[0].location], [422, place])
      }
      const longest = yield* issue({ ttlSeconds: 34_560_000, graceSeconds: 7_776_000 })
      assert.strictEqual(longest.status, 201)
    }),
  )

  it.effect("is refused if it is larger than verifiers read, and its number is not left out", () =>
    Effect.gen(function* () {
      const { call, entitlement, grant, issue, issued } = yield* openSite
      for (let index = 0; index < 14; index++) {
        yield* entitlement(`config-${index}`, { type: "CONFIG" })
        yield* grant("pro", `config-${index}`, { text: "x".repeat(15_000) })
      }
      const refused = yield* issue()
      assert.deepStrictEqual([refused.status, refused.body.errors[0].location], [422, "body"], refused.text)
      yield* call("DELETE", "/licenses/pro/entitlements/config-13")
      const large = yield* issued()
      assert.strictEqual(large.sequence, 1)
      assert.isAtMost(large.bundle.length, 262_144)
    }),
  )

  it.effect("of fifty at once has each number from 1 to 50, and all are signed by one key", () =>
    Effect.gen(function* () {
      const { call, events, issue, path } = yield* openSite
      const answers = yield* Effect.replicateEffect(issue(), 50, { concurrency: 50 })
      assert.deepStrictEqual(
        answers.map(({ body }) => body.sequence).toSorted((one, other) => one - other),
        Array.from({ length: 50 }, (_, index) => index + 1),
      )
      assert.strictEqual(new Set(answers.map(({ body }) => body.keyId)).size, 1)
      assert.strictEqual((yield* call("GET", "/signing-keys")).body.items.length, 1)
      assert.strictEqual((yield* events).length, 50)
      const [first, second] = [yield* call("GET", `${path}?limit=30`), yield* call("GET", `${path}?limit=200`)]
      const rest = yield* call("GET", `${path}?limit=30&cursor=${first.body.nextCursor}`)
      assert.deepStrictEqual([...first.body.items, ...rest.body.items], second.body.items)
      assert.strictEqual(second.body.items[0].sequence, 50)
      assert.notProperty(second.body.items[0], "bundle")
    }),
  )

  it.effect(
    "needs write:licenses, so that a product that reports usage cannot issue it; its license key reads it",
    () =>
      Effect.gen(function* () {
        const { call, issue, issued, path, service, tenant } = yield* openSite
        const product = yield* service.tokenWith(tenant, ["write:instances", "read:licenses"])
        const refused = yield* service.core("POST", path, { token: product })
        assert.deepStrictEqual(rejection(refused), [403, "Auth.MissingScope"])
        const { bundle, id } = yield* issued()
        const { body: key } = yield* call("POST", "/instances/prod/keys", { name: "site", scopes: ["read:licenses"] })
        const read = yield* service.core("GET", `${path}/${id}`, { token: key.token })
        assert.strictEqual(read.body.bundle, bundle)
        assert.deepStrictEqual(rejection(yield* issue({}, "unknown")), [404, "Instance.NotFound"])
      }),
  )

  it.effect("is issued once for a repeated request with the same key", () =>
    Effect.gen(function* () {
      const { path, service, tenant } = yield* openSite
      const once = service.core("POST", path, { token: tenant.token, body: {}, headers: { "idempotency-key": "a" } })
      const [first, again] = [yield* once, yield* once]
      assert.deepStrictEqual([again.status, again.body], [201, first.body])
    }),
  )
})
