/** Databases of tests, copied from the migrated template and dropped at the end: one for a file, or one for the files of a worker. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { inject } from "vitest"
import { asksOneShard, oneShard, onEachServer, ownSession, query } from "./Cluster.ts"
import { databaseUrl } from "./databaseUrl.ts"
import { inspect } from "./inspections.ts"
import { RECORD_ENDING, recorded, share } from "./recorded.ts"

const urlOf = (name: string) => Redacted.make(databaseUrl(inject("serverUrl"), name))

/** Creates a database, and returns its name. */
const create = Effect.gen(function* () {
  const name = `keyshelf_test_${randomBytes(6).toString("hex")}`
  yield* onEachServer(inject("serverUrls"), `CREATE DATABASE ${name} TEMPLATE ${inject("template")}`)
  if (asksOneShard)
    for (const [setting, value] of Object.entries(oneShard))
      yield* onEachServer(inject("serverUrls").slice(0, 1), `ALTER DATABASE ${name} SET ${setting} = '${value}'`)
  return name
})

const separate = Effect.acquireRelease(create, (name) =>
  inspect(urlOf(name), recorded, ownSession).pipe(
    Effect.ensuring(Effect.orDie(onEachServer(inject("serverUrls"), `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))),
  ),
).pipe(Effect.map((name) => ({ url: urlOf(name) })))

/** Creates the database that the files of this worker share. It is inspected and dropped when all workers have ended. */
const shared = Effect.map(create, (name) => {
  share(join(inject("directory"), `${name}${RECORD_ENDING}`), name)
  return { url: urlOf(name) }
})

/** The URL of a new migrated database, or of the existing one if a second service is built. */
export class TestDatabase extends Context.Service<TestDatabase, { readonly url: Redacted.Redacted }>()(
  "keyshelf/test/TestDatabase",
) {
  static readonly layer = Layer.effect(
    TestDatabase,
    Effect.flatMap(Effect.serviceOption(TestDatabase), (existing) =>
      Option.isSome(existing) ? Effect.succeed(existing.value) : separate,
    ),
  )

  /** A database that outlives this layer. */
  static readonly shared = Layer.effect(TestDatabase, shared)
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

/** Sessions of the service compile no plan either. Tests choose the other settings of sessions themselves. */
export const startupParameters = { jit: "off" }

/** SQL on that database. */
export const testSql = Layer.unwrap(
  Effect.map(TestDatabase, ({ url }) => PgClient.layer({ url, multiplex: true, maxConnections: 4, startupParameters })),
).pipe(Layer.provideMerge(TestDatabase.layer))
