/** Statements of repositories: a failing database is a defect (answered with 503 or 500), rows are typed. */
import { Effect, Option, Schema } from "effect"
import type { SqlError } from "effect/sql/SqlError"

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

/** Whether the statement (`... RETURNING`) touched a row. */
export const touched = <R>(statement: Statement<R>): Effect.Effect<boolean, never, R> =>
  Effect.map(Effect.orDie(statement), (rows) => rows.length > 0)
