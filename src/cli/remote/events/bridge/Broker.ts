/** What a bridge needs from a message broker: a stream of messages, and a place for its positions. */
import { Schema } from "effect"
import type { Effect } from "effect"
import type { FeedEvent } from "../EventFeed.ts"

/** The broker did not accept an event or a position. A retry may succeed. */
export class BrokerFailed extends Schema.TaggedError<BrokerFailed>()("BrokerFailed", { message: Schema.String }) {}

/** Another bridge has written the position since this one read it. */
export class PositionTaken extends Schema.TaggedError<PositionTaken>()("PositionTaken", {}) {}

/** How far the events of an organization are in the broker, and which bridge brings more of them. */
interface Position {
  /** The cursor of `GET /events` after the last event in the broker; `null` before the first one. */
  readonly cursor: string | null
  /** The id of the bridge; `null` after it stopped. */
  readonly holder: string | null
}

/** A {@link Position} as it is stored. Each write gives it a new revision. */
export interface StoredPosition extends Position {
  readonly revision: number
}

export interface Broker {
  /** Publishes an event, and returns once the broker has stored it. An event with the same id is stored once. */
  readonly publish: (organizationId: string, event: FeedEvent) => Effect.Effect<void, BrokerFailed>
  readonly readPosition: (organizationId: string) => Effect.Effect<StoredPosition | undefined, BrokerFailed>
  /** Replaces the position with this revision, or creates the first one. Returns the new revision. */
  readonly writePosition: (
    organizationId: string,
    position: Position,
    revision: number | undefined,
  ) => Effect.Effect<number, BrokerFailed | PositionTaken>
}
