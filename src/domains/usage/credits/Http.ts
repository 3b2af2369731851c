/** Handlers of credits. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import * as Apis from "../../../kernel/contract/Apis.ts"
import { created } from "../../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../../kernel/contract/Handlers.ts"
import { toJson } from "../../../kernel/contract/JsonResponse.ts"
import { withSentDigits } from "../../../kernel/values/Decimal.ts"
import { CreditsApi } from "./Api.ts"
import { Credits } from "./Service.ts"

export const credits = handlersOf(
  Apis.core(CreditsApi),
  "credits",
  Effect.fn(function* (handlers) {
    const credits = yield* Credits
    return handlers.handleAll({
      list: ({ params, query }) => credits.list(params.instanceSlug, params.entitlementSlug, query),
      create: ({ params, payload }) =>
        withSentDigits(payload, ["amount"]).pipe(
          Effect.flatMap((body) => credits.create(params.instanceSlug, params.entitlementSlug, body)),
          // Both declared responses have the same body, so the status is set explicitly.
          Effect.map(({ credit, isNew }) =>
            isNew
              ? created(`/api/credits/${credit.id}`, credit)
              : HttpServerResponse.jsonUnsafe(toJson(credit), { status: 200 }),
          ),
        ),
      get: ({ params }) => credits.get(params.creditId),
      void: ({ params }) => credits.void(params.creditId),
      usage: ({ params, query }) => credits.uses(params.creditId, query),
    })
  }),
)
