/** Handlers of the platform credential and minted token endpoints, and `GET /platform/me`. */
import { Effect } from "effect"
import * as Apis from "../../kernel/contract/Apis.ts"
import { created } from "../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { OrganizationTokensApi, PlatformCredentialsApi, PlatformMeApi } from "./PlatformApi.ts"
import { Me } from "./Me.ts"
import { OrganizationTokens } from "./OrganizationTokens.ts"
import { PlatformCredentials } from "./PlatformCredentials.ts"

export const organizationTokens = handlersOf(
  Apis.platform(OrganizationTokensApi),
  "organizationTokens",
  Effect.fn(function* (handlers) {
    const tokens = yield* OrganizationTokens
    return handlers.handleAll({
      list: ({ params, query }) => tokens.list(params.orgId, query),
      mint: ({ params, payload }) =>
        Effect.map(tokens.mint(params.orgId, payload), (token) =>
          created(`/api/platform/organizations/${params.orgId}/tokens/${token.slug}`, token),
        ),
      revoke: ({ params }) => tokens.revoke(params.orgId, params.tokenSlug),
    })
  }),
)

export const platformCredentials = handlersOf(
  Apis.platform(PlatformCredentialsApi),
  "platformCredentials",
  Effect.fn(function* (handlers) {
    const credentials = yield* PlatformCredentials
    return handlers.handleAll({
      list: ({ query }) => credentials.list(query),
      create: ({ payload }) =>
        Effect.map(credentials.create(payload), (credential) =>
          created(`/api/platform/credentials/${credential.slug}`, credential),
        ),
      revoke: ({ params }) => credentials.revoke(params.slug),
    })
  }),
)

export const platformMe = handlersOf(
  Apis.platform(PlatformMeApi),
  "platformMe",
  Effect.fn(function* (handlers) {
    const me = yield* Me
    return handlers.handleAll({
      me: () => me.ofOperator(),
    })
  }),
)
