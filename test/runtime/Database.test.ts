import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { letGoOfResults } from "../../src/runtime/Database.ts"
import { collectGarbage } from "../../src/runtime/StartMemory.ts"
import { testSql } from "../support/TestDatabase.ts"

const AT_ONCE = 5

describe("a connection that is never idle", () => {
  it.live("does not keep the results of its statements", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const results: Array<WeakRef<object>> = []
      const statement = Effect.map(sql`SELECT pg_sleep(0.002)`, (rows) => void results.push(new WeakRef(rows)))
      const until = (count: number) => Effect.repeat(Effect.sleep("5 millis"), { until: () => results.length >= count })
      const kept = Effect.sync(() => {
        collectGarbage()
        return results.slice(0, 50).filter((result) => result.deref() !== undefined).length
      })
      yield* Effect.forEach(Array.from({ length: AT_ONCE }), () => Effect.forever(statement), {
        concurrency: "unbounded",
      }).pipe(Effect.forkScoped)
      yield* until(60)
      // If this fails, the client lets go by itself, and nobody has to make it.
      assert.isAbove(yield* kept, 0)
      yield* letGoOfResults
      yield* until(results.length + 20)
      assert.strictEqual(yield* kept, 0)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )
})
