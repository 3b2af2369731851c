/** The organization's stream: written with every change, read forward by a cursor (contract, section 6). */
import { Context, Effect, Layer, Option } from "effect"
import type { Fragment } from "effect/sql/Statement"
import type { ActorReference } from "../../kernel/contract/Caller.ts"
import type { EventName, EventRecord } from "../../kernel/contract/Event.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import { Cursors, DEFAULT_LIMIT } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import type { InvalidCursor } from "../../kernel/contract/Problem.ts"
import { Signals } from "../../kernel/ports/Signals.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transaction } from "../../kernel/database/Transactions.ts"
import type { EventFilter } from "./Model.ts"
import { EventPlacing } from "./EventOrdering.ts"
import { EventsRepo } from "./Repo.ts"
import { listingOf } from "./Rules.ts"

/** Whose stream an event enters and who caused it. A `Caller` is one. */
export interface EventSource {
  readonly organizationId: string
  readonly actor: ActorReference
}

/** Writes and reads events. */
export class Events extends Context.Service<
  Events,
  {
    /**
     * Adds an event to the change's own transaction, together with its hand-over to the webhook deliveries: all commit or
     * none. `data` is the record after the change.
     */
    readonly emit: (source: EventSource, type: EventName, data: object) => Effect.Effect<void, never, Transaction>
    /**
     * Runs a change of one row (`INSERT ... RETURNING`) and stores its event, both in one statement, which needs no
     * transaction around it and so a quarter of the round trips. Answers whether there was a change: without one there is no
     * event.
     */
    readonly emitWith: (change: Fragment, source: EventSource, type: EventName, data: object) => Effect.Effect<boolean>
    /** Adds an event to the stream alone: it is not delivered to the webhook endpoints that subscribe to its name. */
    readonly record: (
      source: EventSource,
      type: EventName,
      data: object,
    ) => Effect.Effect<EventRecord, never, Transaction>
    /** Events oldest first. `nextCursor` is usable on the last page too, so that a reader polls on from it. */
    readonly list: (
      organizationId: string,
      filter: EventFilter,
      request: PageRequest,
    ) => Effect.Effect<Page<EventRecord>, InvalidCursor>
  }
>()("keyshelf/events/Events") {
  static readonly layer = Layer.effect(
    Events,
    Effect.gen(function* () {
      const repo = yield* EventsRepo
      const cursors = yield* Cursors
      const placing = yield* EventPlacing
      const signals = yield* Signals

      const eventOf = Effect.fnUntraced(function* (source: EventSource, type: EventName, data: object) {
        const event: EventRecord = {
          id: yield* newId,
          type,
          timestamp: yield* now,
          organizationId: source.organizationId,
          actor: { id: source.actor.id, name: source.actor.name },
          data: data as Record<string, unknown>,
        }
        return event
      })

      // Where nobody has an endpoint, nobody need look for work.
      const announce = (isHandedOver: boolean) =>
        isHandedOver
          ? Effect.andThen(signals.announce("webhooks"), signals.announce("events"))
          : signals.announce("events")

      const emit = Effect.fnUntraced(function* (source: EventSource, type: EventName, data: object) {
        yield* Transaction
        yield* announce(yield* repo.insertForDelivery(yield* eventOf(source, type, data)))
      })

      const emitWith = Effect.fnUntraced(function* (
        change: Fragment,
        source: EventSource,
        type: EventName,
        data: object,
      ) {
        const handedOver = yield* repo.insertWith(change, yield* eventOf(source, type, data))
        if (Option.isNone(handedOver)) return false
        yield* announce(handedOver.value)
        return true
      })

      const record = Effect.fnUntraced(function* (source: EventSource, type: EventName, data: object) {
        yield* Transaction
        const event = yield* eventOf(source, type, data)
        yield* repo.insert(event)
        yield* signals.announce("events")
        return event
      })

      const list = Effect.fn("Events.list")(function* (
        organizationId: string,
        filter: EventFilter,
        request: PageRequest,
      ) {
        const listing = listingOf(organizationId, filter)
        const limit = request.limit ?? DEFAULT_LIMIT
        const after = request.cursor === undefined ? 0 : Number((yield* cursors.open(listing, request.cursor))[0])
        yield* placing.place(organizationId)
        const rows = yield* repo.readAfter(organizationId, filter, after, limit + 1)
        const page = rows.slice(0, limit)
        return {
          items: page.map(({ position: _, ...event }) => event),
          hasMore: rows.length > limit,
          nextCursor: cursors.seal(listing, [Number(page.at(-1)?.position ?? after)]),
        }
      })

      return Events.of({ emit, emitWith, record, list })
    }),
  )
}
