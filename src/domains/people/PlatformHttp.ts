/** Handlers of the user and membership endpoints. */
import { Effect } from "effect"
import * as Apis from "../../kernel/contract/Apis.ts"
import { created } from "../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { MembershipsApi, UsersApi } from "./PlatformApi.ts"
import { Memberships } from "./Memberships.ts"
import { Users } from "./Users.ts"

export const users = handlersOf(
  Apis.platform(UsersApi),
  "users",
  Effect.fn(function* (handlers) {
    const users = yield* Users
    return handlers.handleAll({
      list: ({ query }) => users.list(query),
      create: ({ payload }) =>
        Effect.map(users.create(payload), (user) => created(`/api/platform/users/${user.id}`, user)),
      get: ({ params }) => users.get(params.userId),
      remove: ({ params }) => users.remove(params.userId),
    })
  }),
)

export const memberships = handlersOf(
  Apis.platform(MembershipsApi),
  "memberships",
  Effect.fn(function* (handlers) {
    const memberships = yield* Memberships
    return handlers.handleAll({
      list: ({ params, query }) => memberships.list(params.orgId, query),
      create: ({ params, payload }) =>
        Effect.map(memberships.create(params.orgId, payload), (membership) =>
          created(`/api/platform/organizations/${params.orgId}/memberships/${membership.userId}`, membership),
        ),
      update: ({ params, payload }) => memberships.update(params.orgId, params.userId, payload),
      remove: ({ params }) => memberships.remove(params.orgId, params.userId),
    })
  }),
)
