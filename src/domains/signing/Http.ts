/** Handlers of signing keys. */
import { Effect } from "effect"
import * as Apis from "../../kernel/contract/Apis.ts"
import { created } from "../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { SigningKeysApi } from "./Api.ts"
import { SigningKeys } from "./Service.ts"

export const signingKeys = handlersOf(
  Apis.core(SigningKeysApi),
  "signingKeys",
  Effect.fn(function* (handlers) {
    const keys = yield* SigningKeys
    return handlers.handleAll({
      list: ({ query }) => keys.list(query),
      create: ({ payload }) => Effect.map(keys.create(payload), (key) => created(`/api/signing-keys/${key.kid}`, key)),
      activate: ({ params }) => keys.activate(params.kid),
      revoke: ({ params }) => keys.revoke(params.kid),
    })
  }),
)
