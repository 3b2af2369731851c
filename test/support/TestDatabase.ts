/** A database of its own for a test file, copied from the migrated template and dropped at the end. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { inject } from "vitest"
import { databaseUrl } from "./databaseUrl.ts"
import { placesOfSecrets } from "./secretScan.ts"

const onServer = (statement: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      const services = yield* Layer.build(
        PgClient.layer({ url: Redacted.make(inject("serverUrl")), maxConnections: 1 }),
      )
      yield* Context.get(services, PgClient.PgClient).unsafe(statement)
    }),
  )

// What the tests left behind, searched for every secret that was issued to them.
const holdsNoSecrets = Effect.fnUntraced(function* (url: Redacted.Redacted) {
  const places = yield* Effect.orDie(
    Effect.provide(placesOfSecrets, PgClient.layer({ url, maxConnections: 1 }), { local: true }),
  )
  if (places.length > 0) {
    yield* Effect.die(
      new Error(
        `Secrets stand in the clear in ${places.join(", ")}. If a test stores such text on purpose, declare it with isData of test/support/issuedSecrets.ts.`,
      ),
    )
  }
})

const created = Effect.acquireRelease(
  Effect.gen(function* () {
    const name = `keyshelf_test_${randomBytes(6).toString("hex")}`
    yield* onServer(`CREATE DATABASE ${name} TEMPLATE ${inject("template")}`)
    return { name, url: Redacted.make(databaseUrl(inject("serverUrl"), name)) }
  }),
  ({ name, url }) =>
    holdsNoSecrets(url).pipe(Effect.ensuring(Effect.orDie(onServer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)))),
)

/** The URL of a fresh migrated database; of the one that is there already, if a second service is built beside a first. */
export class TestDatabase extends Context.Service<TestDatabase, { readonly url: Redacted.Redacted }>()(
  "keyshelf/test/TestDatabase",
) {
  static readonly layer = Layer.effect(
    TestDatabase,
    Effect.flatMap(Effect.serviceOption(TestDatabase), (existing) =>
      Option.isSome(existing) ? Effect.succeed(existing.value) : created,
    ),
  )
}

/** SQL on that database. */
export const testSql = Layer.unwrap(
  Effect.map(TestDatabase, ({ url }) => PgClient.layer({ url, multiplex: true, maxConnections: 4 })),
).pipe(Layer.provideMerge(TestDatabase.layer))
