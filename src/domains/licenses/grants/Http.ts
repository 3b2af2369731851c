/** Handlers of what licenses grant. */
import { Effect } from "effect"
import * as Apis from "../../../kernel/contract/Apis.ts"
import { created } from "../../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../../kernel/contract/Handlers.ts"
import { withSentDigits } from "../../../kernel/values/Decimal.ts"
import { LicenseEntitlementsApi } from "./Api.ts"
import { LicenseGrants } from "./Service.ts"

export const licenseEntitlements = handlersOf(
  Apis.core(LicenseEntitlementsApi),
  "licenseEntitlements",
  Effect.fn(function* (handlers) {
    const grants = yield* LicenseGrants
    return handlers.handleAll({
      list: ({ params, query }) => grants.list(params.licenseSlug, query),
      assign: ({ params, payload }) =>
        withSentDigits(payload, ["value"]).pipe(
          Effect.flatMap((granted) => grants.create(params.licenseSlug, granted)),
          Effect.map((grant) =>
            created(`/api/licenses/${params.licenseSlug}/entitlements/${grant.entitlementSlug}`, grant),
          ),
        ),
      update: ({ params, payload }) =>
        Effect.flatMap(withSentDigits(payload, ["value"]), (granted) =>
          grants.update(params.licenseSlug, params.entitlementSlug, granted),
        ),
      unassign: ({ params }) => grants.delete(params.licenseSlug, params.entitlementSlug),
    })
  }),
)
