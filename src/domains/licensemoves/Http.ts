/** Handlers of license migrations. */
import { Effect } from "effect"
import * as Apis from "../../kernel/contract/Apis.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { LicenseMigrationsApi } from "./Api.ts"
import { LicenseMigrations } from "./Service.ts"

export const licenseMigrations = handlersOf(
  Apis.core(LicenseMigrationsApi),
  "licenseMigrations",
  Effect.fn(function* (handlers) {
    const migrations = yield* LicenseMigrations
    return handlers.handleAll({
      request: ({ params, payload }) => migrations.request(params.licenseSlug, payload),
      list: ({ query }) => migrations.list(query),
      get: ({ params }) => migrations.get(params.migrationId),
      items: ({ params, query }) => migrations.items(params.migrationId, query),
      cancel: ({ params }) => migrations.cancel(params.migrationId),
      revert: ({ params }) => migrations.revert(params.migrationId),
    })
  }),
)
