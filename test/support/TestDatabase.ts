/** A database of its own for a test file, copied from the migrated template and dropped at the end. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { inject } from "vitest"
import { databaseUrl } from "./databaseUrl.ts"

const onServer = (statement: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      const services = yield* Layer.build(
        PgClient.layer({ url: Redacted.make(inject("serverUrl")), maxConnections: 1 }),
      )
      yield* Context.get(services, PgClient.PgClient).unsafe(statement)
    }),
  )

/** The URL of a fresh migrated database. */
export class TestDatabase extends Context.Service<TestDatabase, { readonly url: Redacted.Redacted }>()(
  "keyshelf/test/TestDatabase",
) {
  static readonly layer = Layer.effect(
    TestDatabase,
    Effect.acquireRelease(
      Effect.gen(function* () {
        const name = `keyshelf_test_${randomBytes(6).toString("hex")}`
        yield* onServer(`CREATE DATABASE ${name} TEMPLATE ${inject("template")}`)
        return { name, url: Redacted.make(databaseUrl(inject("serverUrl"), name)) }
      }),
      ({ name }) => Effect.orDie(onServer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)),
    ),
  )
}

/** SQL on that database. */
export const testSql = Layer.unwrap(
  Effect.map(TestDatabase, ({ url }) => PgClient.layer({ url, multiplex: true, maxConnections: 4 })),
).pipe(Layer.provideMerge(TestDatabase.layer))
