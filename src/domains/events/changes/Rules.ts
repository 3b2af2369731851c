/** Whom an event concerns, and what their streams say. Pure. */
import type { EventName } from "../../../kernel/contract/Event.ts"
import type { Change, ChangeEvent, Target } from "./Model.ts"

/** The property of an event's data that has a slug. */
type SlugProperty = "slug" | "instance" | "instanceSlug" | "licenseSlug" | "deploymentZoneSlug"

/** Whom an event concerns. Names of events are listed one by one, so that a new one does not compile without an entry. */
type Concern =
  | readonly [of: "instance" | "license" | "customer" | "zone", slug: SlugProperty]
  | "assignment"
  | "removal"
  | "all"
  | "credential"
  | "nobody"

const instance = ["instance", "slug"] as const
const instanceOfPart = ["instance", "instance"] as const
const instanceOfUsage = ["instance", "instanceSlug"] as const
const license = ["license", "slug"] as const
const licenseOfGrant = ["license", "licenseSlug"] as const
const customer = ["customer", "slug"] as const
const zone = ["zone", "slug"] as const

const concerns: Readonly<Record<EventName, Concern>> = {
  INSTANCE_CREATION: "assignment",
  INSTANCE_UPDATED: "assignment",
  INSTANCE_DELETED: "removal",
  INSTANCE_ENTITLEMENT_OVERRIDDEN: instanceOfPart,
  INSTANCE_ENTITLEMENT_OVERRIDE_REMOVED: instanceOfPart,
  INSTANCE_ADD_ON_SET: instanceOfPart,
  INSTANCE_ADD_ON_REMOVED: instanceOfPart,
  CREDIT_CREATED: instanceOfPart,
  CREDIT_VOIDED: instanceOfPart,
  CREDIT_USED_UP: instanceOfPart,
  CREDIT_EXPIRED: instanceOfPart,
  INSTANCE_TERM_ENDING: instance,
  INSTANCE_TERM_ENDED: instance,
  INSTANCE_GRACE_ENDED: instance,
  ENTITLEMENT_USAGE_WARNING_THRESHOLD_REACHED: instanceOfUsage,
  ENTITLEMENT_USAGE_LIMIT_REACHED: instanceOfUsage,
  ENTITLEMENT_USAGE_CAP_EXCEEDED: instanceOfUsage,
  USAGE_EVENT_VOIDED: instanceOfUsage,
  OFFLINE_BUNDLE_ISSUED: instanceOfPart,
  OFFLINE_BUNDLE_REVOKED: instanceOfPart,
  LICENSE_CREATED: license,
  LICENSE_UPDATED: license,
  LICENSE_DELETED: license,
  LICENSE_PUBLISHED: license,
  LICENSE_ARCHIVED: license,
  LICENSE_UNARCHIVED: license,
  LICENSE_ENTITLEMENT_ASSIGNED: licenseOfGrant,
  LICENSE_ENTITLEMENT_UPDATED: licenseOfGrant,
  LICENSE_ENTITLEMENT_UNASSIGNED: licenseOfGrant,
  CUSTOMER_CREATION: customer,
  CUSTOMER_UPDATED: customer,
  CUSTOMER_DELETED: customer,
  DEPLOYMENT_ZONE_CREATED: zone,
  DEPLOYMENT_ZONE_UPDATED: zone,
  DEPLOYMENT_ZONE_DELETED: zone,
  RELEASE_DEPLOYED: ["zone", "deploymentZoneSlug"],
  ENTITLEMENT_CREATED: "all",
  ENTITLEMENT_UPDATED: "all",
  ENTITLEMENT_DELETED: "all",
  ENTITLEMENT_GROUP_CREATED: "all",
  ENTITLEMENT_GROUP_UPDATED: "all",
  ENTITLEMENT_GROUP_DELETED: "all",
  FEATURE_FLAG_CREATED: "all",
  FEATURE_FLAG_UPDATED: "all",
  FEATURE_FLAG_DELETED: "all",
  SIGNING_KEY_CREATED: "all",
  SIGNING_KEY_ACTIVATED: "all",
  SIGNING_KEY_REVOKED: "all",
  TOKEN_REVOKED: "credential",
  TOKEN_EXPIRED: "credential",
  TOKEN_ROTATED: "credential",
  // The stream of a person who has another role is authorized again when the client reconnects.
  MEMBERSHIP_UPDATED: "credential",
  MEMBERSHIP_REMOVED: "credential",
  // Each moved instance has an `INSTANCE_UPDATED` of its own.
  LICENSE_MIGRATION_STARTED: "nobody",
  LICENSE_MIGRATION_FINISHED: "nobody",
  LICENSE_MIGRATION_REVERTED: "nobody",
  OFFLINE_USAGE_UPLOADED: "nobody",
  OFFLINE_LEDGER_FORKED: "nobody",
  // The tokens of a deleted service account are revoked, each with an event.
  SERVICE_ACCOUNT_CREATED: "nobody",
  SERVICE_ACCOUNT_UPDATED: "nobody",
  SERVICE_ACCOUNT_DELETED: "nobody",
  SYSTEM_ORGANIZATION_TOKEN_ISSUED: "nobody",
  TOKEN_ISSUED: "nobody",
  MEMBERSHIP_CREATED: "nobody",
  RELEASE_CREATED: "nobody",
  RELEASE_DELETED: "nobody",
  // Streams tell products what to check again. Whether a release is allowed is asked when it is needed.
  RELEASE_ACCESS_UPDATED: "nobody",
  COMPONENT_CREATED: "nobody",
  COMPONENT_DELETED: "nobody",
  COMPONENT_IMAGES_UPDATED: "nobody",
  METADATA_FIELD_CREATED: "nobody",
  METADATA_FIELD_UPDATED: "nobody",
  METADATA_FIELD_ARCHIVED: "nobody",
  METADATA_FIELD_UNARCHIVED: "nobody",
  CONNECTOR_ACTIVATED: "nobody",
  CONNECTOR_DEACTIVATED: "nobody",
  EVENTS_PRUNED: "nobody",
  EVENT_LOG_RESTARTED: "nobody",
  WEBHOOK_ENDPOINT_CREATED: "nobody",
  WEBHOOK_ENDPOINT_UPDATED: "nobody",
  WEBHOOK_ENDPOINT_DELETED: "nobody",
  WEBHOOK_ENDPOINT_DISABLED: "nobody",
  WEBHOOK_ENDPOINT_ENABLED: "nobody",
  WEBHOOK_ENDPOINT_PAUSED: "nobody",
  WEBHOOK_ENDPOINT_RESUMED: "nobody",
  WEBHOOK_ENDPOINT_SECRET_ROTATED: "nobody",
  WEBHOOK_ENDPOINT_TESTED: "nobody",
}

// Events of newer nodes may have names that this one does not know.
const concernOf = (type: string): Concern => (Object.hasOwn(concerns, type) ? concerns[type as EventName] : "nobody")

const endOf = ({ expiresAt, revokedAt, type }: ChangeEvent): number | undefined =>
  type === "TOKEN_ROTATED" && revokedAt === null && expiresAt !== null ? Date.parse(expiresAt) : undefined

/** What an event means for streams; `undefined`: nothing. */
export const changeOf = (event: ChangeEvent): Change | undefined => {
  const concern = concernOf(event.type)
  if (concern === "nobody") return undefined
  if (concern === "all") return { of: "instances", target: { of: "all" } }
  if (concern === "credential") {
    return event.id === null ? undefined : { of: "credential", id: event.id, endsAt: endOf(event) }
  }
  if (concern === "assignment" || concern === "removal") {
    return event.slug === null ? undefined : { of: concern, slug: event.slug }
  }
  // No stream knows which add-ons its instances have.
  if (concern === licenseOfGrant && event.combine !== null) return { of: "instances", target: { of: "all" } }
  const [of, property] = concern
  const slug = event[property]
  return slug === null ? undefined : { of: "instances", target: { of, slug } }
}

/** All instances of a stream. */
export const ALL: ReadonlyArray<Target> = [{ of: "all" }]

/** Beyond this, a frame that names nothing is shorter than one for each target. */
const MAX_TARGETS = 8

/** What a stream has to be sent, if more comes while it waits. */
export const merged = (
  waiting: ReadonlyArray<Target> | undefined,
  more: ReadonlyArray<Target>,
): ReadonlyArray<Target> => {
  if (waiting === undefined) return more.length > MAX_TARGETS ? ALL : more
  const targets = distinct([...waiting, ...more])
  return targets.length > MAX_TARGETS || targets.some(({ of }) => of === "all") ? ALL : targets
}

/** The targets without repetitions. */
export const distinct = (targets: ReadonlyArray<Target>): ReadonlyArray<Target> => [
  ...new Map(targets.map((target) => [keyOf(target), target])).values(),
]

/** A text that is equal for equal targets. */
const keyOf = (target: Target): string => (target.of === "all" ? "all" : `${target.of}:${target.slug}`)

/** The `data` of a frame: that the client should fetch again, and for which of its instances. */
export const dataOf = (target: Target): string =>
  JSON.stringify(
    target.of === "all" ? { type: "refetchEvaluation" } : { type: "refetchEvaluation", [target.of]: target.slug },
  )

/** A frame of Server-Sent Events. */
export const frame = (id: string, data: string): string => `id: ${id}\ndata: ${data}\n\n`

/** The comment that keeps connections open. */
export const COMMENT = ":\n\n"

const MIN_RETRY_MS = 1000
const MAX_RETRY_MS = 60_000

/** When a client reconnects: spread over a second for each 1,000 streams, so that a node that comes back is not flooded. */
export const retryMillis = (streams: number, random: number): number =>
  Math.min(MAX_RETRY_MS, MIN_RETRY_MS + Math.floor(random * streams))

/** The first frame of a stream. */
export const opening = (id: string, retry: number): string => `retry: ${retry}\n${frame(id, '{"type":"open"}')}`
