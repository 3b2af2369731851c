/** What an event is about, which filters make which listing, and which answer a reader asks for. */
import { Predicate } from "effect"
import type { Listing } from "../../kernel/contract/Page.ts"
import type { EventFilter } from "./Model.ts"

const NAMING = ["id", "slug", "instanceId", "licenseSlug", "connectorName"] as const

/**
 * The record that an event is about: the `id` of its data; else its `slug`; else the instance, license or connector that the
 * data names. This is what the filter `resource` compares.
 */
export const resourceOf = (data: object): string | null => {
  for (const member of NAMING) {
    const name: unknown = Reflect.get(data, member)
    if (Predicate.isString(name)) return name
  }
  return null
}

/** The listing of a filtered stream: a cursor of one filter is of no use under another. */
export const listingOf = (organizationId: string, filter: EventFilter): Listing => ({
  name: "events",
  organizationId,
  filters: { type: filter.types?.join(","), resource: filter.resource },
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

/** Whether an `Accept` header asks for the live stream: it names it, and nothing that JSON satisfies more. */
export const wantsStream = (accept: string | undefined): boolean => {
  const ranges = accept === undefined ? [] : rangesOf(accept)
  const best = (type: string) =>
    Math.max(0, ...ranges.filter((range) => range.type === type).map(({ quality }) => quality))
  const stream = best(STREAM)
  return stream > 0 && stream >= best("application/json")
}

/** The lowest UUIDv7 of an instant: ids made before it are smaller. */
export const lowestIdAt = (at: Date): string => {
  const millis = Math.max(0, at.getTime()).toString(16).padStart(12, "0")
  return `${millis.slice(0, 8)}-${millis.slice(8)}-0000-0000-000000000000`
}
