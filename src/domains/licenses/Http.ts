/** Handlers of licenses, their families and their grants. */
import { Effect } from "effect"
import * as Apis from "../../kernel/contract/Apis.ts"
import { created } from "../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { LicensesApi } from "./Api.ts"
import { LicenseFamiliesApi } from "./FamiliesApi.ts"
import { LicenseFamilies } from "./Families.ts"
import { LicenseLifecycle } from "./Lifecycle.ts"
import { Licenses } from "./Service.ts"

export const licenses = handlersOf(
  Apis.core(LicensesApi),
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

export const licenseFamilies = handlersOf(
  Apis.core(LicenseFamiliesApi),
  "licenseFamilies",
  Effect.fn(function* (handlers) {
    const families = yield* LicenseFamilies
    return handlers.handleAll({
      list: ({ query }) => families.list(query),
      get: ({ params, query }) => families.get(params.licenseFamilySlug, query),
    })
  }),
)
