/** What readers of the stream ask for (contract, section 6). */
import { Effect, Schema, SchemaGetter, SchemaIssue } from "effect"
import { EventName, eventNames } from "../../kernel/contract/Event.ts"
import type { EventRecord } from "../../kernel/contract/Event.ts"
import { Text } from "../../kernel/values/Text.ts"

/** Which events of the stream a reader wants; an absent member wants all. */
export interface EventFilter {
  /** Names, each once, in the order of {@link eventNames}. */
  readonly types?: ReadonlyArray<EventName>
  /** What the event is about, as `resourceOf` says it. */
  readonly resource?: string
}

/** An event with its place in the stream. */
export type PlacedEvent = EventRecord & { readonly position: string }

// One parameter with a comma list, several parameters, or both.
const EventNames = Schema.Array(Schema.String).pipe(
  Schema.decodeTo(Schema.Array(EventName), {
    decode: SchemaGetter.transformEffect((texts: ReadonlyArray<string>) => {
      const asked = new Set(texts.flatMap((text) => text.split(",")).map((name) => name.trim()))
      const known = eventNames.filter((name) => asked.delete(name))
      const [unknown] = asked
      return unknown === undefined
        ? Effect.succeed(known)
        : Effect.fail(new SchemaIssue.InvalidValue({ message: `"${unknown.slice(0, 100)}" is no event name` }))
    }),
    encode: SchemaGetter.transform((names: ReadonlyArray<EventName>) => [...names]),
  }),
)

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** The query parameters that filter the stream. */
export const filterQuery = {
  type: Schema.optionalKey(EventNames),
  resource: Schema.optionalKey(Text(1, 255)),
}

/** The filter that these parameters ask for. */
export const filterOf = (query: {
  readonly type?: ReadonlyArray<EventName>
  readonly resource?: string
}): EventFilter => ({
  ...(query.type === undefined ? {} : { types: query.type }),
  // UUIDs count without regard to letter case.
  ...(query.resource === undefined
    ? {}
    : { resource: UUID.test(query.resource) ? query.resource.toLowerCase() : query.resource }),
})
