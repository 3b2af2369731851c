/** Adds to endpoints what shows whether deliveries arrive. */
import { Effect } from "effect"
import { MAX_COUNTED } from "../../../kernel/contract/dryruns/Impact.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import type { WebhookEndpoint } from "../Model.ts"
import { QueueTransactions } from "../queue/QueueTransactions.ts"
import { HealthRepo } from "./HealthRepo.ts"

export const healthOf = Effect.gen(function* () {
  const repo = yield* HealthRepo
  const transactions = yield* QueueTransactions

  return Effect.fn("Webhooks.withHealth")(function* (
    organizationId: OrganizationId,
    endpoints: ReadonlyArray<WebhookEndpoint>,
  ) {
    const ids = endpoints.map(({ id }) => id)
    if (ids.length === 0) return endpoints
    const [counts, successes] = yield* Effect.all(
      [
        transactions.run(repo.countWaiting(organizationId, ids, MAX_COUNTED + 1), { joins: "nested" }),
        repo.findLastSuccesses(organizationId, ids),
      ],
      { concurrency: "unbounded" },
    )
    const waiting = new Map(counts.map(({ count, id }) => [id, count]))
    const lastSuccess = new Map(successes.map(({ at, id }) => [id, at]))
    return endpoints.map((endpoint): WebhookEndpoint => {
      const count = waiting.get(endpoint.id) ?? 0
      return {
        ...endpoint,
        health: {
          lastSuccessAt: lastSuccess.get(endpoint.id) ?? null,
          waiting: { count: Math.min(count, MAX_COUNTED), truncated: count > MAX_COUNTED },
        },
      }
    })
  })
})
