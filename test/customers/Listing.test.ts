import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { Slug } from "../../src/kernel/values/Slug.ts"
import { TestService } from "../support/TestService.ts"
import type { Tenant } from "../support/TestService.ts"

const COUNT = 10_000

/** Stores customers 1 to `COUNT`, older than any that the service creates. */
const stored = Effect.fnUntraced(function* ({ organizationId }: Tenant) {
  const sql = yield* PgClient.PgClient
  yield* sql`
    INSERT INTO customers (organization_id, id, name, slug, created_at, created_by, updated_at, updated_by)
    SELECT ${organizationId}, ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'Customer ' || n,
      'customer-' || n, ${new Date("2025-01-01T00:00:00Z")}, actor, ${new Date("2025-01-01T00:00:00Z")}, actor
    FROM generate_series(1, ${COUNT}::int) n,
      (SELECT jsonb_build_object('id', '00000000-0000-7000-8000-000000000001', 'name', 'system:platform') AS actor) by`
})

const hostile: ReadonlyArray<readonly [name: string, slug: string]> = [
  ["🧑‍🚀🚀", "customer"],
  ["مرحبا بالعالم", "customer"],
  ["\u202Eright to left\u202C", "right-to-left"],
  ["顧客 7", "customer-7"],
  ["Ünïcödé GmbH & Co. KG", "unicode-gmbh-co-kg"],
  ["'; DROP TABLE customers; --", "drop-table-customers"],
  ["Robert\\'); DELETE FROM instances;", "robert-delete-from-instances"],
  ["<script>alert('x')</script>", "script-alert-x-script"],
  ["<img src=x onerror=alert(1)>", "img-src-x-onerror-alert-1"],
  ["../../etc/passwd", "etc-passwd"],
  ["%00%2F${jndi:ldap://x}", "00-2f-jndi-ldap-x"],
  ["line\nbreak\ttab", "line-break-tab"],
  ["  spaces  ", "spaces"],
  ["null", "customer-null"],
  ["__proto__", "proto"],
  ["-", "customer"],
  ["Z\u0351\u036B\u0343algo", "zalgo"],
  ["x".repeat(255), "x".repeat(93)],
  ["🚀".repeat(255), "customer"],
  ["é".repeat(255), "e".repeat(93)],
]

layer(TestService.layer, { excludeTestServices: true })("listing customers", (it) => {
  it.effect("each of 10,000 customers is listed exactly once while others are created", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const owner = yield* tenant()
      const { token } = owner
      yield* stored(owner)
      const creation = yield* Effect.forkChild(
        Effect.forever(core("POST", "/customers", { token, body: { name: "Newcomer" } })),
      )
      const names: Array<string> = []
      let cursor = ""
      do {
        const page = yield* core("GET", `/customers?limit=${cursor === "" ? 37 : 50}${cursor}`, { token })
        assert.strictEqual(page.status, 200)
        names.push(...page.body.items.map(({ name }: { name: string }) => name))
        assert.strictEqual(page.body.hasMore, page.body.nextCursor !== "")
        cursor = page.body.nextCursor === "" ? "" : `&cursor=${page.body.nextCursor}`
      } while (cursor !== "")
      yield* Fiber.interrupt(creation)
      const newcomers = (yield* core("GET", "/customers?limit=200", { token })).body.items.filter(
        ({ name }: { name: string }) => name === "Newcomer",
      )
      assert.isAbove(newcomers.length, 5)
      assert.deepStrictEqual(
        names.filter((name) => name !== "Newcomer"),
        Array.from({ length: COUNT }, (_, index) => `Customer ${COUNT - index}`),
      )
    }),
  )

  it.effect("any valid name is stored unchanged and yields a slug", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const isSlug = Schema.is(Slug)
      for (const [name, slug] of hostile) {
        const created = yield* core("POST", "/customers", { token, body: { name } })
        assert.deepStrictEqual([created.status, created.body.name], [201, name])
        assert.isTrue(isSlug(created.body.slug), created.body.slug)
        assert.strictEqual(created.body.slug.replace(/(^customer)-[a-z0-9]{6}$/, "$1"), slug)
        assert.deepStrictEqual((yield* core("GET", `/customers/${created.body.slug}`, { token })).body, created.body)
      }
      const { items } = (yield* core("GET", "/customers?limit=200", { token })).body
      assert.deepStrictEqual(
        items.map(({ name }: { name: string }) => name).toReversed(),
        hostile.map(([name]) => name),
      )
    }),
  )

  it.effect("a name of more than 255 characters or with a lone surrogate is rejected", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      for (const name of ["x".repeat(256), "🚀".repeat(256), "a\uD800"]) {
        const rejected = yield* core("POST", "/customers", { token, body: { name } })
        assert.deepStrictEqual([rejected.status, rejected.body.errors[0].location], [422, "body.name"])
      }
    }),
  )
})
