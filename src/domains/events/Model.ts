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
  /** The records that the event is about, or that own its record, by id or slug: distinct, sorted. */
  readonly resources?: ReadonlyArray<string>
  /** Also what belongs to the records that belong to these: to the instances of a customer. */
  readonly isRelated?: boolean
  /** The id of the actor. */
  readonly actor?: string
  /** Events that occurred at this time or later. */
  readonly since?: Date
  /** Events that occurred before this time. */
  readonly until?: Date
}

/** A stored event with its position in the stream. Its objects are JSON as PostgreSQL stores it; `credential` and `previous` are `null` if it has none. */
export interface PositionedEvent extends Pick<EventRecord, "id" | "type" | "timestamp" | "organizationId"> {
  readonly position: string
  readonly actor: string
  readonly credential: string | null
  readonly data: string
  readonly previous: string | null
}

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

/** The URL stays short enough for proxies. */
const MAX_RESOURCES = 200

/** The query parameters that filter the stream. */
export const filterQuery = {
  type: Schema.optionalKey(EventNames).annotate({
    description: "Only events with these names. Separate several names by commas or repeat the parameter.",
  }),
  resource: Schema.optionalKey(Schema.Array(Text(1, 255)).check(Schema.isMaxLength(MAX_RESOURCES))).annotate({
    description:
      "Only events about this record or what belongs to it, by its `id`, slug or key. Of an instance these are also its overrides, license keys, offline bundles and ledgers, voided usage and thresholds; of a license its grants, of a deployment zone its deployments, of a service account its tokens. Repeat the parameter for up to 200 records.",
  }),
  related: Schema.optionalKey(Schema.Literals(["true", "false"])).annotate({
    description:
      "With `resource`: whether also the events of a customer's instances, and of what belongs to these. Default `false`.",
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

interface FilterQuery extends Omit<EventFilter, "types" | "resources" | "isRelated"> {
  readonly type?: ReadonlyArray<EventName>
  readonly resource?: ReadonlyArray<string>
  readonly related?: "true" | "false"
}

// UUIDs are case-insensitive.
const canonicalId = (text: string): string => (isRecordId(text) ? text.toLowerCase() : text)

/** Whether a text is the id of a record. Other records are named by slug or key. */
export const isRecordId = (text: string): boolean => UUID.test(text)

/** The filter for these parameters. */
export const filterOf = ({ actor, related, resource, since, type, until }: FilterQuery): EventFilter => ({
  ...(type === undefined ? {} : { types: type }),
  ...(resource === undefined ? {} : { resources: [...new Set(resource.map(canonicalId))].toSorted() }),
  ...(related === "true" ? { isRelated: true } : {}),
  ...(actor === undefined ? {} : { actor: canonicalId(actor) }),
  ...(since === undefined ? {} : { since }),
  ...(until === undefined ? {} : { until }),
})
