/** Events of an organization's stream (`docs/events.md`). */
import { Schema } from "effect"
import { component } from "./Component.ts"
import { ActorReference, CredentialReference } from "./Caller.ts"
import { Uuid } from "../values/Identifiers.ts"
import type { OrganizationId } from "../values/Identifiers.ts"
import { Timestamp } from "../values/Timestamp.ts"
import { eventNames } from "../values/EventNames.ts"

export const EventName = Schema.Literals(eventNames).annotate(component("EventName", "CUSTOMER_CREATION"))
export type EventName = typeof EventName.Type

const STATE_CHANGES = [
  "LICENSE_PUBLISHED",
  "LICENSE_ARCHIVED",
  "LICENSE_UNARCHIVED",
  "METADATA_FIELD_ARCHIVED",
  "METADATA_FIELD_UNARCHIVED",
  // Without `previous` if there was no override or add-on before.
  "INSTANCE_ENTITLEMENT_OVERRIDDEN",
  "INSTANCE_ADD_ON_SET",
] as const satisfies ReadonlyArray<EventName>

/** Events of changes to a record. They carry the values of the changed properties before the change. */
export type ChangeName = Extract<EventName, `${string}_UPDATED` | (typeof STATE_CHANGES)[number]>

/** All other events: they carry the record, but no values before. */
export type RecordEventName = Exclude<EventName, ChangeName>

/** Whether an event is a change of a record. */
export const isChangeName = (name: EventName): name is ChangeName =>
  name.endsWith("_UPDATED") || STATE_CHANGES.some((change) => change === name)

/** Whether a text is the name of an event. */
export const isEventName = Schema.is(EventName)

/**
 * An event in `GET /events` and webhook deliveries. `data` is the record after the change, or before a deletion;
 * `previous` has the changed properties of `data` with the values before; only changes have it.
 */
export const EventRecord = Schema.Struct({
  id: Uuid,
  type: EventName,
  timestamp: Timestamp,
  organizationId: Uuid,
  actor: ActorReference,
  credential: Schema.optionalKey(
    Schema.NullOr(CredentialReference).annotate({
      description:
        "The token, license key or platform credential of the request. `null` for people, for the service itself, and for events of earlier versions; deliveries then have no such property",
    }),
  ),
  data: Schema.Record(Schema.String, Schema.Unknown),
  previous: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Unknown).annotate({
      description:
        "Of changes only: the properties of `data` that changed, with their values before, without `updatedAt` and `updatedBy`",
    }),
  ),
}).annotate(component("Event", { data: { name: "Globex", slug: "globex" }, previous: { name: "Globex Inc." } }))
export type EventRecord = typeof EventRecord.Type & { readonly organizationId: OrganizationId }
