/** Handlers of the check. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import * as Apis from "../../../kernel/contract/Apis.ts"
import { handlersOf } from "../../../kernel/contract/Handlers.ts"
import { withSentDigits } from "../../../kernel/values/Decimal.ts"
import { CheckApi } from "./Api.ts"
import { checkAsText } from "./CheckResponse.ts"
import { Consumption } from "./Consumption.ts"
import { Checks } from "./Service.ts"

const asResponse = (text: string) => HttpServerResponse.text(text, { contentType: "application/json" })

export const check = handlersOf(
  Apis.core(CheckApi),
  "check",
  Effect.fn(function* (handlers) {
    const checks = yield* Checks
    const consumption = yield* Consumption
    return handlers.handleAll({
      check: ({ params, payload }) =>
        Effect.flatMap(withSentDigits(payload, ["checks", "requested"]), (request) =>
          request.consume === true
            ? Effect.map(consumption.consume(params.instanceSlug, request), (result) => asResponse(checkAsText(result)))
            : Effect.map(checks.checkAsText(params.instanceSlug, request), asResponse),
        ),
    })
  }),
)
