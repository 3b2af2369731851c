import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { createShop } from "../instances/Shop.ts"
import { TestService } from "../support/TestService.ts"
import type { HttpResponse } from "../support/TestService.ts"
import { until } from "../support/until.ts"

const term = { startLicenseDate: "2026-01-01T00:00:00Z", endLicenseDate: "2099-01-01T00:00:00Z" }

const statusesOf = ({ body, status, text }: HttpResponse): ReadonlyArray<string> => {
  assert.strictEqual(status, 200, text)
  return body.results.map(({ code, status }: { code?: string; status: string }) => code ?? status)
}

const openNodes = Effect.gen(function* () {
  const shop = yield* createShop
  const sql = yield* PgClient.PgClient
  const one = yield* TestService
  const two = Context.get(yield* Layer.build(Layer.fresh(TestService.separate)), TestService)
  const { token } = shop.tenant
  const send = (node: typeof one, body: object, headers: Record<string, string> = {}) =>
    node.core("POST", "/imports", { token, body, headers })

  /** Waits until so many transactions wait for a lock. */
  const untilWaiting = (count: number) =>
    until(
      `${count} transactions wait for a lock`,
      Effect.map(
        sql<{ count: number }>`SELECT count(*)::int AS count FROM pg_locks WHERE NOT granted`,
        ([row]) => row?.count === count,
      ),
    )
  /** Runs work while nothing can be written to a table. */
  const whileLocked = <A, E, R>(table: string, work: Effect.Effect<A, E, R>) =>
    sql.withTransaction(Effect.andThen(sql.unsafe(`LOCK TABLE ${table} IN SHARE MODE`), work))
  /** Sends a body to both nodes. Both have looked up the first row before either can write it. */
  const onBoth = Effect.fnUntraced(function* (table: string, body: object) {
    const requests = yield* whileLocked(
      table,
      Effect.tap(
        Effect.forEach([one, two], (node) => Effect.forkDetach(send(node, body))),
        untilWaiting(2),
      ),
    )
    return yield* Effect.forEach(requests, Fiber.join)
  })
  const emitted = (type: string) =>
    Effect.map(shop.call("GET", `/events?limit=200&type=${type}`), ({ body }) => body.items.length as number)
  return { ...shop, one, two, send, untilWaiting, whileLocked, onBoth, emitted }
})

/** What both answered for each row, sorted. */
const pairsOf = (answers: ReadonlyArray<HttpResponse>) => {
  const [one = [], two = []] = answers.map(statusesOf)
  return one.map((status, index) => [status, two[index] ?? ""].toSorted((one, other) => one.localeCompare(other)))
}

layer(TestService.layer, { excludeTestServices: true })("the same import on two nodes at the same time", (it) => {
  it.effect("creates each customer once, and finds it unchanged once", () =>
    Effect.gen(function* () {
      const { emitted, onBoth } = yield* openNodes
      const rows = [
        { name: "By external id", externalCustomerId: "crm-1" },
        { name: "By slug", slug: "by-slug" },
        { name: "By both", slug: "by-both", externalCustomerId: "crm-2" },
        ...Array.from({ length: 20 }, (_, n) => ({ name: "Same name", externalCustomerId: `many-${n}` })),
      ]
      const answers = yield* onBoth("customers", { kind: "customers", rows })
      assert.deepStrictEqual(
        pairsOf(answers),
        rows.map(() => ["created", "unchanged"]),
      )
      assert.strictEqual(yield* emitted("CUSTOMER_CREATION"), rows.length)
      const changed = rows.map((row) => ({ ...row, domain: "example.com" }))
      assert.deepStrictEqual(
        pairsOf(yield* onBoth("customers", { kind: "customers", rows: changed })),
        rows.map(() => ["unchanged", "updated"]),
      )
      assert.strictEqual(yield* emitted("CUSTOMER_UPDATED"), rows.length)
    }).pipe(Effect.scoped),
  )

  it.effect("creates each customer once that only has a slug, whose first row is the race", () =>
    Effect.gen(function* () {
      const { onBoth } = yield* openNodes
      const rows = [{ name: "By slug", slug: "by-slug" }]
      assert.deepStrictEqual(pairsOf(yield* onBoth("customers", { kind: "customers", rows })), [
        ["created", "unchanged"],
      ])
    }).pipe(Effect.scoped),
  )

  it.effect("creates each instance and each override once", () =>
    Effect.gen(function* () {
      const { customer, emitted, entitlement, license, onBoth } = yield* openNodes
      yield* license("pro")
      yield* customer("Acme")
      yield* entitlement("calls")
      const rows = Array.from({ length: 10 }, (_, n) => ({
        name: "Prod",
        slug: `prod-${n}`,
        customerSlug: "acme",
        licenseFamilySlug: "pro",
        ...term,
      }))
      const once = rows.map(() => ["created", "unchanged"])
      assert.deepStrictEqual(pairsOf(yield* onBoth("instances", { kind: "instances", rows })), once)
      assert.strictEqual(yield* emitted("INSTANCE_CREATION"), rows.length)
      const longer = rows.map((row) => ({ ...row, endLicenseDate: null }))
      assert.deepStrictEqual(
        pairsOf(yield* onBoth("instances", { kind: "instances", rows: longer })),
        rows.map(() => ["unchanged", "updated"]),
      )
      const overrides = rows.map(({ slug }) => ({ instance: slug, entitlement: "calls", mode: "SET", value: 5 }))
      assert.deepStrictEqual(
        pairsOf(yield* onBoth("entitlement_overrides", { kind: "overrides", rows: overrides })),
        once,
      )
      assert.strictEqual(yield* emitted("INSTANCE_ENTITLEMENT_OVERRIDDEN"), rows.length)
    }).pipe(Effect.scoped),
  )
})

layer(TestService.layer, { excludeTestServices: true })("an import with an Idempotency-Key", (it) => {
  const body = { kind: "customers", rows: [{ name: "Globex", slug: "globex" }] }
  const headers = { "idempotency-key": "import-1" }

  it.effect("replays its response on every node, and is bound to its body", () =>
    Effect.gen(function* () {
      const { call, one, send, two } = yield* openNodes
      const first = yield* send(one, body, headers)
      assert.deepStrictEqual(statusesOf(first), ["created"])
      yield* call("PATCH", "/customers/globex", { name: "Renamed" })
      for (const node of [one, two]) {
        const replayed = yield* send(node, { rows: body.rows, kind: body.kind }, headers)
        assert.strictEqual(replayed.headers.get("idempotent-replayed"), "true")
        assert.strictEqual(replayed.text, first.text)
      }
      assert.strictEqual((yield* call("GET", "/customers/globex")).body.name, "Renamed")
      const other = yield* send(one, { ...body, rows: [{ name: "Initech", slug: "initech" }] }, headers)
      assert.deepStrictEqual([other.status, other.body.code], [422, "IdempotencyKey.Reused"])
      assert.strictEqual((yield* call("GET", "/customers/initech")).status, 404)
    }).pipe(Effect.scoped),
  )

  it.effect("runs once while others with its key are 409, on one node and on two", () =>
    Effect.gen(function* () {
      const { one, send, two, untilWaiting, whileLocked } = yield* openNodes
      const first = yield* whileLocked(
        "customers",
        Effect.gen(function* () {
          const started = yield* Effect.forkDetach(send(one, body, headers))
          yield* untilWaiting(1)
          for (const node of [one, two]) {
            const other = yield* send(node, body, headers)
            assert.deepStrictEqual([other.status, other.body.code], [409, "IdempotencyKey.InFlight"])
          }
          return started
        }),
      )
      assert.deepStrictEqual(statusesOf(yield* Fiber.join(first)), ["created"])
      assert.strictEqual((yield* send(two, body, headers)).headers.get("idempotent-replayed"), "true")
    }).pipe(Effect.scoped),
  )

  it.effect("that is rejected leaves the key free, and a claim of a process that died expires", () =>
    Effect.gen(function* () {
      const { one, send } = yield* openNodes
      const sql = yield* PgClient.PgClient
      assert.strictEqual((yield* send(one, { ...body, kind: "colors" }, headers)).status, 422)
      assert.strictEqual((yield* send(one, body, headers)).status, 200)
      const expiresIn = (seconds: number) =>
        sql`UPDATE idempotency_keys SET status = 0, expires_at = now() + make_interval(secs => ${seconds})`
      yield* expiresIn(60)
      assert.strictEqual((yield* send(one, body, headers)).body.code, "IdempotencyKey.InFlight")
      yield* expiresIn(-1)
      assert.deepStrictEqual(statusesOf(yield* send(one, body, headers)), ["unchanged"])
      assert.strictEqual((yield* send(one, body, headers)).headers.get("idempotent-replayed"), "true")
    }).pipe(Effect.scoped),
  )
})
