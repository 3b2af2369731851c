/** Handlers of leases. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import * as Apis from "../../../kernel/contract/Apis.ts"
import { created } from "../../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../../kernel/contract/Handlers.ts"
import { toJson } from "../../../kernel/contract/JsonResponse.ts"
import { LeasesApi } from "./Api.ts"
import { Leases } from "./Service.ts"

export const leases = handlersOf(
  Apis.core(LeasesApi),
  "leases",
  Effect.fn(function* (handlers) {
    const leases = yield* Leases
    return handlers.handleAll({
      list: ({ params, query }) => leases.list(params.instanceSlug, params.entitlementSlug, query),
      acquire: ({ params, payload }) =>
        Effect.map(leases.acquire(params.instanceSlug, params.entitlementSlug, payload), ({ isNew, lease }) =>
          // Both declared responses have the same body, so the status is set explicitly.
          isNew
            ? created(`/api/instances/${lease.instance}/entitlements/${lease.entitlement}/leases/${lease.id}`, lease)
            : HttpServerResponse.jsonUnsafe(toJson(lease), { status: 200 }),
        ),
      release: ({ params }) => leases.release(params.instanceSlug, params.entitlementSlug, params.leaseId),
    })
  }),
)
