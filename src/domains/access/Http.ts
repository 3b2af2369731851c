/** Handlers of the service account endpoints and `GET /me`. */
import { Effect } from "effect"
import * as Apis from "../../kernel/contract/Apis.ts"
import { created } from "../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { MeApi, ServiceAccountsApi } from "./Api.ts"
import { Me } from "./Me.ts"
import { ServiceAccounts } from "./ServiceAccounts.ts"

export const serviceAccounts = handlersOf(
  Apis.core(ServiceAccountsApi),
  "serviceAccounts",
  Effect.fn(function* (handlers) {
    const accounts = yield* ServiceAccounts
    return handlers.handleAll({
      list: ({ query }) => accounts.list(query),
      create: ({ payload }) =>
        Effect.map(accounts.create(payload), (account) => created(`/api/service-accounts/${account.slug}`, account)),
      get: ({ params }) => accounts.get(params.serviceAccountSlug),
      update: ({ params, payload }) => accounts.update(params.serviceAccountSlug, payload),
      delete: ({ params }) => accounts.delete(params.serviceAccountSlug),
      issueToken: ({ params, payload }) =>
        Effect.map(accounts.issueToken(params.serviceAccountSlug, payload), (token) =>
          created(`/api/service-accounts/${params.serviceAccountSlug}/tokens/${token.slug}`, token),
        ),
      listTokens: ({ params, query }) => accounts.listTokens(params.serviceAccountSlug, query),
      rotateToken: ({ params, payload = {} }) =>
        Effect.map(accounts.rotateToken(params.serviceAccountSlug, params.tokenSlug, payload), (token) =>
          created(`/api/service-accounts/${params.serviceAccountSlug}/tokens/${token.slug}`, token),
        ),
      revokeToken: ({ params }) => accounts.revokeToken(params.serviceAccountSlug, params.tokenSlug),
    })
  }),
)

export const me = handlersOf(
  Apis.core(MeApi),
  "me",
  Effect.fn(function* (handlers) {
    const me = yield* Me
    return handlers.handleAll({
      me: () => me.ofCaller(),
    })
  }),
)
