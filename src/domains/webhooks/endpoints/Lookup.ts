/** Finds and locks webhook endpoints by id. */
import { Effect, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { noSuch } from "../../../kernel/contract/Problem.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import type { Transaction } from "../../../kernel/database/Transactions.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { WebhookEndpointNotFound } from "../Errors.ts"
import type { WebhookEndpoint } from "../Model.ts"
import { EndpointsRepo } from "./Repo.ts"

export const lookup = Effect.gen(function* () {
  const repo = yield* EndpointsRepo
  const transactions = yield* Transactions

  const required = Effect.fnUntraced(function* (id: string, found: Effect.Effect<Option.Option<WebhookEndpoint>>) {
    const endpoint = yield* found
    if (Option.isSome(endpoint)) return endpoint.value
    return yield* new WebhookEndpointNotFound({ detail: noSuch("webhook endpoint", id) })
  })

  return {
    find: (organizationId: OrganizationId, id: string) => required(id, repo.findById(organizationId, id)),

    lockShared: (organizationId: OrganizationId, id: string) => required(id, repo.lockForShare(organizationId, id)),

    /** Runs a change of an endpoint in a transaction that has locked its row. */
    withLock: Effect.fnUntraced(function* <A, E>(
      id: string,
      change: (current: WebhookEndpoint, caller: Caller["Service"]) => Effect.Effect<A, E, Transaction>,
    ) {
      const caller = yield* Caller
      return yield* transactions.run(
        Effect.flatMap(required(id, repo.lockById(caller.organizationId, id)), (current) => change(current, caller)),
      )
    }),
  }
})
