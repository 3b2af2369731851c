/** Handler of `GET /members`. */
import { Effect } from "effect"
import * as Apis from "../../kernel/contract/Apis.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { MembersApi } from "./Api.ts"
import { Members } from "./Members.ts"

export const members = handlersOf(
  Apis.core(MembersApi),
  "members",
  Effect.fn(function* (handlers) {
    const members = yield* Members
    return handlers.handleAll({
      list: ({ query }) => members.list(query),
    })
  }),
)
