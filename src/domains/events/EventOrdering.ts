/** Assigns committed events their positions in the stream (docs/adr/0004-event-positions.md). */
import { Context, Effect, Layer } from "effect"
import { Transactions } from "../../kernel/database/Transactions.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { EventsRepo } from "./Repo.ts"

/** The head of the stream of a removed organization. */
export const REMOVED = -1

/** Orders events. Readers call it before they read; writers never wait for it. */
export class EventOrdering extends Context.Service<
  EventOrdering,
  {
    /** Assigns positions to committed events that have none, and their leaves in the event log. */
    readonly assignPositions: (organizationId: OrganizationId) => Effect.Effect<void>
    /** Calls {@link place} and returns the last position of the stream. */
    readonly head: (organizationId: OrganizationId) => Effect.Effect<number>
    /** Calls {@link place} for several streams and returns their last positions, or {@link REMOVED}. */
    readonly advance: (
      organizationIds: ReadonlyArray<OrganizationId>,
    ) => Effect.Effect<ReadonlyMap<OrganizationId, number>>
  }
>()("keyshelf/events/EventOrdering") {
  static readonly layer = Layer.effect(
    EventOrdering,
    Effect.gen(function* () {
      const repo = yield* EventsRepo
      const transactions = yield* Transactions

      // Two statements, so that the second sees everything that committed during the wait for the lock.
      const placeNow = (organizationId: OrganizationId) =>
        transactions.run(
          Effect.andThen(
            repo.lockOrdering(organizationId),
            repo.assignPositions([organizationId], { isSealed: false }),
          ),
        )

      const place = Effect.fnUntraced(function* (organizationId: OrganizationId) {
        if (yield* repo.hasUnordered(organizationId)) yield* placeNow(organizationId)
      })

      const heads = (organizationIds: ReadonlyArray<OrganizationId>) =>
        Effect.map(
          repo.heads(organizationIds),
          (rows) =>
            new Map(rows.map(({ head, isRemoved, organizationId }) => [organizationId, isRemoved ? REMOVED : head])),
        )

      return EventOrdering.of({
        assignPositions: place,
        head: Effect.fnUntraced(function* (organizationId) {
          yield* place(organizationId)
          return (yield* heads([organizationId])).get(organizationId) ?? 0
        }),
        advance: Effect.fnUntraced(function* (organizationIds) {
          yield* Effect.forEach(yield* repo.withUnordered(organizationIds), placeNow, { concurrency: 2, discard: true })
          return yield* heads(organizationIds)
        }),
      })
    }),
  )
}
