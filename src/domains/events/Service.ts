/** The event stream of an organization: written with every change, read forward by a cursor. */
import { Context, Effect, Layer, Option } from "effect"
import type { Fragment } from "effect/sql/Statement"
import type { Initiator } from "../../kernel/contract/Caller.ts"
import { CurrentDryRun } from "../../kernel/contract/dryruns/DryRun.ts"
import type { ChangeName, EventName, EventRecord, RecordEventName } from "../../kernel/contract/Event.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { Cursors, DEFAULT_LIMIT } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import type { InvalidCursor } from "../../kernel/contract/Problem.ts"
import { Signals } from "../../kernel/ports/Signals.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transaction } from "../../kernel/database/Transactions.ts"
import type { EventFilter, EventOrder } from "./Model.ts"
import { EventOrdering } from "./EventOrdering.ts"
import { EventsRepo } from "./Repo.ts"
import { eventText, listingOf, previousOf, resourceOf } from "./Rules.ts"

/** The organization of an event, and who causes it. A `Caller` is a source. */
export interface EventSource extends Initiator {
  readonly organizationId: OrganizationId
}

/** The page of events that a client requests. */
interface EventPageRequest extends PageRequest {
  readonly order?: EventOrder
}

/** Emits and lists events. */
export class Events extends Context.Service<
  Events,
  {
    /**
     * Stores an event and its outbox row within the transaction of the change: all commit or none. `data` is the record
     * after the change, or before a deletion.
     */
    readonly emit: (source: EventSource, type: RecordEventName, data: object) => Effect.Effect<void, never, Transaction>
    /**
     * Emits the event of a change to a record. `before` and `after` are the record before and after it; there is no `previous` if
     * there was none before.
     */
    readonly emitChange: (
      source: EventSource,
      type: ChangeName,
      before: object | null,
      after: object,
    ) => Effect.Effect<void, never, Transaction>
    /**
     * Runs a change of one row (`INSERT ... RETURNING`) and stores its event in one statement. It needs no transaction,
     * and so takes a quarter of the round trips. Returns whether a row changed; otherwise no event is stored.
     */
    readonly emitWith: (
      change: Fragment,
      source: EventSource,
      type: RecordEventName,
      data: object,
    ) => Effect.Effect<boolean>
    /** Adds an event to the stream without delivering it to webhook endpoints. */
    readonly record: (
      source: EventSource,
      type: RecordEventName,
      data: object,
    ) => Effect.Effect<EventRecord, never, Transaction>
    /**
     * Lists events as JSON, oldest first unless the request says otherwise. Oldest first, `nextCursor` is usable on the last page too, so
     * that clients can poll.
     */
    readonly list: (
      organizationId: OrganizationId,
      filter: EventFilter,
      request: EventPageRequest,
    ) => Effect.Effect<Page<string>, InvalidCursor>
  }
>()("keyshelf/events/Events") {
  static readonly layer = Layer.suspend(() => Layer.effect(Events, make))
}

/** A new event, of now. */
const eventOf = Effect.fnUntraced(function* (source: EventSource, type: EventName, data: object) {
  const event: EventRecord = {
    id: yield* newId,
    type,
    timestamp: yield* now,
    organizationId: source.organizationId,
    actor: { id: source.actor.id, name: source.actor.name },
    credential: source.credential,
    data: data as Record<string, unknown>,
  }
  return event
})

/** A dry run answers with the events that it stored. */
const collect = ({ data, previous, type }: EventRecord) =>
  Effect.map(CurrentDryRun, (events) => {
    events?.push({ type, resource: resourceOf(data), data, ...(previous === undefined ? {} : { previous }) })
  })

/** Returns what lists the events of a stream, page by page. */
const listEvents = (repo: EventsRepo["Service"], cursors: Cursors["Service"], ordering: EventOrdering["Service"]) =>
  Effect.fn("Events.list")(function* (
    organizationId: OrganizationId,
    filter: EventFilter,
    { order = "asc", ...request }: EventPageRequest,
  ) {
    const listing = listingOf(organizationId, filter, order)
    const limit = request.limit ?? DEFAULT_LIMIT
    const cursor = request.cursor === undefined ? undefined : (yield* cursors.open(listing, request.cursor))[0]
    yield* ordering.assignPositions(organizationId)
    const isAscending = order === "asc"
    const from = cursor === undefined ? (isAscending ? 0 : Number.MAX_SAFE_INTEGER) : Number(cursor)
    const resolved = yield* repo.resolve(organizationId, filter)
    const rows = yield* (isAscending ? repo.readAfter : repo.readBefore)(organizationId, resolved, from, limit + 1)
    const page = rows.slice(0, limit)
    const hasMore = rows.length > limit
    return {
      items: page.map(eventText),
      hasMore,
      // Newer events come after the last page, older ones do not.
      nextCursor: isAscending || hasMore ? cursors.seal(listing, [Number(page.at(-1)?.position ?? from)]) : "",
    }
  })

const make = Effect.gen(function* () {
  const repo = yield* EventsRepo
  const signals = yield* Signals

  // Without an outbox row there is nothing to deliver, so deliveries are not woken.
  const announce = (isQueued: boolean) =>
    isQueued ? Effect.andThen(signals.notify("webhooks"), signals.notify("events")) : signals.notify("events")

  const deliver = Effect.fnUntraced(function* (event: EventRecord) {
    yield* Transaction
    yield* announce(yield* repo.insertForDelivery(event))
    yield* collect(event)
  })

  const emit = Effect.fnUntraced(function* (source: EventSource, type: RecordEventName, data: object) {
    yield* deliver(yield* eventOf(source, type, data))
  })

  const emitChange = Effect.fnUntraced(function* (
    source: EventSource,
    type: ChangeName,
    before: object | null,
    after: object,
  ) {
    const event = yield* eventOf(source, type, after)
    yield* deliver(before === null ? event : { ...event, previous: previousOf(before, after) })
  })

  const emitWith = Effect.fnUntraced(function* (
    change: Fragment,
    source: EventSource,
    type: RecordEventName,
    data: object,
  ) {
    const event = yield* eventOf(source, type, data)
    const handedOver = yield* repo.insertWithChange(change, event)
    if (Option.isNone(handedOver)) return false
    yield* announce(handedOver.value)
    yield* collect(event)
    return true
  })

  const record = Effect.fnUntraced(function* (source: EventSource, type: RecordEventName, data: object) {
    yield* Transaction
    const event = yield* eventOf(source, type, data)
    yield* repo.insert(event)
    yield* signals.notify("events")
    yield* collect(event)
    return event
  })

  return Events.of({ emit, emitChange, emitWith, record, list: listEvents(repo, yield* Cursors, yield* EventOrdering) })
})
