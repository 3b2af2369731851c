/** Handlers of the check. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import * as Apis from "../../../kernel/contract/Apis.ts"
import { handlersOf } from "../../../kernel/contract/Handlers.ts"
import { withSentDigits } from "../../../kernel/values/Decimal.ts"
import { CheckApi } from "./Api.ts"
import { checkAsText } from "./CheckResponse.ts"
import type { Answer } from "./CheckResponse.ts"
import { Consumption } from "./Consumption.ts"
import { Usage } from "./Service.ts"

const writtenCheck = (answer: Answer) =>
  HttpServerResponse.text(checkAsText(answer), { contentType: "application/json" })

export const check = handlersOf(
  Apis.core(CheckApi),
  "check",
  Effect.fn(function* (handlers) {
    const usage = yield* Usage
    const consumption = yield* Consumption
    return handlers.handleAll({
      check: ({ params, payload }) =>
        Effect.flatMap(withSentDigits(payload, ["checks", "requested"]), (asked) =>
          Effect.map(
            asked.consume === true
              ? consumption.consume(params.instanceSlug, asked)
              : usage.check(params.instanceSlug, asked),
            writtenCheck,
          ),
        ),
    })
  }),
)
