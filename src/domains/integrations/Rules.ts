/** Rules of integration records. Pure. */
import { Schema } from "effect"
import type { Customer, IntegrationRecord, WriteIntegration } from "../customers/Model.ts"
import type { Instance } from "../instances/Model.ts"
import type { ValidationError } from "../../kernel/contract/Problem.ts"
import { FreeObject } from "../../kernel/values/Text.ts"
import type { CustomerUpsertResult, ExternalKey, InstanceUpsertResult, UpsertInstance, UpsertRecord } from "./Model.ts"

type Metadata = IntegrationRecord["metadata"]

/** A new record. Only its external id is known. */
export const newRecord = (externalId: string): IntegrationRecord => ({
  external_id: externalId,
  last_error: null,
  metadata: {},
  synced_at: null,
  web_url: null,
})

/** Merges metadata shallowly. A `null` value removes its key, a `null` patch removes all keys. */
export const mergeMetadata = (metadata: Metadata, patch: Metadata | null | undefined): Metadata => {
  if (patch === null) return {}
  if (patch === undefined) return metadata
  return Object.fromEntries(Object.entries({ ...metadata, ...patch }).filter(([, value]) => value !== null))
}

/** The record after it is written. Omitted properties stay unchanged. */
export const writeRecord = (current: IntegrationRecord, input: WriteIntegration): IntegrationRecord => ({
  external_id: input.external_id,
  last_error: input.last_error === undefined ? current.last_error : input.last_error,
  metadata: input.metadata === undefined ? current.metadata : (input.metadata ?? {}),
  synced_at: input.synced_at === undefined ? current.synced_at : (input.synced_at?.toISOString() ?? null),
  web_url: input.web_url === undefined ? current.web_url : input.web_url,
})

/** What is wrong with an external id that another resource has. */
export const externalIdTaken = ({ connector, externalId, kind }: ExternalKey) => ({
  detail: `Another ${kind.toLowerCase()} has the external id "${externalId}" in ${connector}. Choose a different external id.`,
})

/** The record after an upsert. Its last error stays unless the upsert names one: only the integration knows when it is resolved. */
export const applyUpsert = (current: IntegrationRecord, input: UpsertRecord, at: Date): IntegrationRecord => ({
  ...current,
  metadata: mergeMetadata(current.metadata, input.integrationMetadata),
  web_url: input.webUrl === undefined ? current.web_url : input.webUrl,
  last_error: input.error === undefined ? current.last_error : input.error || null,
  synced_at: at.toISOString(),
})

const isWithinLimits = Schema.is(FreeObject)

/** Validation errors of a record after a merge, which can exceed the limits although each part respects them. */
export const recordErrors = (record: IntegrationRecord): ReadonlyArray<ValidationError> =>
  isWithinLimits(record.metadata)
    ? []
    : [
        {
          location: "body.integrationMetadata",
          message: "must be at most 16 KiB, 4 levels and 64 keys per object after the merge",
        },
      ]

/** Validation errors of a slug that differs from the current one. Slugs are immutable. */
export const slugErrors = (current: string, sent: string | undefined): ReadonlyArray<ValidationError> =>
  sent === undefined || sent === current
    ? []
    : [{ location: "body.slug", message: `must be "${current}" or be omitted: slugs are immutable`, value: sent }]

/** Validation errors for properties that a new instance requires. */
export const creationErrors = (input: UpsertInstance): ReadonlyArray<ValidationError> =>
  (["customerExternalId", "licenseId"] as const)
    .filter((property) => (input[property] ?? undefined) === undefined)
    .map((property) => ({
      location: `body.${property}`,
      message: "required: no instance has this external id yet, so the request creates one",
    }))

const resultRecordProperties = ({ last_error, metadata, web_url }: IntegrationRecord) => ({
  error: last_error ?? "",
  integrationMetadata: metadata,
  webUrl: web_url,
})

export const customerResult = ({ domain, name, slug }: Customer, record: IntegrationRecord): CustomerUpsertResult => ({
  name,
  slug,
  domain,
  ...resultRecordProperties(record),
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
  endMaintenanceDate: instance.endMaintenanceDate,
  ...resultRecordProperties(record),
})
