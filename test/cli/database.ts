/** Databases for commands that run as separate processes. */
import { Effect, Redacted } from "effect"
import type { Scope } from "effect"
import { randomBytes } from "node:crypto"
import { inject } from "vitest"
import * as Cluster from "../support/Cluster.ts"
import { databaseUrl } from "../support/databaseUrl.ts"

/** Runs one statement on a database. */
export const query = (url: Redacted.Redacted, statement: string) =>
  Effect.orDie(Cluster.query(Redacted.value(url), statement))

/** A database without tables, dropped when the scope closes. */
export const emptyDatabase: Effect.Effect<Redacted.Redacted, never, Scope.Scope> = Effect.suspend(() => {
  const server = Redacted.make(inject("serverUrl"))
  const name = `keyshelf_test_${randomBytes(6).toString("hex")}`
  return Effect.acquireRelease(
    Effect.as(query(server, `CREATE DATABASE ${name}`), Redacted.make(databaseUrl(Redacted.value(server), name))),
    () => query(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  )
})
