/** Rules of the event stream: resources, listings and content negotiation. Pure. */
import { Equal, Predicate } from "effect"
import type { Listing } from "../../kernel/contract/Page.ts"
import { parseJson } from "../../kernel/values/Decimal.ts"
import type { EventFilter, EventOrder } from "./Model.ts"

const RESOURCE_PROPERTIES = ["id", "slug", "instanceId", "licenseSlug", "connectorName"] as const

/**
 * The record that an event is about. It is the first of these properties of its data: `id`, `slug`, `instanceId`,
 * `licenseSlug`, `connectorName`. The filter `resource` compares this value.
 */
export const resourceOf = (data: object): string | null => {
  for (const property of RESOURCE_PROPERTIES) {
    const name: unknown = Reflect.get(data, property)
    if (Predicate.isString(name)) return name
  }
  return null
}

/** Who changed a record and when is in the event already. */
const NOT_PREVIOUS: ReadonlyArray<string> = ["updatedAt", "updatedBy"]

// As it is stored: the order of properties does not count, and amounts keep all digits.
const stored = (value: unknown): unknown => (value === undefined ? undefined : parseJson(JSON.stringify(value)))

/**
 * The properties of a record that a change gave another value, with their values before it: `null` if the record had none.
 * Written over the record after the change, they give the record before it, but for `updatedAt` and `updatedBy`.
 */
export const previousOf = (before: object, after: object): Record<string, unknown> =>
  Object.fromEntries(
    [...new Set([...Object.keys(after), ...Object.keys(before)])]
      .filter((name) => !NOT_PREVIOUS.includes(name))
      .map((name) => [name, Reflect.get(before, name) ?? null] as const)
      .filter(([name, value]) => !Equal.equals(stored(value), stored(Reflect.get(after, name) ?? null))),
  )

/** The listing of a filtered stream. Cursors are bound to it, hence to filter and order. */
export const listingOf = (organizationId: string, filter: EventFilter, order: EventOrder = "asc"): Listing => ({
  name: "events",
  organizationId,
  filters: {
    type: filter.types?.join(","),
    resource: filter.resource,
    actor: filter.actor,
    since: filter.since?.toISOString(),
    until: filter.until?.toISOString(),
    // Absent in cursors that were issued before there was an order.
    order: order === "asc" ? undefined : order,
  },
})

const STREAM = "text/event-stream"

interface MediaRange {
  readonly type: string
  readonly quality: number
}

const rangesOf = (accept: string): ReadonlyArray<MediaRange> =>
  accept.split(",").map((range) => {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase())
    const quality = parameters.find((parameter) => parameter.startsWith("q="))
    return { type, quality: quality === undefined ? 1 : Number(quality.slice(2)) || 0 }
  })

/** Whether an `Accept` header requests the live stream: it names the media type, and does not prefer JSON. */
export const wantsStream = (accept: string | undefined): boolean => {
  const ranges = accept === undefined ? [] : rangesOf(accept)
  const best = (type: string) =>
    Math.max(0, ...ranges.filter((range) => range.type === type).map(({ quality }) => quality))
  const stream = best(STREAM)
  return stream > 0 && stream >= best("application/json")
}

/** The lowest UUIDv7 of a time. Ids generated before it are smaller. */
export const lowestIdAt = (at: Date): string => {
  const millis = Math.max(0, at.getTime()).toString(16).padStart(12, "0")
  return `${millis.slice(0, 8)}-${millis.slice(8)}-0000-0000-000000000000`
}

/**
 * How much later than another event an event can get its position although it occurred earlier. Positions follow
 * commits, and a request ends within a minute.
 */
const MAX_DISORDER_MS = 300_000

/**
 * Ids that bound the positions of a time range: each event that occurred at `since` or later comes after the events
 * with ids below `since`, and each that occurred before `until` comes before the events with ids from `until` on.
 */
export const boundsOf = ({ since, until }: EventFilter): { readonly since?: string; readonly until?: string } => ({
  ...(since === undefined ? {} : { since: lowestIdAt(new Date(since.getTime() - MAX_DISORDER_MS)) }),
  ...(until === undefined ? {} : { until: lowestIdAt(new Date(until.getTime() + MAX_DISORDER_MS)) }),
})
