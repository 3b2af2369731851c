/** Handlers of the metadata field endpoints. */
import { Effect } from "effect"
import * as Apis from "../../kernel/contract/Apis.ts"
import { created } from "../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { MetadataFieldsApi } from "./Api.ts"
import { MetadataFields } from "./Service.ts"

export const metadataFields = handlersOf(
  Apis.core(MetadataFieldsApi),
  "metadataFields",
  Effect.fn(function* (handlers) {
    const fields = yield* MetadataFields
    return handlers.handleAll({
      list: ({ query }) => fields.list(query),
      create: ({ payload }) =>
        Effect.map(fields.create(payload), (field) => created(`/api/metadata-fields/${field.id}`, field)),
      update: ({ params, payload }) => fields.update(params.metadataFieldId, payload),
      archive: ({ params }) => fields.archive(params.metadataFieldId),
      unarchive: ({ params }) => fields.unarchive(params.metadataFieldId),
      dryRun: ({ params, payload }) => fields.dryRun(params.metadataFieldId, payload),
    })
  }),
)
