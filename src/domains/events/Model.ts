/** Filters of the event stream. */
import { Effect, Schema, SchemaGetter, SchemaIssue } from "effect"
import { EventName } from "../../kernel/contract/Event.ts"
import { eventNames } from "../../kernel/values/EventNames.ts"
import type { EventRecord } from "../../kernel/contract/Event.ts"
import { Text } from "../../kernel/values/Text.ts"
import { TimestampInput } from "../../kernel/values/Timestamp.ts"

/** Selects events of the stream. An omitted property selects all. */
export interface EventFilter {
  /** Distinct names, in the order of {@link eventNames}. */
  readonly types?: ReadonlyArray<EventName>
  /** The record that the event is about, as returned by `resourceOf`. */
  readonly resource?: string
  /** The id of the actor. */
  readonly actor?: string
  /** Events that occurred at this time or later. */
  readonly since?: Date
  /** Events that occurred before this time. */
  readonly until?: Date
}

/** An event with its position in the stream. */
export type PositionedEvent = EventRecord & { readonly position: string }

// A comma-separated list, a repeated parameter, or both.
const EventNames = Schema.Array(Schema.String).pipe(
  Schema.decodeTo(Schema.Array(EventName), {
    decode: SchemaGetter.transformEffect((texts: ReadonlyArray<string>) => {
      const requested = new Set(texts.flatMap((text) => text.split(",")).map((name) => name.trim()))
      const known = eventNames.filter((name) => requested.delete(name))
      const [unknown] = requested
      return unknown === undefined
        ? Effect.succeed(known)
        : Effect.fail(
            new SchemaIssue.InvalidValue({
              message: `must contain only event names, but "${unknown.slice(0, 100)}" is not one`,
            }),
          )
    }),
    encode: SchemaGetter.transform((names: ReadonlyArray<EventName>) => [...names]),
  }),
)

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** The order of pages: `asc` begins with the oldest event and goes on with new ones, `desc` begins with the newest. */
export type EventOrder = "asc" | "desc"

/** The query parameter for the order. */
export const orderQuery = {
  order: Schema.optionalKey(Schema.Literals(["asc", "desc"])).annotate({
    description:
      "`desc` lists the newest events first; `nextCursor` then leads to older ones and is empty on the last page. A live stream is always `asc`, the default.",
  }),
}

/** The query parameters that filter the stream. */
export const filterQuery = {
  type: Schema.optionalKey(EventNames).annotate({
    description: "Only events with these names. Separate several names by commas or repeat the parameter.",
  }),
  resource: Schema.optionalKey(Text(1, 255)).annotate({
    description:
      "Only events about this record: the `id` in `data`, otherwise the slug, otherwise the instance, license or connector that `data` names",
  }),
  actor: Schema.optionalKey(Text(1, 255)).annotate({
    description: "Only events of the actor with this id, as `actor.id` of an event",
  }),
  since: Schema.optionalKey(TimestampInput).annotate({
    description: "Only events with this `timestamp` or a later one: RFC 3339 date-time with `Z` or an offset",
  }),
  until: Schema.optionalKey(TimestampInput).annotate({
    description: "Only events with an earlier `timestamp`: RFC 3339 date-time with `Z` or an offset",
  }),
}

interface FilterQuery extends Omit<EventFilter, "types"> {
  readonly type?: ReadonlyArray<EventName>
}

// UUIDs are case-insensitive.
const canonicalId = (text: string): string => (UUID.test(text) ? text.toLowerCase() : text)

/** The filter for these parameters. */
export const filterOf = ({ actor, resource, since, type, until }: FilterQuery): EventFilter => ({
  ...(type === undefined ? {} : { types: type }),
  ...(resource === undefined ? {} : { resource: canonicalId(resource) }),
  ...(actor === undefined ? {} : { actor: canonicalId(actor) }),
  ...(since === undefined ? {} : { since }),
  ...(until === undefined ? {} : { until }),
})
