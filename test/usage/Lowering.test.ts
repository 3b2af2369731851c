import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"
import type { HttpResponse } from "../support/TestService.ts"
import { daysAgo, openMeteredShop } from "./MeteredShop.ts"

const DENIED = [403, "Auth.MissingScope"]
const METHODS = ["SUM", "COUNT", "AVERAGE", "MIN", "MAX", "LATEST"]

const verdict = ({ body, status }: HttpResponse) => (status < 300 ? [status] : [status, body.code])
const codesOf = ({ body }: HttpResponse) =>
  body.results.map(({ code, status }: { code?: string; status: string }) => code ?? status)

const openSite = Effect.gen(function* () {
  const shop = yield* openMeteredShop
  const { core, tokenWith } = yield* TestService
  const { body: key } = yield* shop.call("POST", "/instances/prod/keys", { name: "on site" })
  const backend = yield* tokenWith(shop.tenant, ["write:instances"])
  const report = (body: unknown, { headers = {}, slug = "calls", token = String(key.token) } = {}) =>
    core("POST", `/instances/prod/entitlements/${slug}/usage`, { token, body, headers })
  let sent = 0
  const event = (value: unknown, id = `e${sent++}`) =>
    ({ specversion: "1.0", id, source: "/site", type: "calls", subject: "prod", data: { value } }) as const
  const send = (body: unknown, { headers = {}, token = String(key.token) } = {}) =>
    core("POST", "/usage-events", { token, body, headers })
  return { ...shop, core, key: String(key.token), backend, report, event, send }
})

layer(TestService.layer, { excludeTestServices: true })("a license key", (it) => {
  it.effect("cannot report a negative value, in whatever spelling and way; other credentials can", () =>
    Effect.gen(function* () {
      const { backend, core, event, key, metered, report, send, used } = yield* openSite
      yield* metered("calls", 1_000)
      yield* report({ value: 500 })
      const bodies = [
        { value: -500 },
        { value: -1e-7 },
        { value: { type: "number", value: -5 } },
        { value: -5, transactionId: "t" },
        { value: -5, timestamp: daysAgo(1) },
        { value: -501 },
      ]
      for (const body of bodies) {
        assert.deepStrictEqual(verdict(yield* report(body)), DENIED)
        assert.deepStrictEqual(verdict(yield* report(body, { headers: { "idempotency-key": "k" } })), DENIED)
      }
      const events: ReadonlyArray<unknown> = [-500, "-500", -0.5, "-1e2"]
      for (const value of events) {
        for (const headers of [{}, { "idempotency-key": "k2" }, { "content-type": "application/cloudevents+json" }]) {
          assert.deepStrictEqual(verdict(yield* send(event(value), { headers })), DENIED)
        }
      }
      const { data, ...attributes } = event(-3)
      const binary = yield* core("POST", "/usage-events", {
        token: key,
        body: data,
        headers: Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`ce-${name}`, value])),
      })
      assert.deepStrictEqual(verdict(binary), DENIED)
      assert.strictEqual(yield* used("calls"), 500)

      // What was denied took no id, and the vendor's own credentials are as before.
      assert.deepStrictEqual(verdict(yield* report({ value: -5, transactionId: "t" }, { token: backend })), [200])
      assert.deepStrictEqual(verdict(yield* send(event(-5, attributes.id), { token: backend })), [200])
      assert.strictEqual(yield* used("calls"), 490)
    }),
  )

  it.effect("counts the other events of a batch in which one is negative", () =>
    Effect.gen(function* () {
      const { backend, event, metered, send, used } = yield* openSite
      yield* metered("calls", 1_000)
      const batch = [event(100), event(-50), event(7)]
      assert.deepStrictEqual(codesOf(yield* send(batch)), ["accepted", "Auth.MissingScope", "accepted"])
      const headers = { "idempotency-key": "k" }
      const keyed = yield* send([event(-1), event(1)], { headers })
      assert.deepStrictEqual(codesOf(keyed), ["Auth.MissingScope", "accepted"])
      assert.strictEqual(yield* used("calls"), 108)
      assert.deepStrictEqual(codesOf(yield* send(batch, { token: backend })), ["duplicate", "accepted", "duplicate"])
      assert.strictEqual(yield* used("calls"), 58)
    }),
  )

  it.effect("cannot set to less than what is counted, but to the same or more", () =>
    Effect.gen(function* () {
      const { backend, metered, report, used } = yield* openSite
      for (const aggregationMethod of METHODS) {
        const slug = aggregationMethod.toLowerCase()
        yield* metered(slug, 1_000, { aggregationMethod })
        yield* report({ value: 10, behavior: "set", timestamp: daysAgo(2) }, { slug, token: backend })
        const set = (value: number, more: object = {}) =>
          Effect.map(report({ value, behavior: "set", ...more }, { slug }), verdict)
        const less = aggregationMethod === "LATEST" ? [200] : DENIED
        assert.deepStrictEqual(
          [yield* set(10), yield* set(12), yield* set(0), yield* set(11.5, { transactionId: "t" })],
          [[200], [200], less, less],
          aggregationMethod,
        )
        // Set before what was counted last: it keeps that, and takes away what was before.
        if (aggregationMethod === "SUM") {
          assert.deepStrictEqual(yield* set(0, { timestamp: daysAgo(1) }), [200], "replaced by a later set")
          yield* report({ value: 3 }, { slug })
          assert.deepStrictEqual(yield* set(14), DENIED)
          assert.deepStrictEqual(yield* set(15), [200])
        }
        assert.deepStrictEqual(verdict(yield* report({ value: 0, behavior: "set" }, { slug, token: backend })), [200])
        assert.strictEqual(yield* used(slug), 0)
      }
    }),
  )

  it.effect("cannot set for a later time, because that leaves out what is counted until then", () =>
    Effect.gen(function* () {
      const { backend, metered, report, used } = yield* openSite
      yield* metered("calls", 1_000)
      yield* report({ value: 5 })
      const later = { value: 5, behavior: "set", timestamp: new Date(Date.now() + 120_000).toISOString() }
      assert.deepStrictEqual(verdict(yield* report(later)), DENIED)
      yield* report({ value: 5 })
      assert.strictEqual(yield* used("calls"), 10)
      assert.deepStrictEqual(verdict(yield* report({ ...later, value: 1 }, { token: backend })), [200])
    }),
  )

  it.effect("may report a lower measurement", () =>
    Effect.gen(function* () {
      const { metered, report, used } = yield* openSite
      for (const aggregationMethod of ["LATEST", "MIN", "AVERAGE", "MAX"]) {
        const slug = aggregationMethod.toLowerCase()
        yield* metered(slug, 1_000, { aggregationMethod })
        for (const value of [10, 4]) assert.deepStrictEqual(verdict(yield* report({ value }, { slug })), [200])
      }
      const values = [yield* used("latest"), yield* used("min"), yield* used("average"), yield* used("max")]
      assert.deepStrictEqual(values, [4, 4, 7, 10])
      yield* metered("users", 10, { aggregationMethod: "UNIQUE_COUNT" })
      assert.deepStrictEqual(verdict(yield* report({ value: -1, uniqueKey: "anna" }, { slug: "users" })), [200])
      assert.strictEqual(yield* used("users"), 1)
    }),
  )

  it.effect("cannot lower usage by a race of sets and reports", () =>
    Effect.gen(function* () {
      const { backend, metered, report } = yield* openSite
      yield* metered("calls", 100_000)
      const sets = Array.from({ length: 10 }, () => report({ value: 5, behavior: "set" }))
      const reports = Array.from({ length: 10 }, () => report({ value: 1 }, { token: backend }))
      const answers = yield* Effect.all(
        sets.flatMap((set, index) => [set, reports[index] ?? set]),
        { concurrency: "unbounded" },
      )
      for (const answer of answers) assert.include([200, 403], answer.status, answer.text)
      // In the order in which they were counted, the total never falls.
      const totals = answers
        .flatMap(({ body, status }) => (status === 200 ? [body.usageValue] : []))
        .toSorted((one, other) => one.event_count - other.event_count)
        .map(({ value }) => value)
      assert.deepStrictEqual(
        totals,
        totals.toSorted((one, other) => one - other),
      )
    }),
  )

  it.effect("cannot void an event, nor consume or commit less than nothing", () =>
    Effect.gen(function* () {
      const { backend, core, key, metered, report, used } = yield* openSite
      yield* metered("calls", 1_000)
      yield* report({ value: 9 })
      const path = "/instances/prod/entitlements/calls"
      const { body } = yield* core("GET", `${path}/usage/events`, { token: key })
      const voided = (token: string) => core("DELETE", `${path}/usage/events/${body.items[0].id}`, { token })
      assert.deepStrictEqual([verdict(yield* voided(key)), verdict(yield* voided(backend))], [DENIED, DENIED])
      const consume = { consume: true, checks: [{ entitlement: "calls", requested: -9 }] }
      assert.strictEqual((yield* core("POST", "/instances/prod/check", { token: key, body: consume })).status, 422)
      const reserved = yield* core("POST", `${path}/reservations`, { token: key, body: { quantity: 5 } })
      const commit = (quantity: number) =>
        core("POST", `/reservations/${reserved.body.id}/commit`, { token: key, body: { quantity } })
      assert.deepStrictEqual([(yield* commit(-1)).status, (yield* commit(2)).status], [422, 200])
      assert.strictEqual(yield* used("calls"), 11)
    }),
  )
})
