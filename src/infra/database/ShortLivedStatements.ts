/**
 * Keeps executed statements from surviving minor collections (`test/guard/Survivors.process.test.ts`). Two caches of the client held on
 * to them, and each collection of a loaded process took 12 ms instead of 2:
 *
 * The compiler caches the text and the parameters of each statement in a weak map. Ours are made for one execution each, so that it
 * never finds any. An old weak map holds on to its values during a minor collection.
 *
 * For each execution the client looks up the name of the prepared statement by its text, and moves it to the end of a map, to drop the
 * name that was used least recently. So the map replaces its table all the time, and each execution puts a new copy of the text
 * into it. V8 keeps the tables that were replaced: once one is old, it holds on to all later ones. Moving is of use only once
 * there are as many names as the client keeps.
 */
import { Effect, Predicate } from "effect"
import type { SqlClient } from "effect/sql"

const NO_CACHE = { get: () => undefined, set: () => undefined }
const CACHES = ["statementCache", "statementCacheNoTransform"]

/** Makes the compiler of a client cache no statements. */
export const cacheNoStatements = (sql: SqlClient.SqlClient): Effect.Effect<void> =>
  Effect.sync(() => {
    const statement: unknown = sql`SELECT 1`
    if (!Predicate.hasProperty(statement, "compiler") || !Predicate.isObject(statement.compiler)) return
    for (const name of CACHES) if (name in statement.compiler) Object.assign(statement.compiler, { [name]: NO_CACHE })
  })

/** The names of the statements that a connection has prepared. */
interface Names {
  readonly max: number
  readonly statements: Map<string, unknown>
  readonly get: (sql: string, parameterTypes: ReadonlyArray<number>) => unknown
}

const hasNames = (prototype: unknown): prototype is Names =>
  Predicate.hasProperty(prototype, "get") && Predicate.isFunction(prototype.get)

const namesOf = (connection: unknown): unknown =>
  Predicate.hasProperty(connection, "connection") &&
  Predicate.hasProperty(connection.connection, "base") &&
  Predicate.hasProperty(connection.connection.base, "prepared")
    ? connection.connection.base.prepared
    : undefined

const kept = new WeakSet<object>()

/** The client does not export the class, so it is taken from a connection, and applies to all. */
const keepInPlace = (names: unknown): void => {
  if (!Predicate.isObject(names)) return
  const prototype: unknown = Object.getPrototypeOf(names)
  if (!Predicate.isObject(prototype) || !hasNames(prototype) || kept.has(prototype)) return
  kept.add(prototype)
  const { get } = prototype
  Object.defineProperty(prototype, "get", {
    value(this: Names, sql: string, parameterTypes: ReadonlyArray<number>) {
      if (this.statements.size >= this.max) return get.call(this, sql, parameterTypes)
      const key = parameterTypes.length === 0 ? sql : `${sql}\u0000${parameterTypes.join(",")}`
      return this.statements.get(key) ?? get.call(this, sql, parameterTypes)
    },
  })
}

/** Keeps the names in place, on all connections of this process. Does nothing if the client prepares no statements. */
export const keepStatementNames = (sql: SqlClient.SqlClient) =>
  Effect.scoped(Effect.map(sql.reserve, (connection) => keepInPlace(namesOf(connection))))
