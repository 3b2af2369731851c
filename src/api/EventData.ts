/** The records of events that have more properties than the records of the API, such as their owner. */
import { Schema } from "effect"
import { AccessToken } from "../domains/access/Model.ts"
import { Instance } from "../domains/instances/Model.ts"
import { AddOn } from "../domains/instances/addons/Model.ts"
import { Override } from "../domains/instances/overrides/Model.ts"
import { Grant } from "../domains/licenses/Model.ts"
import { OfflineBundle } from "../domains/offline/bundles/Model.ts"
import { OfflineLedger, uploadFields } from "../domains/offline/ledgers/Model.ts"
import { ReleaseAccess, ReleaseReason } from "../domains/releases/Model.ts"
import { Credit } from "../domains/usage/credits/Model.ts"
import { UsageEventRecord } from "../domains/usage/history/Model.ts"
import { UsageEntry } from "../domains/usage/ledger/Model.ts"
import { Deployment } from "../domains/zones/Model.ts"
import { component, componentOf } from "../kernel/contract/Component.ts"
import { Amount } from "../kernel/values/Decimal.ts"
import { Uuid } from "../kernel/values/Identifiers.ts"

/** The properties that an event adds to the example of a record or its parent. */
const extended = <F extends Schema.Struct.Fields, G extends Schema.Struct.Fields>(
  name: string,
  record: Schema.Struct<F>,
  fields: G,
  example: object,
) => {
  const inherited = componentOf(record.ast)?.example as object | undefined
  return Schema.Struct({ ...record.fields, ...fields }).annotate(component(name, { ...inherited, ...example }))
}

// One of them; none of tokens that the operator issued.
const ownerIds = { serviceAccountId: Schema.optionalKey(Uuid), instanceId: Schema.optionalKey(Uuid) }

export const Token = extended(
  "TokenOfServiceAccount",
  AccessToken,
  {
    ...ownerIds,
    serviceAccountSlug: Schema.optionalKey(
      Schema.String.annotate({
        description: "The owner of the token. License keys and tokens that the operator issued have none",
      }),
    ),
    instanceSlug: Schema.optionalKey(
      Schema.String.annotate({ description: "The instance that a license key is confined to" }),
    ),
  },
  { serviceAccountSlug: "build-server-k3x9ya" },
)

export const RotatedToken = extended(
  "RotatedToken",
  AccessToken,
  {
    ...ownerIds,
    serviceAccountSlug: Schema.optionalKey(Schema.String),
    instanceSlug: Schema.optionalKey(Schema.String),
    rotatedTo: Schema.String.annotate({ description: "Slug of the successor" }),
  },
  { serviceAccountSlug: "build-server-k3x9ya", rotatedTo: "nightly-deploys-7hw2mq" },
)

export const GrantOfLicense = extended(
  "EntitlementOfLicense",
  Grant,
  { licenseId: Uuid, licenseSlug: Schema.String },
  { licenseSlug: "pro-2" },
)

export const OverrideOfInstance = extended("OverrideOfInstance", Override, { instanceId: Uuid }, {})

export const AddOnOfInstance = extended("AddOnOfInstance", AddOn, { instanceId: Uuid }, {})

export const CreditOfInstance = extended("CreditOfInstance", Credit, { instanceId: Uuid }, {})

export const ExpiredCredit = extended(
  "ExpiredCredit",
  CreditOfInstance,
  { unused: Amount.annotate({ description: "What was left of it" }) },
  { remaining: 0, state: "EXPIRED", unused: 5_000 },
)

export const BundleOfInstance = extended("OfflineBundleOfInstance", OfflineBundle, { instanceId: Uuid }, {})

export const DeploymentInZone = extended(
  "DeploymentInZone",
  Deployment,
  {
    deploymentZoneId: Uuid,
    deploymentZoneSlug: Schema.String,
    notAllowed: Schema.optionalKey(
      Schema.Array(
        Schema.Struct({ instanceSlug: Schema.String, reason: ReleaseReason }).annotate(
          component("NotAllowedDeployment", { instanceSlug: "globex-production" }),
        ),
      ).annotate({
        description:
          "The first 100 instances of the zone that may not have the release. Events of earlier versions do not have it",
      }),
    ),
  },
  { deploymentZoneSlug: "globex-berlin" },
)

export const AccessOfRelease = extended(
  "AccessOfRelease",
  ReleaseAccess,
  { releaseId: Uuid, releaseSlug: Schema.String },
  { releaseSlug: "4-2-1" },
)

export const UsageOfInstance = extended(
  "UsageOfInstance",
  UsageEntry,
  { instanceId: Uuid, instanceSlug: Schema.String, licenseSlug: Schema.String },
  { instanceSlug: "globex-production", licenseSlug: "pro-2" },
)

export const VoidedUsageEvent = extended(
  "VoidedUsageEvent",
  UsageEventRecord,
  { instanceId: Uuid, instanceSlug: Schema.String, entitlementSlug: Schema.String },
  { instanceSlug: "globex-production", entitlementSlug: "api-calls", voidedAt: "2026-01-31T09:00:00.000Z" },
)

export const EndingInstance = extended(
  "EndingInstance",
  Instance,
  { daysLeft: Schema.Int.annotate({ description: "Days until the end, rounded up; 0 if the event is late" }) },
  { daysLeft: 7 },
)

export const UploadedLedger = extended(
  "UploadedOfflineLedger",
  OfflineLedger,
  { instanceId: Uuid, ...uploadFields },
  { accepted: 1, rejected: 0, overAllowance: [] },
)

export const ForkedLedger = extended(
  "ForkedOfflineLedger",
  OfflineLedger,
  {
    instanceId: Uuid,
    forkedLine: Schema.Int.annotate({ description: "The number of the line that does not follow" }),
  },
  { forkedAt: "2026-01-31T09:00:00.000Z", forkedLine: 2 },
)
