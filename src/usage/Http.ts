/** Handlers of the check. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { CoreApi } from "../CoreApi.ts"
import { Usage } from "./Service.ts"

export const check = HttpApiBuilder.group(
  CoreApi,
  "check",
  Effect.fn(function* (handlers) {
    const usage = yield* Usage
    return handlers.handleAll({
      check: ({ params, payload }) => usage.check(params.instanceSlug, payload),
    })
  }),
)
