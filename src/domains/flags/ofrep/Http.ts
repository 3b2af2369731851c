/** HTTP handlers for OFREP evaluation. */
import { Effect } from "effect"
import * as Apis from "../../../kernel/contract/Apis.ts"
import { handlersOf } from "../../../kernel/contract/Handlers.ts"
import { OfrepApi } from "./Api.ts"
import { badRequest, bulkResponse, evaluationResponse, withContext } from "./Responses.ts"
import { Evaluations, instanceOf } from "./Service.ts"
import { StreamTickets } from "./streams/Tickets.ts"

export const ofrep = handlersOf(
  Apis.core(OfrepApi),
  "ofrep",
  Effect.fn(function* (handlers) {
    const evaluations = yield* Evaluations
    const tickets = yield* StreamTickets

    return handlers
      .handleRaw("evaluate", ({ params, request }) =>
        withContext(
          request,
          (failure) => badRequest({ key: params.key, ...failure }),
          (context) => Effect.map(evaluations.evaluate(params.key, context), evaluationResponse),
        ),
      )
      .handleRaw("evaluateAll", ({ headers, request }) =>
        withContext(request, badRequest, (context) =>
          Effect.flatMap(evaluations.all(context), (all) =>
            bulkResponse(all, headers, Effect.flatMap(instanceOf(context), tickets.issue)),
          ),
        ),
      )
  }),
)
