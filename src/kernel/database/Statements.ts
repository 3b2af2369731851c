/** Runs the statements of repositories. A database error is a defect (503 or 500), and rows are typed. */
import { PgTypes } from "@effect/sql-pg"
import { Array as Arr, Effect, Option, Predicate, Result, Schema } from "effect"
import type { Cause } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { isSqlError } from "effect/sql/SqlError"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"

type Statement<R> = Effect.Effect<ReadonlyArray<unknown>, SqlError, R>

/**
 * Returns rows without decoding them: those of responses, whose columns are aliased to the record's properties, because encoding the
 * response validates them; and those of hot paths, where decoding costs more than a hundredth of the request. Other rows on which a
 * decision depends are {@link decoded}.
 */
export const records =
  <A>() =>
  <R>(statement: Statement<R>): Effect.Effect<ReadonlyArray<A>, never, R> =>
    Effect.orDie(statement as Effect.Effect<ReadonlyArray<A>, SqlError, R>)

/** Runs a statement without reading its rows. */
export const executed = <R>(statement: Statement<R>): Effect.Effect<void, never, R> =>
  Effect.asVoid(Effect.orDie(statement))

/** Returns the first row of {@link records}. */
export const record =
  <A>() =>
  <R>(statement: Statement<R>): Effect.Effect<Option.Option<A>, never, R> =>
    Effect.map(Effect.orDie(statement), (rows) => Option.fromNullishOr(rows[0] as A | undefined))

/** {@link decoded}, for callers that answer database errors. */
export const decodedOrFailed = <A, I>(row: Schema.Codec<A, I>) => {
  const decode = Schema.decodeUnknownEffect(Schema.Array(row))
  return <R>(statement: Statement<R>): Effect.Effect<ReadonlyArray<A>, SqlError, R> =>
    Effect.flatMap(statement, (rows) => Effect.orDie(decode(rows)))
}

/** Returns rows decoded by a schema, for rows that decisions depend on. */
export const decoded = <A, I>(row: Schema.Codec<A, I>) => {
  const decode = decodedOrFailed(row)
  return <R>(statement: Statement<R>): Effect.Effect<ReadonlyArray<A>, never, R> => Effect.orDie(decode(statement))
}

/** Returns the first row of {@link decoded}. */
export const decodedOne = <A, I>(row: Schema.Codec<A, I>) => {
  const decode = decoded(row)
  return <R>(statement: Statement<R>): Effect.Effect<Option.Option<A>, never, R> =>
    Effect.map(decode(statement), (rows) => Option.fromNullishOr(rows[0]))
}

/** Returns one column of {@link decoded} rows. */
export const decodedColumn = <A, I>(name: string, value: Schema.Codec<A, I>) => {
  const decode = decoded(value)
  return <R>(statement: Statement<R>): Effect.Effect<ReadonlyArray<A>, never, R> =>
    decode(
      Effect.map(
        statement,
        Arr.map((row) => (Predicate.hasProperty(row, name) ? row[name] : undefined)),
      ),
    )
}

/** Returns the first value of {@link decodedColumn}; none also for `NULL`, if the schema accepts it. */
export const decodedValue = <A, I>(name: string, value: Schema.Codec<A, I>) => {
  const decode = decodedColumn(name, value)
  return <R>(statement: Statement<R>): Effect.Effect<Option.Option<NonNullable<A>>, never, R> =>
    Effect.map(decode(statement), ([first]) => Option.fromNullishOr(first))
}

/** Returns how many rows a statement (`... RETURNING 1`) returned. */
export const returnedCount = <R>(statement: Statement<R>): Effect.Effect<number, never, R> =>
  Effect.map(Effect.orDie(statement), ({ length }) => length)

/** Acquires the advisory lock with this name until the transaction ends, exclusive (`alone`) or shared. */
export const advisoryLock = (sql: SqlClient, name: string, mode: "alone" | "shared" = "alone"): Effect.Effect<void> =>
  Effect.asVoid(
    Effect.orDie(
      mode === "alone"
        ? sql`SELECT pg_advisory_xact_lock(hashtextextended(${name}, 0))`
        : sql`SELECT pg_advisory_xact_lock_shared(hashtextextended(${name}, 0))`,
    ),
  )

/**
 * What keeps the first plan of each statement until the transaction ends: no other values have a better one. Nothing on Citus, which
 * chooses the shard of a statement by its values.
 */
export const keepingPlans = (sql: SqlClient): Effect.Effect<string> =>
  Effect.map(hasCitus(sql), (isSharded) =>
    isSharded ? "NULL" : "set_config('plan_cache_mode', 'force_generic_plan', true)",
  )

const indexPlans = (sql: SqlClient): Effect.Effect<Fragment> =>
  Effect.map(keepingPlans(sql), (kept) => {
    const methods = ["seqscan", "bitmapscan", "hashjoin", "mergejoin", "sort"].map((name) => `enable_${name}`)
    const settings = methods.map((name) => `set_config('${name}', 'off', true)`)
    return sql.literal([...settings, kept].join(", "))
  })

/**
 * Until the transaction ends, its statements are planned by index. PostgreSQL keeps plans: one made when the tables
 * were small would read all of them until their statistics are updated.
 */
export const planByIndex = (sql: SqlClient): Effect.Effect<void> =>
  Effect.flatMap(indexPlans(sql), (plans) => executed(sql`SELECT ${plans}`))

/** {@link planByIndex} and {@link advisoryLock} in one statement. */
export const planByIndexUnderLock = (sql: SqlClient, name: string): Effect.Effect<void> =>
  Effect.flatMap(indexPlans(sql), (plans) =>
    executed(sql`SELECT ${plans}, pg_advisory_xact_lock(hashtextextended(${name}, 0))`),
  )

const lockNamesIn = decodedColumn("name", Schema.String)

/**
 * {@link planByIndex}, and those of the locks with these names that no other transaction holds, in one statement. It waits for none, so
 * that many locks make no deadlock. Returns the names of the locks.
 */
export const planByIndexUnderFreeLocks = (
  sql: SqlClient,
  names: ReadonlyArray<string>,
): Effect.Effect<ReadonlySet<string>> =>
  Effect.flatMap(indexPlans(sql), (settings) =>
    Effect.map(
      lockNamesIn(sql`
        WITH plans AS MATERIALIZED (SELECT ${settings})
        SELECT name FROM plans CROSS JOIN unnest(${names}::text[]) AS name
        WHERE pg_try_advisory_xact_lock(hashtextextended(name, 0))`),
      (free) => new Set(free),
    ),
  )

/** Whether a statement (`... RETURNING`) returned a row. */
export const returnedRow = <R>(statement: Statement<R>): Effect.Effect<boolean, never, R> =>
  Effect.map(Effect.orDie(statement), (rows) => rows.length > 0)

/**
 * An array parameter of this type with one value per row. In an `unnest`, wrap one of the arrays in a `(SELECT ...)`:
 * PostgreSQL then estimates ten rows regardless of the array's length and reuses the generic plan. Otherwise short
 * arrays seem cheaper with a custom plan, and each statement is planned again.
 */
export const column = <Row>(
  type: keyof typeof PgTypes.OID,
  rows: ReadonlyArray<Row>,
  valueOf: (row: Row, index: number) => unknown,
) => Result.getOrThrow(PgTypes.array(rows.map(valueOf), PgTypes.OID[type]))

/** Whether no connection was available, so that nothing was sent. */
export const isNotConnected = ({ reason }: SqlError): boolean => reason.operation === "connect"

/** The SQLSTATE of an error, or an empty string if it has none. */
export const sqlStateOf = ({ cause }: { readonly cause: unknown }): string => {
  const code = Predicate.hasProperty(cause, "code") ? String(cause.code) : ""
  return /^[0-9A-Z]{5}$/.test(code) ? code : ""
}

/** Whether the session could not write, because the database is read-only or a standby. */
export const isReadOnly = ({ reason }: SqlError): boolean => sqlStateOf(reason) === "25006"

const SHUTDOWN_CLASS = "57P"

/**
 * Whether a failed statement may have been committed, because the connection or the database was lost after it was
 * sent. Such a statement must not be retried.
 */
export const mayHaveCommitted = (cause: Cause.Cause<never>): boolean =>
  cause.reasons.some((died) => {
    if (died._tag !== "Die" || !isSqlError(died.defect)) return false
    const { reason } = died.defect
    const isBroken = reason._tag === "ConnectionError" && !isNotConnected(died.defect)
    return isBroken || sqlStateOf(reason).startsWith(SHUTDOWN_CLASS)
  })

const citusByClient = new WeakMap<SqlClient, boolean>()

/**
 * Whether the database has Citus, which distributes the tables by organization. A statement names one organization by a
 * parameter, in each of its subqueries too. Where that costs too much on one server, there is one form for each. Each
 * client asks the database once.
 */
export const hasCitus = (sql: SqlClient): Effect.Effect<boolean> =>
  Effect.suspend(() => {
    const known = citusByClient.get(sql)
    return known === undefined
      ? Effect.tap(returnedRow(sql`SELECT 1 FROM pg_extension WHERE extname = 'citus'`), (found) =>
          Effect.sync(() => citusByClient.set(sql, found)),
        )
      : Effect.succeed(known)
  })

/** Whether Citus distributes the table by organization. */
export const isDistributed = (sql: SqlClient, table: string): Effect.Effect<boolean> =>
  Effect.flatMap(hasCitus(sql), (found) =>
    found
      ? returnedRow(
          sql`SELECT 1 FROM citus_tables WHERE table_name = ${table}::regclass AND citus_table_type = 'distributed'`,
        )
      : Effect.succeed(false),
  )
