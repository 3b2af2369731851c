/** Statements of repositories: a failing database is a defect (answered with 503 or 500), rows are typed. */
import { PgTypes } from "@effect/sql-pg"
import { Effect, Option, Predicate, Result, Schema } from "effect"
import type { Cause } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { isSqlError } from "effect/sql/SqlError"
import type { SqlError } from "effect/sql/SqlError"
import { parseJson } from "../values/Decimal.ts"

type Statement<R> = Effect.Effect<ReadonlyArray<unknown>, SqlError, R>

/**
 * Rows that are answered as they are. Their columns are aliased to the record's members, and encoding the answer
 * validates them, so they are not decoded a second time.
 */
export const records =
  <A>() =>
  <R>(statement: Statement<R>): Effect.Effect<ReadonlyArray<A>, never, R> =>
    Effect.orDie(statement as Effect.Effect<ReadonlyArray<A>, SqlError, R>)

/** The first of {@link records}. */
export const record =
  <A>() =>
  <R>(statement: Statement<R>): Effect.Effect<Option.Option<A>, never, R> =>
    Effect.map(Effect.orDie(statement), (rows) => Option.fromNullishOr(rows[0] as A | undefined))

/** {@link records} of events, whose statement reads `data` as text (`data::text`), so that its amounts keep their digits. */
export const eventRecords =
  <A extends { readonly data: unknown }>() =>
  <R>(statement: Statement<R>): Effect.Effect<ReadonlyArray<A>, never, R> =>
    Effect.map(records<A>()(statement), (rows) =>
      rows.map((row) => (Predicate.isString(row.data) ? { ...row, data: parseJson(row.data) } : row)),
    )

/** Rows that decisions are made on, decoded by their schema. */
export const decoded = <A, I>(row: Schema.Codec<A, I>) => {
  const decode = Schema.decodeUnknownEffect(Schema.Array(row))
  return <R>(statement: Statement<R>): Effect.Effect<ReadonlyArray<A>, never, R> =>
    Effect.orDie(Effect.flatMap(statement, decode))
}

/** The first of {@link decoded}. */
export const decodedOne = <A, I>(row: Schema.Codec<A, I>) => {
  const decode = decoded(row)
  return <R>(statement: Statement<R>): Effect.Effect<Option.Option<A>, never, R> =>
    Effect.map(decode(statement), (rows) => Option.fromNullishOr(rows[0]))
}

/** Waits for the lock of this name and holds it until the transaction ends: alone, or with others that share it. */
export const lockName = (sql: SqlClient, name: string, mode: "alone" | "shared" = "alone"): Effect.Effect<void> =>
  Effect.asVoid(
    Effect.orDie(
      mode === "alone"
        ? sql`SELECT pg_advisory_xact_lock(hashtextextended(${name}, 0))`
        : sql`SELECT pg_advisory_xact_lock_shared(hashtextextended(${name}, 0))`,
    ),
  )

/** Whether the statement (`... RETURNING`) touched a row. */
export const touched = <R>(statement: Statement<R>): Effect.Effect<boolean, never, R> =>
  Effect.map(Effect.orDie(statement), (rows) => rows.length > 0)

/**
 * A parameter that is an array of this type: a value for each row, however few of them are there. Where it is unnested, one of
 * the arrays stands in a `(SELECT ...)` of its own: PostgreSQL then takes any number of rows for at least ten, and keeps its
 * plan. Otherwise fewer seem cheaper to it, and whoever sends few is planned for anew each time.
 */
export const column = <Row>(
  type: keyof typeof PgTypes.OID,
  rows: ReadonlyArray<Row>,
  valueOf: (row: Row, index: number) => unknown,
) => Result.getOrThrow(PgTypes.array(rows.map(valueOf), PgTypes.OID[type]))

/** Whether no connection was to be had, so that nothing was sent. */
export const isNotConnected = ({ reason }: SqlError): boolean => reason.operation === "connect"

/** The SQLSTATE by which the database told why; empty if it told none. */
export const sqlStateOf = ({ cause }: { readonly cause: unknown }): string => {
  const code = Predicate.hasProperty(cause, "code") ? String(cause.code) : ""
  return /^[0-9A-Z]{5}$/.test(code) ? code : ""
}

const SHUT_DOWN = "57P"

/**
 * Whether a statement that died may have been committed all the same: it was sent, and then the connection or the database was
 * gone. It must not be tried again.
 */
export const mayHaveCommitted = (cause: Cause.Cause<never>): boolean =>
  cause.reasons.some((died) => {
    if (died._tag !== "Die" || !isSqlError(died.defect)) return false
    const { reason } = died.defect
    const isBroken = reason._tag === "ConnectionError" && !isNotConnected(died.defect)
    return isBroken || sqlStateOf(reason).startsWith(SHUT_DOWN)
  })

/** Whether tables may be spread over nodes by organization: a statement then has to be about one. */
export const findsCitus = (sql: SqlClient): Effect.Effect<boolean> =>
  touched(sql`SELECT 1 FROM pg_extension WHERE extname = 'citus'`)
