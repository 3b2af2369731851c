import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { CreditExpiry } from "../../src/domains/usage/credits/Expiry.ts"
import { rejection } from "../instances/Shop.ts"
import { MovableClock } from "../support/MovableClock.ts"
import { TestService } from "../support/TestService.ts"
import { openMeteredShop } from "./MeteredShop.ts"

const HOUR = 3_600_000

// Credits start and expire by time. Only the clock of this service moves.
const service = TestService.separate.pipe(Layer.provideMerge(MovableClock.layer))

/** A shop with an instance that is granted 10 calls a year. */
const openShop = Effect.gen(function* () {
  const shop = yield* openMeteredShop
  const clock = yield* MovableClock
  const sql = yield* PgClient.PgClient
  const calls = yield* shop.metered("calls", 10, { resetPeriod: "YEAR" })
  const { call, instance, tenant } = shop
  const PATH = "/instances/prod/entitlements/calls/credits"
  const { organizationId } = tenant

  return {
    ...shop,
    calls,
    clock,
    PATH,
    hoursFrom: (hours: number) => new Date(clock.now() + hours * HOUR).toISOString(),
    add: (body: object, path = PATH) =>
      Effect.map(call("POST", path, body), ({ body: credit, status, text }) => {
        assert.strictEqual(status, 201, text)
        return credit
      }),
    checked: (more: object = {}, requested = 1, slug = "calls") =>
      Effect.map(
        call("POST", "/instances/prod/check", { checks: [{ entitlement: slug, requested }], ...more }),
        ({ body }) => body.checks[0],
      ),
    listed: (query = "") =>
      Effect.map(call("GET", `${PATH}?${query}`), ({ body }) =>
        body.items.map(({ reason }: { reason: string }) => reason),
      ),
    eventTypes: Effect.map(call("GET", "/events?limit=200"), ({ body }) =>
      body.items.map(({ type }: { type: string }) => type).filter((type: string) => type.startsWith("CREDIT_")),
    ),
    /** Usage of an event, and what a credit paid of it. */
    burned: Effect.fnUntraced(function* (id: string, value: number, quantity: number, at: string) {
      yield* sql`
        INSERT INTO usage_totals (organization_id, instance_id, entitlement_id, period_start, value, event_count, burned, last_at)
        VALUES (${organizationId}, ${instance.id}, ${calls.id}, ${`${at.slice(0, 4)}-01-01T00:00:00Z`}, ${value}, 1, ${quantity}, ${at})`
      yield* sql`
        INSERT INTO usage_events (organization_id, instance_id, entitlement_id, period_start, ordinal, timestamp, behavior, value,
          reported_at, reported_by)
        VALUES (${organizationId}, ${instance.id}, ${calls.id}, ${`${at.slice(0, 4)}-01-01T00:00:00Z`}, 1, ${at}, 'append', ${value},
          ${at}, ${sql.json({ id: instance.id, name: "Test" })})`
      yield* sql`
        INSERT INTO credit_uses (organization_id, credit_id, at, id, instance_id, entitlement_id, period_start, ordinal, quantity)
        VALUES (${organizationId}, ${id}, ${at}, gen_random_uuid(), ${instance.id}, ${calls.id},
          ${`${at.slice(0, 4)}-01-01T00:00:00Z`}, 1, ${quantity})`
      yield* sql`
        UPDATE credits SET used = used + ${quantity}, is_spent = used + ${quantity} = amount
        WHERE organization_id = ${organizationId} AND id = ${id}`
    }),
  }
})

layer(service, { excludeTestServices: true })("a credit", (it) => {
  it.effect("is a record of its own, and is added once for an external id", () =>
    Effect.gen(function* () {
      const { PATH, add, call, eventTypes, hoursFrom, instance } = yield* openShop
      const body = { amount: 5000, expiresAt: hoursFrom(48), reason: "Top-up", externalId: "in_1" }
      const credit = yield* add(body)
      const { createdAt, createdBy: _, id, ...record } = credit
      assert.deepStrictEqual(record, {
        instance: "prod",
        customer: "acme",
        entitlement: "calls",
        amount: 5000,
        used: 0,
        reserved: 0,
        remaining: 5000,
        state: "OPEN",
        priority: 50,
        startsAt: createdAt,
        expiresAt: body.expiresAt,
        reason: "Top-up",
        externalId: "in_1",
        voidedAt: null,
        voidedBy: null,
      })
      assert.deepStrictEqual((yield* call("GET", `/credits/${id}`)).body, credit)
      const again = yield* call("POST", PATH, body)
      assert.deepStrictEqual([again.status, again.body], [200, credit])
      const fewer = yield* call("POST", PATH, { amount: 5000, externalId: "in_1" })
      assert.deepStrictEqual([fewer.status, fewer.body], [200, credit])
      const other = yield* call("POST", PATH, { ...body, amount: 5001 })
      assert.deepStrictEqual(rejection(other), { status: 409, code: "CreateCredit.ExternalIdTaken", places: [] })
      const concurrent = yield* Effect.all(
        Array.from({ length: 4 }, () => call("POST", PATH, { amount: 1, externalId: "in_2" })),
        { concurrency: "unbounded" },
      )
      assert.sameMembers(
        concurrent.map(({ status }) => status),
        [201, 200, 200, 200],
      )
      assert.deepStrictEqual(yield* eventTypes, ["CREDIT_CREATED", "CREDIT_CREATED"])
      const { body: events } = yield* call("GET", `/events?resource=${instance.id}&type=CREDIT_CREATED`)
      assert.deepStrictEqual(events.items[0].data, { ...credit, instanceId: instance.id })
    }),
  )

  it.effect("is rejected at the place of each error", () =>
    Effect.gen(function* () {
      const { PATH, call, entitlement, hoursFrom } = yield* openShop
      const places = (body: object, path = PATH) =>
        Effect.map(call("POST", path, body), (answer) => rejection(answer).places)
      yield* entitlement("seats", { aggregationMethod: "CONCURRENT" })
      yield* entitlement("jobs", { aggregationMethod: "COUNT" })
      assert.deepStrictEqual(yield* places({ amount: 0 }), ["body.amount"])
      assert.deepStrictEqual(yield* places({ amount: 1, priority: 101 }), ["body.priority"])
      assert.deepStrictEqual(yield* places({ amount: 1, startsAt: hoursFrom(-36 * 24) }), ["body.startsAt"])
      assert.deepStrictEqual(yield* places({ amount: 1, expiresAt: hoursFrom(-1) }), ["body.expiresAt"])
      const late = { amount: 1, startsAt: hoursFrom(-5), expiresAt: hoursFrom(-1) }
      assert.deepStrictEqual(yield* places({ ...late, expiresAt: hoursFrom(-5) }), ["body.expiresAt"])
      assert.strictEqual((yield* call("POST", PATH, late)).body.state, "EXPIRED")
      const seats = PATH.replace("calls", "seats")
      assert.deepStrictEqual(yield* places({ amount: 1 }, seats), ["path.entitlementSlug"])
      assert.deepStrictEqual(yield* places({ amount: 1.5 }, PATH.replace("calls", "jobs")), ["body.amount"])
      const unknown = yield* call("POST", PATH.replace("calls", "nothing"), { amount: 1 })
      assert.strictEqual(unknown.body.code, "Entitlement.NotFound")
    }),
  )

  it.effect("is listed in the order in which credits burn, and with the history newest first", () =>
    Effect.gen(function* () {
      const { PATH, add, call, clock, hoursFrom, listed } = yield* openShop
      yield* add({ amount: 1, reason: "late", priority: 60 })
      yield* clock.pass(1)
      yield* add({ amount: 1, reason: "never" })
      yield* clock.pass(1)
      yield* add({ amount: 1, reason: "soon", expiresAt: hoursFrom(1) })
      yield* clock.pass(1)
      yield* add({ amount: 1, reason: "first", priority: 0, startsAt: hoursFrom(5) })
      yield* clock.pass(1)
      const voided = yield* add({ amount: 1, reason: "voided" })
      yield* call("DELETE", `/credits/${voided.id}`)
      assert.deepStrictEqual(yield* listed(), ["first", "soon", "never", "late"])
      const page = yield* call("GET", `${PATH}?limit=2`)
      assert.deepStrictEqual(yield* listed(`limit=2&cursor=${page.body.nextCursor}`), ["never", "late"])
      yield* clock.pass(HOUR)
      assert.deepStrictEqual(yield* listed(), ["first", "never", "late"])
      assert.deepStrictEqual(yield* listed("history=true"), ["voided", "first", "soon", "never", "late"])
    }),
  )

  it.effect("is not the 101st that could still be used", () =>
    Effect.gen(function* () {
      const { PATH, add, call } = yield* openShop
      const all = yield* Effect.all(
        Array.from({ length: 100 }, () => add({ amount: 1 })),
        { concurrency: 8 },
      )
      const rejected = yield* call("POST", PATH, { amount: 1 })
      assert.deepStrictEqual(rejection(rejected), { status: 409, code: "CreateCredit.LimitReached", places: [] })
      yield* call("DELETE", `/credits/${all[0].id}`)
      yield* add({ amount: 1 })
    }),
  )

  it.effect("pays nothing once it is voided, and cannot be voided again", () =>
    Effect.gen(function* () {
      const { add, call, checked, eventTypes } = yield* openShop
      const { id } = yield* add({ amount: 5 })
      assert.strictEqual((yield* checked({}, 15)).reason, "GRANTED")
      const dry = yield* call("DELETE", `/credits/${id}?dryRun=true`)
      assert.deepStrictEqual([dry.body.status, dry.body.impact.turning.count], [204, 0])
      assert.strictEqual((yield* call("DELETE", `/credits/${id}`)).status, 204)
      assert.strictEqual((yield* call("DELETE", `/credits/${id}`)).body.code, "Credit.NotFound")
      const { body } = yield* call("GET", `/credits/${id}`)
      assert.deepStrictEqual([body.state, body.remaining, body.voidedBy.name], ["VOIDED", 0, body.createdBy.name])
      const answer = yield* checked({}, 15)
      assert.deepStrictEqual([answer.reason, answer.remaining, "credits" in answer], ["LIMIT_REACHED", 10, false])
      assert.deepStrictEqual(yield* eventTypes, ["CREDIT_CREATED", "CREDIT_VOIDED"])
    }),
  )
})

layer(service, { excludeTestServices: true })("a check with credits", (it) => {
  it.effect("allows what the limit and credits pay, as a dry run says before", () =>
    Effect.gen(function* () {
      const { PATH, add, burned, call, checked, hoursFrom } = yield* openShop
      const { id } = yield* add({ amount: 5, reason: "Top-up" })
      yield* burned(id, 12, 2, hoursFrom(0))
      const { currentPeriodEnd: _end, currentPeriodStart: _start, ...answer } = yield* checked()
      assert.deepStrictEqual(answer, {
        entitlement: "calls",
        allowed: true,
        reason: "GRANTED",
        limit: 10,
        usage: 12,
        remaining: 3,
        overage: 0,
        credits: 3,
      })
      assert.deepStrictEqual(
        [(yield* checked({}, 3)).reason, (yield* checked({}, 4)).reason],
        ["GRANTED", "LIMIT_REACHED"],
      )
      const flag = yield* call("POST", "/ofrep/v1/evaluate/flags/entitlement.calls", {
        context: { targetingKey: "prod" },
      })
      assert.strictEqual(flag.body.value, 3)
      yield* call("DELETE", `/credits/${id}`)
      // What it has paid stays paid, without a credit too.
      const after = yield* checked({}, 0)
      assert.deepStrictEqual([after.reason, after.usage, after.remaining, after.overage], ["GRANTED", 12, 0, 0])
      yield* call("PUT", "/licenses/pro/entitlements/calls", { value: 9 })
      assert.deepStrictEqual([(yield* checked({}, 0)).reason, (yield* checked()).overage], ["LIMIT_REACHED", 1])
      const dry = yield* call("POST", `${PATH}?dryRun=true`, { amount: 5 })
      assert.deepStrictEqual(
        [dry.body.status, dry.body.impact.turning.items],
        [
          201,
          [
            {
              slug: "prod",
              entitlement: "calls",
              usage: 12,
              limit: 9,
              reason: { before: "LIMIT_REACHED", after: "GRANTED" },
            },
          ],
        ],
      )
      assert.deepStrictEqual((yield* call("GET", PATH)).body.items, [])
    }),
  )

  it.effect("is granted by an active credit alone, and denied once it is used up or has expired", () =>
    Effect.gen(function* () {
      const { add, checked, clock, entitlement, hoursFrom, tenant } = yield* openShop
      const sql = yield* PgClient.PgClient
      yield* entitlement("exports")
      const reasons = Effect.map(
        Effect.all([checked({}, 1, "exports"), checked({ explain: true }, 1, "exports")]),
        ([plain, explained]) => [plain.reason, explained.reason, explained.explanation.grant?.source],
      )
      assert.deepStrictEqual(yield* reasons, ["NOT_GRANTED", "NOT_GRANTED", undefined])
      const { id } = yield* add({ amount: 2, expiresAt: hoursFrom(1) }, "/instances/prod/entitlements/exports/credits")
      assert.deepStrictEqual(yield* reasons, ["GRANTED", "GRANTED", "CREDIT"])
      const alone = yield* checked({ at: hoursFrom(0.5) }, 3, "exports")
      assert.deepStrictEqual([alone.limit, alone.remaining, alone.credits, alone.reason], [0, 2, 2, "LIMIT_REACHED"])
      yield* sql`UPDATE credits SET used = 2, is_spent = true WHERE organization_id = ${tenant.organizationId} AND id = ${id}`
      assert.deepStrictEqual(yield* reasons, ["LIMIT_REACHED", "LIMIT_REACHED", "CREDIT"])
      yield* clock.pass(HOUR)
      assert.deepStrictEqual(yield* reasons, ["NOT_GRANTED", "NOT_GRANTED", undefined])
    }),
  )

  it.effect("of the past says what was left then, of the future what is left now", () =>
    Effect.gen(function* () {
      const { add, burned, call, checked, clock, hoursFrom } = yield* openShop
      const before = hoursFrom(0)
      yield* clock.pass(HOUR)
      const { id } = yield* add({ amount: 5, expiresAt: hoursFrom(4) })
      yield* add({ amount: 7, startsAt: hoursFrom(10) })
      const created = hoursFrom(0)
      yield* clock.pass(HOUR)
      yield* burned(id, 12, 2, hoursFrom(0))
      yield* clock.pass(HOUR)
      yield* call("DELETE", `/credits/${id}`)
      const left = (at: string) => Effect.map(checked({ at }), ({ credits, usage }) => [usage, credits])
      assert.deepStrictEqual(yield* left(before), [0, undefined])
      assert.deepStrictEqual(yield* left(created), [0, 5])
      assert.deepStrictEqual(yield* left(hoursFrom(-0.5)), [12, 3])
      assert.deepStrictEqual((yield* checked({ at: hoursFrom(-0.5) })).remaining, 3)
      assert.deepStrictEqual(yield* left(hoursFrom(0)), [12, undefined])
      assert.deepStrictEqual(yield* left(hoursFrom(11)), [12, 7])
    }),
  )

  it.effect("of months whose events were dropped is rejected where credits were active, and right afterwards", () =>
    Effect.gen(function* () {
      const { add, burned, call, checked, clock, hoursFrom, tenant } = yield* openShop
      const sql = yield* PgClient.PgClient
      const before = hoursFrom(-2)
      const { id } = yield* add({ amount: 5, startsAt: hoursFrom(-1) })
      yield* clock.pass(HOUR)
      yield* burned(id, 12, 2, hoursFrom(0))
      const dropped = hoursFrom(1)
      yield* clock.pass(2 * HOUR)
      const { organizationId } = tenant
      yield* sql`
        UPDATE credits SET dropped_used = 2, dropped_until = ${dropped} WHERE organization_id = ${organizationId}`
      yield* sql`DELETE FROM credit_uses WHERE organization_id = ${organizationId}`
      const checks = [{ entitlement: "calls" }]
      const rejected = yield* call("POST", "/instances/prod/check", { checks, at: hoursFrom(-2) })
      assert.deepStrictEqual(rejection(rejected).places, ["body.at"])
      assert.strictEqual((yield* checked({ at: before })).usage, 0)
      const after = yield* checked({ at: hoursFrom(-0.5) })
      assert.deepStrictEqual([after.credits, after.overage, after.remaining], [3, 0, 3])
    }),
  )

  it.effect("explains the credits in the order in which they burn", () =>
    Effect.gen(function* () {
      const { add, checked, hoursFrom } = yield* openShop
      const later = yield* add({ amount: 5 })
      const first = yield* add({ amount: 2, expiresAt: hoursFrom(1), reason: "Goodwill" })
      const { explanation } = yield* checked({ explain: true }, 12)
      assert.deepStrictEqual(
        explanation.credits.map(({ id, remaining, reason }: { id: string; remaining: number; reason: string }) => [
          id,
          remaining,
          reason,
        ]),
        [
          [first.id, 2, "Goodwill"],
          [later.id, 5, null],
        ],
      )
      assert.strictEqual(explanation.grant.source, "LICENSE")
      assert.include(explanation.text, "grants 10, and credits have 7 left")
    }),
  )
})

layer(service, { excludeTestServices: true })("the life of a credit", (it) => {
  it.effect("ends with one event if something was left, and without one if not", () =>
    Effect.gen(function* () {
      const { add, burned, call, clock, eventTypes, hoursFrom } = yield* openShop
      const { emitDue } = yield* CreditExpiry
      const left = yield* add({ amount: 5, expiresAt: hoursFrom(1) })
      const voided = yield* add({ amount: 5, expiresAt: hoursFrom(1) })
      yield* call("DELETE", `/credits/${voided.id}`)
      const used = yield* add({ amount: 2, expiresAt: hoursFrom(1) })
      yield* burned(used.id, 2, 2, hoursFrom(0))
      yield* emitDue
      assert.notInclude(yield* eventTypes, "CREDIT_EXPIRED")
      yield* clock.pass(HOUR)
      yield* Effect.all([emitDue, emitDue], { concurrency: "unbounded" })
      yield* emitDue
      const { body } = yield* call("GET", "/events?type=CREDIT_EXPIRED")
      const data = body.items.map((event: { data: Record<string, unknown>; actor: { name: string } }) => [
        event.data["id"],
        event.data["unused"],
        event.data["state"],
        event.actor.name,
      ])
      assert.deepStrictEqual(data, [[left.id, 5, "EXPIRED", "system:platform"]])
    }),
  )

  it.effect("keeps its entitlement in use, and ends with its instance", () =>
    Effect.gen(function* () {
      const { add, call, entitlement } = yield* openShop
      yield* entitlement("exports")
      const { id } = yield* add({ amount: 2 }, "/instances/prod/entitlements/exports/credits")
      const blocked = yield* call("DELETE", "/entitlements/exports")
      assert.strictEqual(blocked.body.code, "DeleteEntitlement.InUse")
      assert.deepStrictEqual(blocked.body.impact.blocking, [
        { kind: "credits", count: 1, truncated: false, items: [{ slug: "prod", customer: "acme" }] },
      ])
      assert.strictEqual((yield* call("DELETE", "/instances/prod")).status, 204)
      assert.strictEqual((yield* call("GET", `/credits/${id}`)).status, 404)
      assert.strictEqual((yield* call("DELETE", "/entitlements/exports")).status, 204)
    }),
  )

  it.effect("shows what it paid, by event of usage, and each event what credits paid", () =>
    Effect.gen(function* () {
      const { add, burned, call, hoursFrom } = yield* openShop
      const { id } = yield* add({ amount: 5, startsAt: hoursFrom(-1) })
      const at = hoursFrom(0)
      yield* burned(id, 12, 2, at)
      const { body: events } = yield* call("GET", "/instances/prod/entitlements/calls/usage/events")
      assert.deepStrictEqual(events.items[0].credits, [{ id, quantity: 2 }])
      const { body: uses } = yield* call("GET", `/credits/${id}/usage`)
      assert.deepStrictEqual(uses.items, [
        { instance: "prod", eventId: events.items[0].id, timestamp: at, quantity: 2 },
      ])
      assert.strictEqual((yield* call("GET", `/credits/${id}`)).body.remaining, 3)
    }),
  )
})
