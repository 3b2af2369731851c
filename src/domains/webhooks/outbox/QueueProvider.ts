/** The provider of this service: turns events of the outbox into pending deliveries, one per subscribed endpoint. */
import { Array as Arr, Effect, Layer } from "effect"
import { newId } from "../../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Outbox } from "../../events/Outbox.ts"
import { EndpointsRepo } from "../endpoints/Repo.ts"
import { endpointName } from "../Model.ts"
import { QueueRepo } from "../queue/QueueRepo.ts"
import type { LaneHead } from "../queue/Model.ts"
import type { QueueRow } from "../queue/QueueRepo.ts"
import { QueueTransactions } from "../queue/QueueTransactions.ts"
import { WebhookProvider } from "./Provider.ts"
import { makeRoundRobin } from "./RoundRobin.ts"
import { matchSubscriptions } from "./SubscriptionMatching.ts"

// The bounds of one transaction and its statements, however many endpoints or events there are.
const MAX_EVENTS = 512
const MAX_MATCHES = 4000
const MAX_ROWS_PER_STATEMENT = 1000

const chunksOf = Arr.chunksOf(MAX_ROWS_PER_STATEMENT)

/** The first due time of each lane, in the order in which lanes are locked. */
const headsOf = (rows: ReadonlyArray<QueueRow>): ReadonlyArray<LaneHead> => {
  const heads = new Map<string, QueueRow>()
  for (const row of rows) {
    const lane = endpointName(row)
    const head = heads.get(lane)
    if (head === undefined || row.dueAt < head.dueAt) heads.set(lane, row)
  }
  return [...heads.values()]
    .toSorted((a, b) => (a.organizationId + a.endpointId < b.organizationId + b.endpointId ? -1 : 1))
    .map(({ dueAt, endpointId, organizationId }) => ({ organizationId, endpointId, dueAt }))
}

/** {@link WebhookProvider} of this service. */
export const layer = Layer.effect(
  WebhookProvider,
  Effect.gen(function* () {
    const outbox = yield* Outbox
    const endpoints = yield* EndpointsRepo
    const queue = yield* QueueRepo
    const transactions = yield* QueueTransactions
    const roundRobin = makeRoundRobin(outbox, MAX_EVENTS)

    const fanOut = Effect.fnUntraced(function* (
      organizationIds: ReadonlyArray<OrganizationId>,
      perOrganization: number,
    ) {
      const at = yield* now
      const entries = yield* outbox.lockDue(organizationIds, at, perOrganization)
      if (entries.length === 0) return 0
      const subscribers = yield* endpoints.findSubscribers([
        ...new Set(entries.map(({ organizationId }) => organizationId)),
      ])
      const { matches, taken } = matchSubscriptions(entries, subscribers, MAX_MATCHES)
      const rows = yield* Effect.forEach(matches, ({ endpointId, entry }) =>
        Effect.map(newId, (id): QueueRow => ({
          organizationId: entry.organizationId,
          id,
          endpointId,
          eventId: entry.eventId,
          eventName: entry.type ?? "",
          attempt: 1,
          dueAt: entry.occurredAt ?? at,
        })),
      )
      for (const chunk of chunksOf(rows)) yield* queue.insert(chunk)
      for (const chunk of chunksOf(headsOf(rows))) yield* queue.lowerLaneHeads(chunk)
      yield* outbox.deleteLocked(taken)
      return taken.length
    })

    return WebhookProvider.of({
      name: "internal",
      publishDue: roundRobin((organizationIds, perOrganization) =>
        transactions.run(fanOut(organizationIds, perOrganization)),
      ),
    })
  }),
)
