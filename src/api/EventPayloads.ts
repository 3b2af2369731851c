/**
 * The payload of each event: the body of a delivery to a webhook endpoint, and an item of `GET /events`
 * (`docs/events.md`). The documents describe them as webhooks, and the suite validates all emitted events against them.
 */
import { Array as Arr, Record, Schema, SchemaAST, String as Str } from "effect"
import { AccessToken, ServiceAccount } from "../domains/access/Model.ts"
import { PrunedEvents, RestartedLog } from "../domains/audit/Model.ts"
import { Component } from "../domains/components/Model.ts"
import { Activation } from "../domains/connectors/Model.ts"
import { Customer } from "../domains/customers/Model.ts"
import { Entitlement } from "../domains/entitlements/Model.ts"
import { FeatureFlag } from "../domains/flags/Model.ts"
import { EntitlementGroup } from "../domains/groups/Model.ts"
import { Instance } from "../domains/instances/Model.ts"
import { License } from "../domains/licenses/Model.ts"
import { MetadataField } from "../domains/metadata/Model.ts"
import { LicenseMigration } from "../domains/licensemoves/Model.ts"
import { Membership } from "../domains/people/Model.ts"
import { Release } from "../domains/releases/Model.ts"
import { SigningKey } from "../domains/signing/Model.ts"
import { WebhookEndpoint } from "../domains/webhooks/Model.ts"
import { DeploymentZone } from "../domains/zones/Model.ts"
import { component } from "../kernel/contract/Component.ts"
import { EventRecord, isChangeName } from "../kernel/contract/Event.ts"
import { eventNames } from "../kernel/values/EventNames.ts"
import type { ChangeName, EventName } from "../kernel/contract/Event.ts"
import {
  AccessOfRelease,
  Token,
  RotatedToken,
  GrantOfLicense,
  OverrideOfInstance,
  AddOnOfInstance,
  BundleOfInstance,
  DeploymentInZone,
  UsageOfInstance,
  VoidedUsageEvent,
  EndingInstance,
  UploadedLedger,
  CreditOfInstance,
  ExpiredCredit,
  ForkedLedger,
} from "./EventData.ts"

/**
 * By event: the schema of `data` (the record after the change, or before a deletion), what happened, and, for a change,
 * an example of the values before it.
 */
const events = {
  LICENSE_ARCHIVED: [License, "A license was archived", { lifecycleState: "PUBLISHED" }],
  SYSTEM_ORGANIZATION_TOKEN_ISSUED: [AccessToken, "The operator issued a token of the organization"],
  CUSTOMER_CREATION: [Customer, "A customer was created"],
  INSTANCE_CREATION: [Instance, "An instance was created"],
  CUSTOMER_UPDATED: [
    Customer,
    "A customer was changed, or one of its integration records",
    { name: "Globex Inc.", domain: null },
  ],
  CUSTOMER_DELETED: [Customer, "A customer was deleted"],
  INSTANCE_UPDATED: [
    Instance,
    "An instance was changed, or one of its integration records",
    { endLicenseDate: "2026-12-31T00:00:00.000Z" },
  ],
  INSTANCE_DELETED: [Instance, "An instance was deleted"],
  INSTANCE_ENTITLEMENT_OVERRIDDEN: [
    OverrideOfInstance,
    "An instance got an override of an entitlement, or another one instead",
    { value: 2_000 },
  ],
  INSTANCE_ENTITLEMENT_OVERRIDE_REMOVED: [OverrideOfInstance, "An override of an instance was removed"],
  INSTANCE_ADD_ON_SET: [
    AddOnOfInstance,
    "An instance got an add-on, or another quantity or version of it; `previous` is what it would have had then",
    { quantity: 2 },
  ],
  INSTANCE_ADD_ON_REMOVED: [AddOnOfInstance, "An add-on of an instance was removed, with what was planned of it"],
  CREDIT_CREATED: [CreditOfInstance, "A credit was added to an instance"],
  CREDIT_VOIDED: [CreditOfInstance, "A credit was voided: it pays nothing from then on"],
  CREDIT_USED_UP: [CreditOfInstance, "A credit was used up; once, and again after usage was returned to it"],
  CREDIT_EXPIRED: [ExpiredCredit, "A credit expired with something left, once"],
  INSTANCE_TERM_ENDING: [EndingInstance, "The license of an instance ends soon, once per lead time and end date"],
  INSTANCE_TERM_ENDED: [Instance, "The license of an instance ended, once per end date"],
  INSTANCE_GRACE_ENDED: [Instance, "The grace period of an instance ended, once per end date"],
  LICENSE_CREATED: [License, "A license was created"],
  LICENSE_UPDATED: [License, "A license was changed", { isDefault: false }],
  LICENSE_DELETED: [License, "A license was deleted"],
  LICENSE_PUBLISHED: [License, "A license was published", { lifecycleState: "DRAFT" }],
  LICENSE_UNARCHIVED: [License, "An archived license was restored", { lifecycleState: "ARCHIVED" }],
  LICENSE_MIGRATION_STARTED: [LicenseMigration, "A license migration started to move instances"],
  LICENSE_MIGRATION_FINISHED: [LicenseMigration, "A license migration has moved its last instance"],
  LICENSE_MIGRATION_REVERTED: [LicenseMigration, "A license migration was reverted: its last instance was moved back"],
  LICENSE_ENTITLEMENT_ASSIGNED: [GrantOfLicense, "A license grants one more entitlement"],
  LICENSE_ENTITLEMENT_UPDATED: [GrantOfLicense, "What a license grants of an entitlement was changed", { value: 500 }],
  LICENSE_ENTITLEMENT_UNASSIGNED: [GrantOfLicense, "A license no longer grants an entitlement"],
  ENTITLEMENT_CREATED: [Entitlement, "An entitlement was created"],
  ENTITLEMENT_UPDATED: [Entitlement, "An entitlement was changed", { name: "Calls" }],
  ENTITLEMENT_DELETED: [Entitlement, "An entitlement was deleted"],
  ENTITLEMENT_GROUP_CREATED: [EntitlementGroup, "An entitlement group was created"],
  ENTITLEMENT_GROUP_UPDATED: [
    EntitlementGroup,
    "An entitlement group was changed, or its entitlements",
    { entitlementSlugs: [] },
  ],
  ENTITLEMENT_GROUP_DELETED: [EntitlementGroup, "An entitlement group was deleted"],
  ENTITLEMENT_USAGE_WARNING_THRESHOLD_REACHED: [
    UsageOfInstance,
    "The usage of an instance reached the warning threshold, once per period",
  ],
  ENTITLEMENT_USAGE_LIMIT_REACHED: [
    UsageOfInstance,
    "The usage of an instance reached the granted value, once per period",
  ],
  ENTITLEMENT_USAGE_CAP_EXCEEDED: [
    UsageOfInstance,
    "Usage was rejected because it would exceed the cap, or a ledger brought usage above it, once per period",
  ],
  USAGE_EVENT_VOIDED: [VoidedUsageEvent, "An event of usage was voided: it counts no more"],
  OFFLINE_BUNDLE_ISSUED: [BundleOfInstance, "An offline bundle of an instance was issued"],
  OFFLINE_BUNDLE_REVOKED: [BundleOfInstance, "An offline bundle was revoked, and all of its instance before it"],
  OFFLINE_USAGE_UPLOADED: [UploadedLedger, "New lines of a ledger were stored, or it was closed"],
  OFFLINE_LEDGER_FORKED: [
    ForkedLedger,
    "An upload was rejected because a line does not follow from the one before: the ledger was copied, restored or rewritten",
  ],
  FEATURE_FLAG_CREATED: [FeatureFlag, "A feature flag was created"],
  FEATURE_FLAG_UPDATED: [FeatureFlag, "A feature flag was changed", { enabled: false }],
  FEATURE_FLAG_DELETED: [FeatureFlag, "A feature flag was deleted"],
  RELEASE_CREATED: [Release, "A release was created"],
  RELEASE_DELETED: [Release, "A release was deleted"],
  RELEASE_ACCESS_UPDATED: [AccessOfRelease, "Who may have a release was changed", { offered: false }],
  RELEASE_DEPLOYED: [DeploymentInZone, "A release was deployed to a deployment zone"],
  COMPONENT_CREATED: [Component, "A component was created"],
  COMPONENT_IMAGES_UPDATED: [Component, "The images of a component were replaced", { images: [] }],
  COMPONENT_DELETED: [Component, "A component was deleted"],
  DEPLOYMENT_ZONE_CREATED: [DeploymentZone, "A deployment zone was created"],
  DEPLOYMENT_ZONE_UPDATED: [DeploymentZone, "A deployment zone was changed", { releaseId: null }],
  DEPLOYMENT_ZONE_DELETED: [DeploymentZone, "A deployment zone was deleted"],
  METADATA_FIELD_CREATED: [MetadataField, "A metadata field was created"],
  METADATA_FIELD_UPDATED: [MetadataField, "A metadata field was changed", { label: "Area" }],
  METADATA_FIELD_ARCHIVED: [MetadataField, "A metadata field was archived", { archivedAt: null }],
  METADATA_FIELD_UNARCHIVED: [
    MetadataField,
    "An archived metadata field was restored",
    { archivedAt: "2026-01-30T09:00:00.000Z" },
  ],
  CONNECTOR_ACTIVATED: [Activation, "A connector was activated"],
  CONNECTOR_DEACTIVATED: [Activation, "A connector was deactivated"],
  MEMBERSHIP_CREATED: [Membership, "A person became a member of the organization"],
  MEMBERSHIP_UPDATED: [Membership, "The role of a member was changed", { role: "MEMBER" }],
  MEMBERSHIP_REMOVED: [Membership, "A person is no longer a member of the organization"],
  SERVICE_ACCOUNT_CREATED: [ServiceAccount, "A service account was created"],
  SERVICE_ACCOUNT_UPDATED: [ServiceAccount, "A service account was changed", { name: "Old build server" }],
  SERVICE_ACCOUNT_DELETED: [ServiceAccount, "A service account was deleted, with its tokens"],
  TOKEN_ISSUED: [Token, "A token of a service account was issued"],
  TOKEN_REVOKED: [Token, "A token was revoked"],
  TOKEN_ROTATED: [RotatedToken, "A token was replaced by its successor"],
  TOKEN_EXPIRED: [Token, "A token expired"],
  SIGNING_KEY_CREATED: [SigningKey, "A signing key was created: it is announced, or signs if it is the first"],
  SIGNING_KEY_ACTIVATED: [SigningKey, "A signing key signs from now on, instead of the one before"],
  SIGNING_KEY_REVOKED: [SigningKey, "A signing key was revoked: it is trusted no more"],
  EVENTS_PRUNED: [PrunedEvents, "Retention deleted the oldest events of the log"],
  EVENT_LOG_RESTARTED: [RestartedLog, "The operator began a new event log, because the old one could not go on"],
  WEBHOOK_ENDPOINT_CREATED: [WebhookEndpoint, "A webhook endpoint was created"],
  WEBHOOK_ENDPOINT_UPDATED: [WebhookEndpoint, "A webhook endpoint was changed", { eventNames: ["CUSTOMER_CREATION"] }],
  WEBHOOK_ENDPOINT_DELETED: [WebhookEndpoint, "A webhook endpoint was deleted"],
  WEBHOOK_ENDPOINT_DISABLED: [WebhookEndpoint, "A webhook endpoint was disabled because all its deliveries failed"],
  WEBHOOK_ENDPOINT_ENABLED: [WebhookEndpoint, "A disabled webhook endpoint was enabled"],
  WEBHOOK_ENDPOINT_PAUSED: [WebhookEndpoint, "A webhook endpoint was paused", { pausedAt: "2026-01-31T09:00:00Z" }],
  WEBHOOK_ENDPOINT_RESUMED: [WebhookEndpoint, "A paused webhook endpoint was resumed"],
  WEBHOOK_ENDPOINT_SECRET_ROTATED: [WebhookEndpoint, "The secret of a webhook endpoint was replaced"],
  WEBHOOK_ENDPOINT_TESTED: [WebhookEndpoint, "A test was requested; it is delivered only to the tested endpoint"],
} as const satisfies Readonly<Record<EventName, readonly [data: Schema.Top, summary: string, previous?: object]>>

/** The component of an event's payload: `CUSTOMER_CREATION` is `CustomerCreationEvent`. */
const componentNameOf = (name: EventName): string => `${nameOf(name)}Event`

const nameOf = (name: EventName): string => Str.snakeToPascal(name.toLowerCase())

/** The properties of a record that a change gave another value. Who changed the record and when are not among them. */
const previousOf = (event: ChangeName, data: Schema.Struct<Schema.Struct.Fields>) => {
  const { updatedAt: _at, updatedBy: _by, ...fields } = data.fields
  // A property that the record did not have is `null`.
  const before = (field: Schema.Constraint) =>
    Schema.optionalKey(
      SchemaAST.isOptional(field.ast) && "schema" in field && Schema.isSchema(field.schema)
        ? Schema.NullOr(field.schema)
        : field,
    )
  return Schema.Struct(Record.map(fields, before)).annotate({
    ...component(`${nameOf(event)}Previous`),
    description:
      "The properties of `data` that changed, with their values before. Events of earlier versions do not have it",
  })
}

/** The payload of an event, as JSON in the body of a delivery. */
interface EventPayload {
  readonly event: EventName
  /** What happened, as a sentence without a full stop. */
  readonly summary: string
  readonly schema: Schema.Top
}

const { previous: _previous, ...envelope } = EventRecord.fields

const payloadOf = (event: EventName, data: Schema.Struct<Schema.Struct.Fields>) =>
  Schema.Struct({
    ...envelope,
    type: Schema.Literal(event),
    data,
    ...(isChangeName(event) ? { previous: Schema.optionalKey(previousOf(event, data)) } : {}),
  })

const exampleOf = (event: EventName) => {
  const [, , previous]: readonly [Schema.Top, string, object?] = events[event]
  return previous === undefined ? {} : { previous }
}

/** The payloads of all events. */
export const eventPayloads = Arr.map(eventNames, (event): EventPayload => ({
  event,
  summary: events[event][1],
  schema: payloadOf(event, events[event][0]).annotate(component(componentNameOf(event), exampleOf(event))),
}))
