import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Cause, Context, Effect, Layer } from "effect"
import { unavailableDetail } from "../../src/http/DatabaseProblems.ts"
import { createShop } from "../instances/Shop.ts"
import { setForSessions, TestDatabase, testSql } from "../support/TestDatabase.ts"
import { TestService, testServicesOn } from "../support/TestService.ts"

/** The service with these settings of its sessions, and a database of its own. */
const serviceWith = (settings: Readonly<Record<string, string>>) =>
  TestService.layerOn(
    testServicesOn(
      Layer.unwrap(
        Effect.as(
          Effect.flatMap(TestDatabase, ({ url }) => setForSessions(url, settings)),
          testSql,
        ),
      ).pipe(Layer.provideMerge(TestDatabase.layer)),
    ),
  )

/** Changes an instance while another session holds its row, and returns the answer. */
const changeOfLockedInstance = Effect.gen(function* () {
  const { call, customer, instance, license } = yield* createShop
  yield* license("pro")
  const { slug } = yield* customer("Globex")
  yield* instance("prod", slug, "pro", { slug: "prod" })
  const { url } = yield* TestDatabase
  const other = yield* Layer.build(Layer.fresh(PgClient.layer({ url, maxConnections: 1 })))
  const sql = Context.get(other, PgClient.PgClient)
  return yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`SET LOCAL lock_timeout = 0`
      yield* sql`SET LOCAL statement_timeout = 0`
      yield* sql`SELECT 1 FROM instances FOR UPDATE`
      return yield* call("PATCH", "/instances/prod", { description: "changed" })
    }),
  )
})

layer(serviceWith({ lock_timeout: "1s" }), { excludeTestServices: true })("a change of a locked record", (it) => {
  it.effect("is refused for now, and says that the record is being changed", () =>
    Effect.gen(function* () {
      const { body, headers, status } = yield* changeOfLockedInstance
      assert.deepStrictEqual([status, body.code, headers.get("retry-after")], [503, "Service.Unavailable", "1"])
      assert.strictEqual(
        body.detail,
        "Another request is changing this record, and has not ended yet. Try again shortly.",
      )
    }),
  )

  const reasons = {
    "40P01": "at the same moment",
    "40001": "at the same moment",
    "57014": "in time",
    "25P03": "in time",
    "25006": "accepts no changes",
    "53100": "disk is full",
    "53200": "no memory",
    "53300": "no more connections",
    "57P01": "restarting",
    "57P03": "restarting",
    "53400": "cannot reach its database",
    "08006": "cannot reach its database",
  }
  it.effect("is one of the failures that each say what they are", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      for (const [state, text] of Object.entries(reasons)) {
        const error = yield* Effect.flip(
          sql.unsafe(`DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '${state}'; END $$`),
        )
        assert.include(unavailableDetail(Cause.die(error)), text, state)
      }
      const bug = yield* Effect.flip(sql`SELECT 1 / 0`)
      assert.isUndefined(unavailableDetail(Cause.die(bug)))
    }),
  )
})

layer(serviceWith({ statement_timeout: "2s" }), { excludeTestServices: true })("a statement that takes long", (it) => {
  it.effect("is refused for now, and says that the database did not finish in time", () =>
    Effect.gen(function* () {
      const { body, status } = yield* changeOfLockedInstance
      assert.deepStrictEqual([status, body.code], [503, "Service.Unavailable"])
      assert.include(body.detail, "did not finish the request in time")
    }),
  )
})
