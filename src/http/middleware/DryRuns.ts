/**
 * Runs a request with `?dryRun=true` in a transaction that is undone, and returns what the real one would have
 * returned. A rejection passes unchanged.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Impacts } from "../../domains/impact/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { CurrentDryRun, DryRunImpact, DryRuns } from "../../kernel/contract/dryruns/DryRun.ts"
import type { DryRunEvent } from "../../kernel/contract/dryruns/DryRun.ts"
import { annotationOf } from "../../kernel/contract/Endpoint.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { parseJson } from "../../kernel/values/Decimal.ts"
import { textOf } from "./ProblemResponses.ts"

const bodyOf = (response: HttpServerResponse.HttpServerResponse): unknown => {
  const text = textOf(response) ?? ""
  return text === "" ? null : parseJson(text)
}

/** Middleware of the endpoints that declare `dryRun`. */
export const layer = Layer.effect(
  DryRuns,
  Effect.gen(function* () {
    const transactions = yield* Transactions
    const impacts = yield* Impacts

    return DryRuns.of(
      Effect.fnUntraced(function* (handler, { endpoint }) {
        const { dryRun } = yield* HttpServerRequest.ParsedSearchParams
        if (dryRun !== "true") return yield* handler
        const kind = annotationOf(endpoint, DryRunImpact)
        if (kind === undefined) return yield* Effect.die(new Error(`${endpoint.name} declares no impact`))
        const caller = yield* Caller
        const { params } = yield* HttpRouter.RouteContext
        let events: Array<DryRunEvent> = []
        // A transaction that loses a conflict runs again.
        const attempt = Effect.suspend(() => Effect.provideService(handler, CurrentDryRun, (events = [])))
        const [{ body, status }, impact] = yield* transactions.rehearse(
          Effect.map(attempt, (response) => ({ status: response.status, body: bodyOf(response) })),
          ({ body }) => impacts.of(kind, { caller, params, events, body }),
        )
        return HttpServerResponse.jsonUnsafe({ dryRun: true, status, body, events, impact })
      }),
    )
  }),
)
