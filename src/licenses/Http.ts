/** Handlers of licenses, their families and their grants. */
import { Effect } from "effect"
import { CoreApi } from "../CoreApi.ts"
import { created } from "../kernel/Endpoint.ts"
import { handlersOf } from "../kernel/Handlers.ts"
import { withSentDigits } from "../kernel/ExactNumber.ts"
import { LicenseFamilies } from "./Families.ts"
import { LicenseGrants } from "./Grants.ts"
import { LicenseLifecycle } from "./Lifecycle.ts"
import { Licenses } from "./Service.ts"

export const licenses = handlersOf(
  CoreApi,
  "licenses",
  Effect.fn(function* (handlers) {
    const licenses = yield* Licenses
    const lifecycle = yield* LicenseLifecycle
    return handlers.handleAll({
      list: ({ query }) => licenses.list(query),
      create: ({ payload }) =>
        Effect.map(licenses.create(payload), (license) => created(`/api/licenses/${license.slug}`, license)),
      get: ({ params }) => licenses.get(params.licenseSlug),
      update: ({ params, payload }) => licenses.update(params.licenseSlug, payload),
      delete: ({ params }) => licenses.delete(params.licenseSlug),
      publish: ({ params }) => lifecycle.publish(params.licenseSlug),
      archive: ({ params }) => lifecycle.archive(params.licenseSlug),
      unarchive: ({ params }) => lifecycle.unarchive(params.licenseSlug),
    })
  }),
)

export const licenseEntitlements = handlersOf(
  CoreApi,
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

export const licenseFamilies = handlersOf(
  CoreApi,
  "licenseFamilies",
  Effect.fn(function* (handlers) {
    const families = yield* LicenseFamilies
    return handlers.handleAll({
      list: ({ query }) => families.list(query),
      get: ({ params }) => families.get(params.licenseFamilySlug),
    })
  }),
)
