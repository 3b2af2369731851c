/** What dry runs report about other records, by the kind of change. */
import { Schema } from "effect"
import { component } from "../Component.ts"
import { Timestamp } from "../../values/Timestamp.ts"
import { DryRunOf } from "./DryRun.ts"
import { affectedSchema, AffectedInstance, DeletionImpact, ChangingChecks, ChangingReason } from "./Impact.ts"

/** Of a change of a license version. */
export const LicenseImpact = Schema.Struct({
  instances: affectedSchema("InstancesOnLicense", AffectedInstance, "The instances with this license version"),
  familyResolvesTo: Schema.Struct({
    before: Schema.NullOr(Schema.String),
    after: Schema.NullOr(Schema.String),
  }).annotate({
    ...component("FamilyResolvesTo", { before: "pro-v2", after: "pro" }),
    description: "The version that the family resolves to; `null` if none",
  }),
  losesDefault: Schema.NullOr(Schema.String).annotate({
    description: "The version that no longer is the default of the family; `null` if none",
  }),
}).annotate(component("LicenseImpact", { losesDefault: null }))
export type LicenseImpact = typeof LicenseImpact.Type

/** Of a change of a grant, or of an instance. */
export const ChangingImpact = Schema.Struct({ turning: ChangingChecks }).annotate(component("ChangingImpact"))
export type ChangingImpact = typeof ChangingImpact.Type

const DeletedUsageEvent = Schema.Struct({
  entitlement: Schema.String,
  timestamp: Timestamp.annotate({ description: "When it was used" }),
}).annotate(component("DeletedUsageEvent", { entitlement: "api-calls" }))

const DeletedReservation = Schema.Struct({
  id: Schema.String,
  entitlement: Schema.String,
  expiresAt: Timestamp,
}).annotate(component("DeletedReservation", { id: "0198c2b0-0a11-7d52-8a39-2f6c1e8a7054", entitlement: "api-calls" }))

const BundleInForce = Schema.Struct({
  id: Schema.String,
  sequence: Schema.Int,
  expiresAt: Timestamp,
}).annotate(component("OfflineBundleInForce", { id: "0198c2b1-1111-7000-8000-000000000007", sequence: 7 }))

const BundlesInForce = affectedSchema(
  "OfflineBundlesInForce",
  BundleInForce,
  "Its offline bundles that would be voided: neither revoked nor expired",
)

/** Of a revocation of an offline bundle. */
export const RevocationImpact = Schema.Struct({ bundles: BundlesInForce }).annotate(component("RevocationImpact"))
export type RevocationImpact = typeof RevocationImpact.Type

/** Of a deletion of an instance: what is deleted with it. */
export const InstanceDeletionImpact = Schema.Struct({
  usageEvents: affectedSchema("DeletedUsageEvents", DeletedUsageEvent, "Usage events of the instance, newest first"),
  reservations: affectedSchema("DeletedReservations", DeletedReservation, "Its held reservations"),
  bundles: BundlesInForce,
}).annotate(component("InstanceDeletionImpact"))
export type InstanceDeletionImpact = typeof InstanceDeletionImpact.Type

const InvalidRecord = Schema.Struct({
  slug: Schema.String,
  customer: Schema.optionalKey(Schema.String).annotate({ description: "Of an instance: the slug of its customer" }),
}).annotate(component("InvalidRecord", { slug: "globex-production", customer: "globex" }))

/** Of a change of a metadata field. */
export const MetadataFieldImpact = Schema.Struct({
  invalid: affectedSchema(
    "InvalidRecords",
    InvalidRecord,
    "Records whose stored value would be rejected: it does not match the schema, or its field is archived",
  ),
}).annotate(component("MetadataFieldImpact"))
export type MetadataFieldImpact = typeof MetadataFieldImpact.Type

const LinkedRecord = Schema.Struct({
  kind: Schema.Literals(["CUSTOMER", "INSTANCE"]).annotate(component("IntegrationKind", "CUSTOMER")),
  slug: Schema.String.annotate({ description: "Slug of the customer or the instance" }),
  externalId: Schema.String,
}).annotate(
  component("ConnectorIntegrationRecord", { kind: "CUSTOMER", slug: "globex", externalId: "0014x00001AbCdE" }),
)

/** Of the deactivation of a connector. */
export const ConnectorImpact = Schema.Struct({
  integrationRecords: affectedSchema(
    "ConnectorIntegrationRecords",
    LinkedRecord,
    "Integration records of the connector: they stay, and cannot be changed while it is not active",
  ),
}).annotate(component("ConnectorImpact"))
export type ConnectorImpact = typeof ConnectorImpact.Type

const TurningRelease = Schema.Struct({
  slug: Schema.String.annotate({ description: "Slug of the instance" }),
  reason: ChangingReason,
}).annotate(component("TurningRelease", { slug: "globex-production" }))

/** Of a change of who may have a release. */
export const ReleaseAccessImpact = Schema.Struct({
  releases: affectedSchema(
    "TurningReleases",
    TurningRelease,
    "Instances that may have the release afterwards and may not now, or the other way around",
  ),
}).annotate(component("ReleaseAccessImpact"))
export type ReleaseAccessImpact = typeof ReleaseAccessImpact.Type

/** The dry run of a deletion that nothing blocks. */
export const DeletionDryRun = DryRunOf("Deletion", { status: 204, body: Schema.Null, impact: DeletionImpact })
