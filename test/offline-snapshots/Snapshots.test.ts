import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { createLocalJWKSet, jwtVerify } from "jose"
import { Snapshots } from "../../src/domains/offline/snapshots/Service.ts"
import { DAY_MS, HOUR_MS } from "../../src/kernel/values/Timestamp.ts"
import { answer, verifyBundle } from "../../src/offline/index.ts"
import type { CheckAnswer } from "../../src/offline/index.ts"
import { at, headerOf, inDays, iso, openSite, payloadOf, rejection } from "../offline-bundles/Site.ts"
import { TestService } from "../support/TestService.ts"

const WEEK = 604_800

const open = Effect.gen(function* () {
  const site = yield* openSite
  const { service, tenant } = site
  const snapshots = yield* Snapshots
  const fetch = (headers: Record<string, string> = {}, token = tenant.token, slug = "prod") =>
    service.core("GET", `/instances/${slug}/snapshot`, { token, headers })
  return {
    ...site,
    fetch,
    /** The verified claims of a snapshot of now. */
    snapshot: Effect.flatMap(fetch(), (response) => {
      assert.strictEqual(response.status, 200, response.text)
      return Effect.map(site.verified(response.text), ({ claims }) => claims)
    }),
    /** The claims of a snapshot of another instant. */
    snapshotAt: (millis: number) =>
      at(millis)(site.asCaller(snapshots.read("prod"))).pipe(Effect.map(({ token = "" }) => payloadOf(token))),
    check: (body: object) => site.call("POST", "/instances/prod/check", body),
    allEvents: Effect.map(site.call("GET", "/events?limit=200"), ({ body }) => body.items.length as number),
  }
})

type Entry = Readonly<Record<string, unknown>> & { readonly slug: string }

const bySlug = (claims: { entitlements: ReadonlyArray<Entry> }): Record<string, Entry | undefined> =>
  Object.fromEntries(claims.entitlements.map((each) => [each.slug, each]))

layer(TestService.layer, { excludeTestServices: true })("a snapshot", (it) => {
  it.effect("says what a bundle says, and what a product needs that is connected", () =>
    Effect.gen(function* () {
      const { entitlement, fetch, grant, instance, organizationId, verified } = yield* open
      yield* entitlement("exports", { aggregationMethod: "COUNT", resetPeriod: "DAY", resetAnchor: "CALENDAR" })
      yield* grant("pro", "exports", 500, 10)
      const response = yield* fetch()
      assert.strictEqual(response.status, 200, response.text)
      assert.strictEqual(response.headers.get("content-type"), "application/jwt")
      assert.strictEqual(response.headers.get("cache-control"), "private, max-age=30")
      const { claims, header } = yield* verified(response.text)
      assert.strictEqual(headerOf(response.text).typ, "keyshelf-bundle+jwt")
      const { entitlements, iat, jti, periods, ...rest } = claims
      assert.match(response.headers.get("etag") ?? "", new RegExp(`^"[\\w-]{43}\\.${iat}"$`))
      assert.strictEqual(new Date(Number(iat) * 1000).getUTCFullYear(), new Date().getUTCFullYear())
      assert.match(jti, /^[0-9a-f-]{36}$/)
      assert.deepStrictEqual(rest, {
        v: 1,
        iss: `urn:keyshelf:organization:${organizationId}`,
        sub: instance.id,
        seq: 1,
        nbf: iat,
        renew: iat + 600,
        exp: iat + WEEK,
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
        usage: { until: iat + WEEK + 90 * 86_400 },
        complete: true,
        away: { then: "DENY" },
      })
      const today = `${iso(iat * 1000).slice(0, 10)}T00:00:00.000Z`
      const exports = { slug: "exports", type: "NUMBER", limit: "500", overagePercent: "10", aggregation: "COUNT" }
      assert.deepStrictEqual(entitlements, [{ ...exports, used: "0", usedFrom: today, period: "DAY/CALENDAR" }])
      assert.deepStrictEqual(periods, { "DAY/CALENDAR": { from: today, every: 86_400 } })

      // A plain JWT library and our verifier accept it.
      const { keys } = (yield* (yield* TestService).core("GET", `/offline/${organizationId}/keys`)).body
      assert.strictEqual(keys[0].kid, header.kid)
      yield* Effect.promise(() => jwtVerify(response.text, createLocalJWKSet({ keys })))
      const verification = yield* Effect.promise(() =>
        verifyBundle(response.text, { keys: { keys }, issuer: rest.iss, instance: "prod", families: ["pro"] }),
      )
      assert.strictEqual(verification.status, "VALID")
    }),
  )

  it.effect("leaves no row, no event and no number, but for the key that the first one creates", () =>
    Effect.gen(function* () {
      const { allEvents, fetch, issued, snapshot, sql, organizationId } = yield* open
      const before = yield* allEvents
      yield* fetch()
      assert.strictEqual(yield* allEvents, before + 1)
      const [one, other] = [yield* snapshot, yield* snapshot]
      assert.notStrictEqual(one.jti, other.jti)
      assert.strictEqual(yield* allEvents, before + 1)
      assert.deepStrictEqual(yield* sql`SELECT 1 FROM offline_bundles WHERE organization_id = ${organizationId}`, [])
      assert.strictEqual((yield* issued()).sequence, 1)
    }),
  )

  it.effect("has the number of the newest bundle, and of the next one if that is void or no longer stored", () =>
    Effect.gen(function* () {
      const { call, issued, organizationId, path, snapshot, sql } = yield* open
      const number = Effect.map(snapshot, ({ seq }) => seq)
      assert.strictEqual(yield* number, 1)
      const first = yield* issued()
      assert.strictEqual(yield* number, 1)
      const second = yield* issued()
      assert.strictEqual(yield* number, 2)
      yield* call("DELETE", `${path}/${first.id}`)
      assert.strictEqual(yield* number, 2)
      yield* call("DELETE", `${path}/${second.id}`)
      assert.strictEqual(yield* number, 3)
      assert.strictEqual((yield* issued()).sequence, 3)
      assert.strictEqual(yield* number, 3)
      yield* sql`DELETE FROM offline_bundles WHERE organization_id = ${organizationId}`
      assert.strictEqual(yield* number, 4)
    }),
  )

  it.effect("is confirmed while it says the same, and signed again once an answer differs", () =>
    Effect.gen(function* () {
      const { call, entitlement, fetch, grant } = yield* open
      yield* entitlement("exports")
      yield* grant("pro", "exports", 10)
      const first = yield* fetch()
      const etag = first.headers.get("etag") ?? ""
      const again = fetch({ "if-none-match": etag })
      const confirmed = yield* again
      assert.deepStrictEqual([confirmed.status, confirmed.text, confirmed.headers.get("etag")], [304, "", etag])
      assert.strictEqual(confirmed.headers.get("cache-control"), "private, max-age=30")
      yield* call("POST", "/instances/prod/entitlements/exports/usage", { value: 4 })
      assert.strictEqual((yield* again).status, 304)
      yield* call("POST", "/instances/prod/entitlements/exports/usage", { value: 6 })
      const reached = yield* again
      assert.strictEqual(reached.status, 200)
      assert.deepInclude(bySlug(payloadOf(reached.text))["exports"], { used: "10" })
      const old = etag.replace(/\d+"$/, (iat) => `${Number.parseInt(iat) - 301}"`)
      assert.strictEqual((yield* fetch({ "if-none-match": old })).status, 200)
      assert.strictEqual((yield* fetch({ "if-none-match": "*" })).status, 200)
    }),
  )

  it.effect("lists each entitlement, also seats and what is not granted, with what is held", () =>
    Effect.gen(function* () {
      const { call, entitlement, grant, issued, snapshot } = yield* open
      yield* entitlement("exports", { resetPeriod: "DAY" })
      yield* grant("pro", "exports", 100)
      yield* entitlement("nothing")
      yield* entitlement("seats", { aggregationMethod: "CONCURRENT" })
      yield* grant("pro", "seats", 5)
      yield* entitlement("sso", { type: "BOOLEAN" })
      yield* entitlement("theme", { type: "CONFIG" })
      yield* call("POST", "/instances/prod/entitlements/exports/usage", { value: 7 })
      const reserved = yield* call("POST", "/instances/prod/entitlements/exports/reservations", { quantity: 20 })
      assert.strictEqual(reserved.status, 201, reserved.text)
      yield* issued({ allowances: [{ entitlement: "exports", quantity: 30 }] })
      const seat = yield* call("POST", "/instances/prod/entitlements/seats/leases", { holder: "ada", ttlSeconds: 600 })
      assert.isBelow(seat.status, 300, seat.text)
      const claims = yield* snapshot
      const entries = bySlug(claims)
      assert.deepStrictEqual(Object.keys(entries), ["exports", "nothing", "seats", "sso", "theme"])
      assert.deepInclude(entries["exports"], { used: "57", held: "50" })
      assert.deepInclude(entries["nothing"], { limit: null, used: "0" })
      assert.notProperty(entries["nothing"], "held")
      assert.deepInclude(entries["seats"], { limit: "5", used: "1", aggregation: "CONCURRENT", period: "LIFETIME" })
      assert.deepStrictEqual(entries["sso"], { slug: "sso", type: "BOOLEAN", value: false })
      assert.deepStrictEqual(entries["theme"], { slug: "theme", type: "CONFIG", value: null })
      const checks = Object.keys(entries).map((slug) => ({ entitlement: slug }))
      const { body } = yield* call("POST", "/instances/prod/check", { checks })
      const local = answer(claims, checks)
      const comparable = ({ allowed, entitlement: slug, reason, remaining }: CheckAnswer) => [
        slug,
        allowed,
        reason,
        String(remaining),
      ]
      assert.deepStrictEqual(local.checks.map(comparable), body.checks.map(comparable))
    }),
  )

  it.effect("knows before when an override begins, and when the term and its grace end", () =>
    Effect.gen(function* () {
      const { call, check, entitlement, grant, snapshotAt } = yield* open
      yield* entitlement("exports", { resetPeriod: "DAY" })
      yield* grant("pro", "exports", 10)
      const now = Math.floor(Date.now() / 1000) * 1000
      const [begins, ends] = [now + HOUR_MS, now + 2 * HOUR_MS]
      const put = yield* call("PUT", "/instances/prod/entitlements/exports/override", {
        mode: "SET",
        value: 50,
        startsAt: iso(begins),
        endsAt: iso(ends),
      })
      assert.isBelow(put.status, 300, put.text)
      yield* call("PUT", "/licenses/pro", { away: { staleSeconds: 20 * 86_400 } })
      yield* call("PATCH", "/instances/prod", { endLicenseDate: iso(now + DAY_MS), graceDays: 2 })
      const claims = yield* snapshotAt(now + 1)
      assert.deepStrictEqual(bySlug(claims)["exports"]?.["grants"], [
        { from: iso(begins), limit: "50", overagePercent: "0" },
        { from: iso(ends), limit: "10", overagePercent: "0" },
      ])
      assert.strictEqual(claims.exp - claims.iat, 20 * 86_400)
      const instants = [
        begins - 1,
        begins,
        ends - 1,
        ends,
        now + DAY_MS - 1,
        now + DAY_MS,
        now + 3 * DAY_MS - 1,
        now + 3 * DAY_MS,
      ]
      const reasons: Array<string> = []
      for (const millis of instants) {
        const checks = [{ entitlement: "exports", requested: 20 }]
        const { body } = yield* check({ checks, at: iso(millis) })
        const local = answer(claims, checks, iso(millis))
        const [served, decided] = [body.checks[0], local.checks[0]]
        const text = iso(millis)
        assert.deepStrictEqual([decided?.reason, decided?.limit], [served.reason, String(served.limit)], text)
        assert.strictEqual(local.graceEndsAt, body.graceEndsAt, text)
        reasons.push(served.reason)
      }
      assert.deepStrictEqual([...new Set(reasons)].toSorted(), ["GRANTED", "LICENSE_EXPIRED", "LIMIT_REACHED"])
      // A snapshot from within the override has the license's limit for readers that know no grants.
      const within = yield* snapshotAt(begins + 1)
      assert.deepInclude(bySlug(within)["exports"], { limit: "10" })
      assert.strictEqual(
        answer(within, [{ entitlement: "exports", requested: 20 }], iso(begins + 1)).checks[0]?.reason,
        "GRANTED",
      )
    }),
  )

  it.effect("exists before the license starts and after it ends, and denies by its dates", () =>
    Effect.gen(function* () {
      const { call, snapshot } = yield* open
      yield* call("PATCH", "/instances/prod", { startLicenseDate: inDays(30), endLicenseDate: inDays(60) })
      const early = yield* snapshot
      assert.isAbove(early.nbf, early.exp)
      yield* call("PATCH", "/instances/prod", { startLicenseDate: inDays(-60), endLicenseDate: inDays(-30) })
      const late = yield* snapshot
      assert.isBelow(Date.parse(late.license.end), late.iat * 1000)
    }),
  )

  it.effect("of ten entitlements without rules has at most 4,096 characters", () =>
    Effect.gen(function* () {
      const { call, entitlement, fetch, grant, service, tenant, zone } = yield* open
      for (let index = 0; index < 8; index++) {
        yield* entitlement(`entitlement-${index}`, { resetPeriod: index % 2 === 0 ? "MONTH" : "DAY" })
        yield* grant("pro", `entitlement-${index}`, 100_000 * index, 10)
      }
      yield* entitlement("sso", { type: "BOOLEAN" })
      yield* grant("pro", "sso", true)
      yield* entitlement("support", { type: "CONFIG" })
      yield* grant("pro", "support", { level: "gold", hours: 4 })
      const { body: release } = yield* call("POST", "/releases", { version: "2.4.0" })
      const where = yield* zone("Berlin")
      yield* call("PUT", `/deployment-zones/${where.slug}`, { releaseId: release.id })
      yield* call("PATCH", "/instances/prod", { deploymentZoneId: where.id })
      yield* call("POST", "/signing-keys", { purpose: "offline" })
      yield* call("POST", "/signing-keys", { purpose: "offline" })
      const token = yield* service.tokenWith(tenant, ["read:instances"])
      const { text } = yield* fetch({}, token)
      assert.strictEqual(payloadOf(text).entitlements.length, 10)
      assert.isAtMost(text.length, 4_096)
    }),
  )
})

layer(TestService.layer, { excludeTestServices: true })("the rules of a snapshot", (it) => {
  it.effect("come with the scope of flags, reduced for the instance: names of other customers never leave", () =>
    Effect.gen(function* () {
      const { call, fetch, issued, service, tenant } = yield* open
      const variants = [
        { name: "on", value: true },
        { name: "off", value: false },
      ]
      const of = (name: string, attribute: string, values: ReadonlyArray<string>, variant: string) => ({
        name,
        conditions: [
          { attribute, operator: "IN", values },
          { attribute: "country", operator: "EQUALS", values: ["de"] },
        ],
        variant,
      })
      const created = yield* call("POST", "/feature-flags", {
        key: "new-search",
        type: "boolean",
        variants,
        defaultVariant: "off",
        targetings: [
          of("others", "keyshelf.customer.slug", ["initech", "umbrella"], "on"),
          of("ours", "keyshelf.customer.slug", ["initech", "globex"], "on"),
        ],
      })
      assert.strictEqual(created.status, 201, created.text)
      const { text } = yield* fetch()
      const rules = [
        {
          key: "new-search",
          metadata: {},
          targetings: [
            {
              name: "ours",
              conditions: [{ attribute: "country", operator: "EQUALS", values: ["de"] }],
              value: true,
              variant: "on",
            },
          ],
          otherwise: { value: false, variant: "off", reason: "STATIC" },
        },
      ]
      assert.deepStrictEqual(payloadOf(text).rules, rules)
      assert.notInclude(JSON.stringify(payloadOf(text)), "initech")
      assert.notInclude(JSON.stringify(payloadOf(text)), "umbrella")
      assert.deepStrictEqual((yield* issued()).claims.rules, rules)
      const without = yield* fetch({}, yield* service.tokenWith(tenant, ["read:instances"]))
      assert.notProperty(payloadOf(without.text), "rules")
    }),
  )

  it.effect("are left out above 64 KiB, and what is too long without them is 422", () =>
    Effect.gen(function* () {
      const { call, entitlement, fetch, grant } = yield* open
      const value = { text: "x".repeat(16_000) }
      for (let index = 0; index < 5; index++) {
        yield* call("POST", "/feature-flags", {
          key: `long-${index}`,
          type: "object",
          variants: [{ name: "on", value }],
          defaultVariant: "on",
        })
      }
      assert.notProperty(payloadOf((yield* fetch()).text), "rules")
      for (let index = 0; index < 13; index++) {
        yield* entitlement(`config-${index}`, { type: "CONFIG" })
        yield* grant("pro", `config-${index}`, value)
      }
      const refused = yield* fetch()
      assert.deepStrictEqual(rejection(refused), [422, "Request.ValidationFailed"])
      assert.strictEqual(refused.body.errors[0].location, "path.instanceSlug")
    }),
  )
})

layer(TestService.layer, { excludeTestServices: true })("who reads a snapshot", (it) => {
  it.effect("is a license key of the instance, and nobody of another instance or organization", () =>
    Effect.gen(function* () {
      const { call, fetch, service } = yield* open
      const other = yield* call("POST", "/instances", {
        name: "Other",
        slug: "other",
        customerSlug: "globex",
        licenseSlug: "pro",
        startLicenseDate: inDays(-1),
        endLicenseDate: null,
      })
      assert.strictEqual(other.status, 201, other.text)
      const { body: key } = yield* call("POST", "/instances/prod/keys", { name: "product" })
      const own = yield* fetch({}, key.token)
      assert.strictEqual(own.status, 200, own.text)
      assert.deepStrictEqual(rejection(yield* fetch({}, key.token, "other")), [404, "Instance.NotFound"])
      assert.deepStrictEqual(rejection(yield* fetch({}, undefined, "nowhere")), [404, "Instance.NotFound"])
      const stranger = yield* service.tenant()
      assert.deepStrictEqual(rejection(yield* fetch({}, stranger.token)), [404, "Instance.NotFound"])
    }),
  )

  it.effect("waits for a content that is built after the request came: many at once get the same one", () =>
    Effect.gen(function* () {
      const { entitlement, fetch, grant, snapshot } = yield* open
      yield* entitlement("exports")
      yield* snapshot
      const waiting = yield* Effect.forkChild(
        Effect.all(
          Array.from({ length: 20 }, () => fetch()),
          { concurrency: 20 },
        ),
      )
      yield* grant("pro", "exports", 10)
      const { entitlements } = yield* snapshot
      assert.strictEqual(entitlements[0].limit, "10")
      const responses = yield* Fiber.join(waiting)
      assert.isTrue(responses.every(({ status }) => status === 200))
      assert.isBelow(new Set(responses.map(({ text }) => text)).size, 20)
    }),
  )
})

layer(TestService.layer, { excludeTestServices: true })("what a license says of a product that is away", (it) => {
  it.effect("is a week and DENY by default, is changed property by property, and is in each snapshot", () =>
    Effect.gen(function* () {
      const { call, snapshot } = yield* open
      const away = Effect.map(call("GET", "/licenses/pro"), ({ body }) => body.away)
      assert.deepStrictEqual(yield* away, { staleSeconds: WEEK, then: "DENY" })
      const changed = yield* call("PUT", "/licenses/pro", { away: { then: "ALLOW" } })
      assert.isBelow(changed.status, 300, changed.text)
      assert.deepStrictEqual(yield* away, { staleSeconds: WEEK, then: "ALLOW" })
      yield* call("PUT", "/licenses/pro", { away: { staleSeconds: 600 } })
      yield* call("PUT", "/licenses/pro", { name: "Pro" })
      assert.deepStrictEqual(yield* away, { staleSeconds: 600, then: "ALLOW" })
      const { away: told, exp, iat } = yield* snapshot
      assert.deepStrictEqual([told, exp - iat], [{ then: "ALLOW" }, 600])
      for (const [body, place] of [
        [{ staleSeconds: 599 }, "body.away.staleSeconds"],
        [{ staleSeconds: 7_776_001 }, "body.away.staleSeconds"],
        [{ then: "MAYBE" }, "body.away.then"],
      ] as const) {
        const refused = yield* call("PUT", "/licenses/pro", { away: body })
        assert.deepStrictEqual([refused.status, refused.body.errors[0].location], [422, place])
      }
      const created = yield* call("POST", "/licenses", {
        name: "Edge",
        type: "PAID",
        away: { staleSeconds: 7_776_000, then: "ALLOW" },
      })
      assert.deepStrictEqual(created.body.away, { staleSeconds: 7_776_000, then: "ALLOW" })
      const { body } = yield* call("GET", "/events?limit=200")
      const texts = body.items.map((event: unknown) => JSON.stringify(event)) as ReadonlyArray<string>
      assert.isTrue(texts.some((text) => text.includes("LICENSE_UPDATED") && text.includes(`"then":"ALLOW"`)))
    }),
  )
})
