/** The organization's stream: written with every change, read forward by a cursor (contract, section 6). */
import { Context, Effect, Layer } from "effect"
import type { ActorReference } from "../kernel/Caller.ts"
import type { EventName, EventRecord } from "../kernel/Event.ts"
import { newId } from "../kernel/Identifiers.ts"
import { Cursors, DEFAULT_LIMIT } from "../kernel/Page.ts"
import type { Page, PageRequest } from "../kernel/Page.ts"
import type { InvalidCursor } from "../kernel/Problem.ts"
import { now } from "../kernel/Timestamp.ts"
import { Transaction, Transactions } from "../kernel/Transaction.ts"
import { EventsRepo } from "./Repo.ts"

/** Whose stream an event enters and who caused it. A `Caller` is one. */
export interface EventSource {
  readonly organizationId: string
  readonly actor: ActorReference
}

/** Writes and reads events. */
export class Events extends Context.Service<
  Events,
  {
    /** Adds an event to the change's own transaction: both commit or neither. `data` is the record after the change. */
    readonly emit: (source: EventSource, type: EventName, data: object) => Effect.Effect<void, never, Transaction>
    /** Events oldest first. `nextCursor` is usable on the last page too, so that a reader polls on from it. */
    readonly list: (organizationId: string, request: PageRequest) => Effect.Effect<Page<EventRecord>, InvalidCursor>
  }
>()("keyshelf/events/Events") {
  static readonly layer = Layer.effect(
    Events,
    Effect.gen(function* () {
      const repo = yield* EventsRepo
      const cursors = yield* Cursors
      const transactions = yield* Transactions

      const emit = Effect.fnUntraced(function* (source: EventSource, type: EventName, data: object) {
        yield* Transaction
        yield* repo.insert({
          id: yield* newId,
          type,
          timestamp: yield* now,
          organizationId: source.organizationId,
          actor: { id: source.actor.id, name: source.actor.name },
          data: data as Record<string, unknown>,
        })
      })

      // Two statements: the second sees everything that committed while the lock was waited for.
      const place = Effect.fnUntraced(function* (organizationId: string) {
        if (!(yield* repo.hasUnplaced(organizationId))) return
        yield* transactions.run(Effect.andThen(repo.lockPlacing(organizationId), repo.placeCommitted(organizationId)))
      })

      const list = Effect.fn("Events.list")(function* (organizationId: string, request: PageRequest) {
        const listing = { name: "events", organizationId }
        const limit = request.limit ?? DEFAULT_LIMIT
        const after = request.cursor === undefined ? 0 : Number((yield* cursors.open(listing, request.cursor))[0])
        yield* place(organizationId)
        const rows = yield* repo.readAfter(organizationId, after, limit + 1)
        const page = rows.slice(0, limit)
        return {
          items: page.map(({ position: _, ...event }) => event),
          hasMore: rows.length > limit,
          nextCursor: cursors.seal(listing, [Number(page.at(-1)?.position ?? after)]),
        }
      })

      return Events.of({ emit, list })
    }),
  )
}
