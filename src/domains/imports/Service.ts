/** Use case of imports. Each row is a transaction of its own, together with its event. */
import { Context, Effect, Layer, Predicate, Result } from "effect"
import { Caller } from "../../kernel/contract/Caller.ts"
import { MissingScope } from "../../kernel/contract/Problem.ts"
import { allows } from "../../kernel/contract/Scope.ts"
import { importScopes } from "./Model.ts"
import type { ImportRequest, ImportResult } from "./Model.ts"
import { ImportRows } from "./Rows.ts"
import type { Refusal } from "./Rows.ts"
import { errorsOfRow } from "./Rules.ts"

const slugOf = (row: Readonly<Record<string, unknown>>): string | null => {
  const slug = row["slug"] ?? row["instance"]
  return Predicate.isString(slug) ? slug : null
}

/** The result of a rejected row. A problem without errors is about the row as a whole. */
const rejection = (index: number, row: Readonly<Record<string, unknown>>, problem: Refusal): ImportResult => ({
  index,
  status: "rejected",
  slug: slugOf(row),
  code: problem.code,
  errors: errorsOfRow(
    problem.errors.length > 0 ? problem.errors : [{ location: "body", message: problem.detail }],
    index,
  ),
})

/** Imports records into the caller's organization. */
export class Imports extends Context.Service<
  Imports,
  {
    /** Imports rows in order. `exact` are the same rows with all digits of their numbers. */
    readonly run: (
      input: ImportRequest,
      exact: ReadonlyArray<unknown>,
    ) => Effect.Effect<{ readonly results: ReadonlyArray<ImportResult> }, MissingScope, Caller>
  }
>()("keyshelf/imports/Imports") {
  static readonly layer = Layer.suspend(() => Layer.effect(Imports, make))
}

const make = Effect.gen(function* () {
  const rows = yield* ImportRows

  const run = Effect.fn("Imports.run")(function* ({ kind, rows: sent }: ImportRequest, exact: ReadonlyArray<unknown>) {
    const { scopes } = yield* Caller
    const needed = importScopes[kind]
    if (!allows(scopes, needed)) {
      return yield* new MissingScope({ detail: `Importing ${kind} requires the scope ${needed}.` })
    }
    const results = yield* Effect.forEach(sent, (row, index) =>
      Effect.map(Effect.result(rows.apply(kind, row, exact[index])), (result): ImportResult =>
        Result.isSuccess(result) ? { index, ...result.success } : rejection(index, row, result.failure),
      ),
    )
    return { results }
  })

  return { run }
})
