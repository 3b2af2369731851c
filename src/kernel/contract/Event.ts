/** Events of an organization's stream (interface specification, section 6; contract, section 6). */
import { Schema } from "effect"
import { component } from "./Component.ts"
import { ActorReference } from "./Caller.ts"
import { Uuid } from "../values/Identifiers.ts"
import { Timestamp } from "../values/Timestamp.ts"

/** The names of all events. The specification defines the first four. */
export const eventNames = [
  "LICENSE_ARCHIVED",
  "SYSTEM_ORGANIZATION_TOKEN_ISSUED",
  "CUSTOMER_CREATION",
  "INSTANCE_CREATION",
  "CUSTOMER_UPDATED",
  "CUSTOMER_DELETED",
  "INSTANCE_UPDATED",
  "INSTANCE_DELETED",
  "INSTANCE_ENTITLEMENT_OVERRIDDEN",
  "INSTANCE_ENTITLEMENT_OVERRIDE_REMOVED",
  "INSTANCE_TERM_ENDING",
  "INSTANCE_TERM_ENDED",
  "INSTANCE_GRACE_ENDED",
  "LICENSE_CREATED",
  "LICENSE_UPDATED",
  "LICENSE_DELETED",
  "LICENSE_PUBLISHED",
  "LICENSE_UNARCHIVED",
  "LICENSE_MIGRATION_STARTED",
  "LICENSE_MIGRATION_FINISHED",
  "LICENSE_MIGRATION_REVERTED",
  "LICENSE_ENTITLEMENT_ASSIGNED",
  "LICENSE_ENTITLEMENT_UPDATED",
  "LICENSE_ENTITLEMENT_UNASSIGNED",
  "ENTITLEMENT_CREATED",
  "ENTITLEMENT_UPDATED",
  "ENTITLEMENT_DELETED",
  "ENTITLEMENT_GROUP_CREATED",
  "ENTITLEMENT_GROUP_UPDATED",
  "ENTITLEMENT_GROUP_DELETED",
  "ENTITLEMENT_USAGE_WARNING_THRESHOLD_REACHED",
  "ENTITLEMENT_USAGE_LIMIT_REACHED",
  "ENTITLEMENT_USAGE_CAP_EXCEEDED",
  "USAGE_EVENT_VOIDED",
  "OFFLINE_BUNDLE_ISSUED",
  "OFFLINE_BUNDLE_REVOKED",
  "OFFLINE_USAGE_UPLOADED",
  "OFFLINE_LEDGER_FORKED",
  "FEATURE_FLAG_CREATED",
  "FEATURE_FLAG_UPDATED",
  "FEATURE_FLAG_DELETED",
  "RELEASE_CREATED",
  "RELEASE_DELETED",
  "RELEASE_DEPLOYED",
  "COMPONENT_CREATED",
  "COMPONENT_DELETED",
  "DEPLOYMENT_ZONE_CREATED",
  "DEPLOYMENT_ZONE_UPDATED",
  "DEPLOYMENT_ZONE_DELETED",
  "METADATA_FIELD_CREATED",
  "METADATA_FIELD_UPDATED",
  "METADATA_FIELD_ARCHIVED",
  "METADATA_FIELD_UNARCHIVED",
  "CONNECTOR_ACTIVATED",
  "CONNECTOR_DEACTIVATED",
  "MEMBERSHIP_CREATED",
  "MEMBERSHIP_UPDATED",
  "MEMBERSHIP_REMOVED",
  "SERVICE_ACCOUNT_CREATED",
  "SERVICE_ACCOUNT_UPDATED",
  "SERVICE_ACCOUNT_DELETED",
  "TOKEN_ISSUED",
  "TOKEN_REVOKED",
  "TOKEN_ROTATED",
  "TOKEN_EXPIRED",
  "SIGNING_KEY_CREATED",
  "SIGNING_KEY_ACTIVATED",
  "SIGNING_KEY_REVOKED",
  "EVENTS_PRUNED",
  "EVENT_LOG_RESTARTED",
  "WEBHOOK_ENDPOINT_CREATED",
  "WEBHOOK_ENDPOINT_UPDATED",
  "WEBHOOK_ENDPOINT_DELETED",
  "WEBHOOK_ENDPOINT_DISABLED",
  "WEBHOOK_ENDPOINT_ENABLED",
  "WEBHOOK_ENDPOINT_SECRET_ROTATED",
  "WEBHOOK_ENDPOINT_TESTED",
] as const

export const EventName = Schema.Literals(eventNames).annotate(component("EventName", "CUSTOMER_CREATION"))
export type EventName = typeof EventName.Type

const STATE_CHANGES = [
  "LICENSE_PUBLISHED",
  "LICENSE_ARCHIVED",
  "LICENSE_UNARCHIVED",
  "METADATA_FIELD_ARCHIVED",
  "METADATA_FIELD_UNARCHIVED",
  // Without `previous` if there was no override before.
  "INSTANCE_ENTITLEMENT_OVERRIDDEN",
] as const satisfies ReadonlyArray<EventName>

/** Events of changes to a record. They carry what the changed properties were before (contract, part 2, section 11). */
export type ChangeName = Extract<EventName, `${string}_UPDATED` | (typeof STATE_CHANGES)[number]>

/** All other events: they carry the record, but no values before. */
export type RecordEventName = Exclude<EventName, ChangeName>

/** Whether an event is a change of a record. */
export const isChangeName = (name: EventName): name is ChangeName =>
  name.endsWith("_UPDATED") || STATE_CHANGES.some((change) => change === name)

/** Whether a text is the name of an event. */
export const isEventName = Schema.is(EventName)

/**
 * An event in `GET /events` and webhook deliveries. `data` is the record after the change, or before a deletion; `previous` are
 * the changed properties of `data` with their values before, of changes only.
 */
export const EventRecord = Schema.Struct({
  id: Uuid,
  type: EventName,
  timestamp: Timestamp,
  organizationId: Uuid,
  actor: ActorReference,
  data: Schema.Record(Schema.String, Schema.Unknown),
  previous: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Unknown).annotate({
      description:
        "Of changes only: the properties of `data` that changed, with their values before, without `updatedAt` and `updatedBy`",
    }),
  ),
}).annotate(component("Event", { data: { name: "Globex", slug: "globex" }, previous: { name: "Globex Inc." } }))
export type EventRecord = typeof EventRecord.Type
