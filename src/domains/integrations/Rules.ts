/** Decisions about integration records (contract, section 5, "Customers, instances"). Pure. */
import { Schema } from "effect"
import type { Customer, IntegrationRecord } from "../customers/Model.ts"
import type { Instance } from "../instances/Model.ts"
import type { ProblemFault } from "../../kernel/contract/Problem.ts"
import { FreeObject } from "../../kernel/values/Text.ts"
import type { CustomerUpsertResult, InstanceUpsertResult, UpsertInstance, UpsertRecord } from "./Model.ts"

type Metadata = IntegrationRecord["metadata"]

/** What a record holds before anything is known but its external id. */
export const fresh = (externalId: string): IntegrationRecord => ({
  external_id: externalId,
  last_error: null,
  metadata: {},
  synced_at: null,
  web_url: null,
})

/** A shallow merge: `null` removes a key, or everything. */
export const merged = (metadata: Metadata, patch: Metadata | null | undefined): Metadata => {
  if (patch === null) return {}
  if (patch === undefined) return metadata
  return Object.fromEntries(Object.entries({ ...metadata, ...patch }).filter(([, value]) => value !== null))
}

/** The record after an upsert. Its last error stays: only the integration itself can tell that it is over. */
export const synced = (current: IntegrationRecord, input: UpsertRecord, at: Date): IntegrationRecord => ({
  ...current,
  metadata: merged(current.metadata, input.integrationMetadata),
  web_url: input.webUrl === undefined ? current.web_url : input.webUrl,
  synced_at: at.toISOString(),
})

const isWithinLimits = Schema.is(FreeObject)

/** What is wrong with an upsert of this record: merging can lift metadata above the limits that each part keeps. */
export const recordFaults = (record: IntegrationRecord): ReadonlyArray<ProblemFault> =>
  isWithinLimits(record.metadata)
    ? []
    : [
        {
          location: "body.integrationMetadata",
          message: "makes the record's metadata larger than 16 KiB, 4 levels or 64 keys",
        },
      ]

/** A slug never changes; sending the one that is there is no change. */
export const slugFaults = (current: string, sent: string | undefined): ReadonlyArray<ProblemFault> =>
  sent === undefined || sent === current
    ? []
    : [{ location: "body.slug", message: `cannot change from "${current}": slugs are immutable`, value: sent }]

/** What an instance cannot be made without. */
export const creationFaults = (input: UpsertInstance): ReadonlyArray<ProblemFault> =>
  (["customerExternalId", "licenseId"] as const)
    .filter((member) => input[member] === undefined)
    .map((member) => ({
      location: `body.${member}`,
      message: "is missing: no instance has this external id yet, and a new one needs it",
    }))

const resultOfTheRecord = ({ last_error, metadata, web_url }: IntegrationRecord) => ({
  error: last_error ?? "",
  integrationMetadata: metadata,
  webUrl: web_url,
})

export const customerResult = ({ domain, name, slug }: Customer, record: IntegrationRecord): CustomerUpsertResult => ({
  name,
  slug,
  domain,
  ...resultOfTheRecord(record),
})

export const instanceResult = (
  instance: Instance,
  record: IntegrationRecord,
  customerExternalId: string | null,
): InstanceUpsertResult => ({
  name: instance.name,
  slug: instance.slug,
  description: instance.description,
  customerExternalId,
  licenseId: instance.licenseId,
  deploymentZoneId: instance.deploymentZoneId,
  startLicenseDate: instance.startLicenseDate,
  endLicenseDate: instance.endLicenseDate,
  ...resultOfTheRecord(record),
})
