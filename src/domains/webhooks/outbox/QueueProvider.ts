/** This service's own delivery: turns events of the outbox into one owed delivery per subscribed endpoint. */
import { Array as Arr, Effect, Layer } from "effect"
import { newId } from "../../../kernel/values/Identifiers.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { matchesOf } from "./SubscriptionMatching.ts"
import { OutboxRepo } from "../../events/Outbox.ts"
import { WebhooksRepo } from "../endpoints/Repo.ts"
import { makeTurns } from "./RoundRobin.ts"
import { WebhookProvider } from "./Provider.ts"
import { QueueRepo } from "../queue/QueueRepo.ts"
import type { QueueRow } from "../queue/QueueRepo.ts"

/** Bounds of one transaction, so that no statement takes long, however many endpoints or events there are. */
const MOST_EVENTS = 512
const MOST_MATCHES = 4000
const ROWS_PER_STATEMENT = 1000

/** {@link WebhookProvider} of this service. */
export const layer = Layer.effect(
  WebhookProvider,
  Effect.gen(function* () {
    const outbox = yield* OutboxRepo
    const endpoints = yield* WebhooksRepo
    const queue = yield* QueueRepo
    const transactions = yield* Transactions
    const turns = makeTurns(outbox, MOST_EVENTS)

    const fanOut = Effect.fnUntraced(function* (organizations: ReadonlyArray<string>, each: number) {
      const at = yield* now
      yield* queue.planByIndex
      const entries = yield* outbox.lockDue(organizations, at, each)
      if (entries.length === 0) return 0
      const subscribers = yield* endpoints.subscribers([
        ...new Set(entries.map(({ organizationId }) => organizationId)),
      ])
      const { matches, taken } = matchesOf(entries, subscribers, MOST_MATCHES)
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
      for (const chunk of Arr.chunksOf(rows, ROWS_PER_STATEMENT)) yield* queue.insert(chunk)
      const heads = new Map<string, QueueRow>()
      for (const row of rows) {
        const lane = `${row.organizationId}/${row.endpointId}`
        const head = heads.get(lane)
        if (head === undefined || row.dueAt < head.dueAt) heads.set(lane, row)
      }
      for (const chunk of Arr.chunksOf(
        [...heads.values()].toSorted((a, b) =>
          a.organizationId + a.endpointId < b.organizationId + b.endpointId ? -1 : 1,
        ),
        ROWS_PER_STATEMENT,
      )) {
        yield* queue.lowerHeads(
          chunk.map(({ endpointId, organizationId, dueAt }) => ({ organizationId, endpointId, dueAt })),
        )
      }
      yield* outbox.deleteLocked(taken)
      return taken.length
    })

    return WebhookProvider.of({
      name: "internal",
      publishDue: turns((organizations, each) => transactions.run(fanOut(organizations, each))),
    })
  }),
)
