/** Rules of the event stream: resources, listings and content negotiation. Pure. */
import { Equal, Predicate } from "effect"
import type { EventName } from "../../kernel/contract/Event.ts"
import type { Listing } from "../../kernel/contract/Page.ts"
import { parseJson } from "../../kernel/values/Decimal.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { instantText } from "../../kernel/values/Timestamp.ts"
import type { EventFilter, EventOrder, PositionedEvent } from "./Model.ts"

/**
 * Writes an event as JSON. Its objects are copied as they are stored: parsing and serializing those of a full page would occupy the process
 * for milliseconds. Ids and names of events need no escapes.
 */
export const eventText = ({
  actor,
  credential,
  data,
  id,
  organizationId,
  previous,
  timestamp,
  type,
}: Omit<PositionedEvent, "position">): string =>
  `{"id":"${id}","type":"${type}","timestamp":"${instantText(timestamp)}","organizationId":"${organizationId}",` +
  `"actor":${actor},"credential":${credential},"data":${data}${previous === null ? "" : `,"previous":${previous}`}}`

const RESOURCE_PROPERTIES = ["id", "slug", "instanceId", "licenseSlug", "connectorName", "releaseId"] as const

/**
 * The record that an event is about. It is the first of these properties of its data: `id`, `slug`, `instanceId`,
 * `licenseSlug`, `connectorName`, `releaseId`. The filter `resource` compares this value, and the owner of the record (`ownerOf`).
 */
export const resourceOf = (data: object): string | null => {
  for (const property of RESOURCE_PROPERTIES) {
    const name: unknown = Reflect.get(data, property)
    if (Predicate.isString(name)) return name
  }
  return null
}

type OwnerProperty = "instanceId" | "customerId" | "deploymentZoneId" | "licenseId" | "serviceAccountId"

const ofInstance = ["instanceId"] as const
const ofCustomer = ["customerId"] as const
const ofLicense = ["licenseId"] as const
const ofToken = ["instanceId", "serviceAccountId"] as const

/** The properties of `data` that name the owner, the first one that is there. Events about a record without an owner are not listed. */
const owners: Readonly<Partial<Record<EventName, ReadonlyArray<OwnerProperty>>>> = {
  INSTANCE_CREATION: ofCustomer,
  INSTANCE_UPDATED: ofCustomer,
  INSTANCE_DELETED: ofCustomer,
  INSTANCE_TERM_ENDING: ofCustomer,
  INSTANCE_TERM_ENDED: ofCustomer,
  INSTANCE_GRACE_ENDED: ofCustomer,
  INSTANCE_ENTITLEMENT_OVERRIDDEN: ofInstance,
  INSTANCE_ENTITLEMENT_OVERRIDE_REMOVED: ofInstance,
  INSTANCE_ADD_ON_SET: ofInstance,
  INSTANCE_ADD_ON_REMOVED: ofInstance,
  CREDIT_CREATED: ofInstance,
  CREDIT_VOIDED: ofInstance,
  CREDIT_USED_UP: ofInstance,
  CREDIT_EXPIRED: ofInstance,
  USAGE_EVENT_VOIDED: ofInstance,
  OFFLINE_BUNDLE_ISSUED: ofInstance,
  OFFLINE_BUNDLE_REVOKED: ofInstance,
  TOKEN_ISSUED: ofToken,
  TOKEN_ROTATED: ofToken,
  TOKEN_REVOKED: ofToken,
  TOKEN_EXPIRED: ofToken,
  LICENSE_ENTITLEMENT_ASSIGNED: ofLicense,
  LICENSE_ENTITLEMENT_UPDATED: ofLicense,
  LICENSE_ENTITLEMENT_UNASSIGNED: ofLicense,
  RELEASE_DEPLOYED: ["deploymentZoneId"],
}

/** The id of the record that the record of an event belongs to. */
export const ownerOf = (type: string, data: object): string | null => {
  for (const property of owners[type as EventName] ?? []) {
    const id: unknown = Reflect.get(data, property)
    if (Predicate.isString(id)) return id
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
export const listingOf = (organizationId: OrganizationId, filter: EventFilter, order: EventOrder = "asc"): Listing => ({
  name: "events",
  organizationId,
  filters: {
    type: filter.types?.join(","),
    resource: filter.resources?.join(","),
    // Absent in cursors that were issued before there was one.
    related: filter.isRelated === true ? "true" : undefined,
    actor: filter.actor,
    since: filter.since?.toISOString(),
    until: filter.until?.toISOString(),
    // Absent in cursors that were issued before there was an order.
    order: order === "asc" ? undefined : order,
  },
})

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
