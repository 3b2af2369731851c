/** The handler of imports. */
import { Effect } from "effect"
import * as Apis from "../../kernel/contract/Apis.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { withSentDigits } from "../../kernel/values/Decimal.ts"
import { ImportsApi } from "./Api.ts"
import { Imports } from "./Service.ts"

export const imports = handlersOf(
  Apis.core(ImportsApi),
  "imports",
  Effect.fn(function* (handlers) {
    const imports = yield* Imports
    return handlers.handleAll({
      run: ({ payload }) =>
        Effect.flatMap(withSentDigits(payload, ["rows", "value"], ["rows", "amount"]), ({ rows }) =>
          imports.run(payload, rows),
        ),
    })
  }),
)
