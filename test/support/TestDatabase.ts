/** A separate database for each test file, copied from the migrated template and dropped at the end. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { inject } from "vitest"
import { onEachServer, query } from "./Cluster.ts"
import { databaseUrl } from "./databaseUrl.ts"
import { findInvalidEvents } from "./eventSchemas.ts"
import { findSecretColumns } from "./secretScan.ts"

// What the tests must not leave in a database, and what to do about it.
const inspections = [
  {
    find: findSecretColumns,
    explain: (places: string) =>
      `Found secrets in clear text in ${places}. If a test stores such text on purpose, exempt it with isData of test/support/issuedSecrets.ts.`,
  },
  {
    find: findInvalidEvents,
    explain: (errors: string) =>
      `Found events that differ from openapi/webhooks.json: ${errors}. If a test invents events on purpose, call allowInventedEvents of test/support/eventSchemas.ts.`,
  },
]

const inspect = (url: Redacted.Redacted) =>
  Effect.forEach(
    inspections,
    Effect.fnUntraced(function* ({ explain, find }) {
      const found = yield* Effect.orDie(find)
      if (found.length > 0) yield* Effect.die(new Error(explain(found.join(", "))))
    }),
    { discard: true },
  ).pipe(Effect.provide(PgClient.layer({ url, maxConnections: 1, ...ownSession }), { local: true }), Effect.orDie)

const FANNING_OUT = "citus.multi_task_query_log_level"

// A statement of a request that asks several shards fails then. Sweeps do ask them, so this is for tests of requests.
const asksOneShard = process.env["TEST_CITUS_ONE_SHARD"] !== undefined

/** The test's own statements may ask several shards. */
const ownSession = asksOneShard ? { startupParameters: { [FANNING_OUT]: "off" } } : {}

const created = Effect.acquireRelease(
  Effect.gen(function* () {
    const name = `keyshelf_test_${randomBytes(6).toString("hex")}`
    yield* onEachServer(inject("serverUrls"), `CREATE DATABASE ${name} TEMPLATE ${inject("template")}`)
    if (asksOneShard)
      yield* onEachServer(inject("serverUrls").slice(0, 1), `ALTER DATABASE ${name} SET ${FANNING_OUT} = error`)
    return { name, url: Redacted.make(databaseUrl(inject("serverUrl"), name)) }
  }),
  ({ name, url }) =>
    inspect(url).pipe(
      Effect.ensuring(Effect.orDie(onEachServer(inject("serverUrls"), `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))),
    ),
)

/** The URL of a new migrated database, or of the existing one if a second service is built. */
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

/** Settings that all later sessions of a database begin with. */
export const setForSessions = (url: Redacted.Redacted, settings: Readonly<Record<string, string>>) =>
  Effect.forEach(
    Object.entries(settings),
    ([name, value]) => {
      const address = Redacted.value(url)
      return query(address, `ALTER DATABASE ${new URL(address).pathname.slice(1)} SET ${name} = '${value}'`)
    },
    { discard: true },
  )

/** SQL on that database. */
export const testSql = Layer.unwrap(
  Effect.map(TestDatabase, ({ url }) => PgClient.layer({ url, multiplex: true, maxConnections: 4 })),
).pipe(Layer.provideMerge(TestDatabase.layer))
