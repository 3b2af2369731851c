/** What an instance may have of the offered releases: the records, and the facts that decide. */
import { Schema, Struct } from "effect"
import { component } from "../../../kernel/contract/Component.ts"
import { Timestamp } from "../../../kernel/values/Timestamp.ts"
import { Component } from "../../components/Model.ts"
import { EntitlementType } from "../../entitlements/Model.ts"
import { Release, releaseFilters, ReleaseReason } from "../../releases/Model.ts"
import { GrantedTerms } from "../rules/Grant.ts"

/** A component of a release, as licensees see it. */
const LicensedComponent = Schema.Struct(Struct.pick(Component.fields, ["name", "version", "slug", "images"])).annotate(
  component("LicensedComponent", { name: "Search", version: "1.2.0", slug: "search-1-2-0" }),
)

/** A release, as licensees see it. */
const LicensedRelease = Schema.Struct({
  ...Struct.pick(Release.fields, ["slug", "version", "description", "releasedAt"]),
  withdrawnReason: Schema.NullOr(Schema.String),
  components: Schema.Array(LicensedComponent),
}).annotate(component("LicensedRelease", { slug: "4-2-1", version: "4.2.1", description: null, withdrawnReason: null }))

/** Whether an instance may have a release, and why not. */
export const InstanceRelease = Schema.Struct({
  release: LicensedRelease,
  allowed: Schema.Boolean.annotate({ description: "Whether the instance may have the release now" }),
  reason: ReleaseReason,
  missing: Schema.Array(Schema.String).annotate({
    description: "Slugs of the required entitlements that the instance is not granted, in alphabetical order",
  }),
  endMaintenanceDate: Schema.NullOr(Timestamp).annotate({
    description: "Releases after it are not allowed; `null`: no release is too late",
  }),
  explanation: Schema.String.annotate({ description: "The reason as a sentence" }),
}).annotate(
  component("InstanceRelease", {
    allowed: false,
    missing: [],
    explanation: "4.2.1 was released on 2026-11-20. The maintenance of globex-prod ended on 2026-10-31.",
  }),
)
export type InstanceRelease = typeof InstanceRelease.Type

/** Filters of `GET /instances/{instanceSlug}/releases`. */
export const instanceReleaseFilters = {
  allowed: Schema.optionalKey(
    Schema.Literals(["true", "false", "any"]).annotate({
      description: "`true` (default): only releases that the instance may have; `false`: only the others; `any`: all",
    }),
  ),
  component: releaseFilters.component,
  q: releaseFilters.q,
}
export interface InstanceReleaseFilters {
  readonly allowed?: "true" | "false" | "any"
  readonly component?: string
  readonly q?: string
}

/** What the instance is granted of an entitlement that a release requires. */
const RequiredTerms = Schema.Struct({
  ...GrantedTerms.fields,
  entitlement: Schema.String,
  type: EntitlementType,
})
export type RequiredTerms = typeof RequiredTerms.Type

/** The facts about an instance and a release. */
export const ReleaseFacts = Schema.Struct({
  instanceId: Schema.String,
  instance: Schema.String,
  startLicenseDate: Schema.Date,
  endLicenseDate: Schema.NullOr(Schema.Date),
  graceDays: Schema.Int,
  endMaintenanceDate: Schema.NullOr(Schema.Date),
  releaseId: Schema.String,
  release: Schema.String,
  version: Schema.String,
  description: Schema.NullOr(Schema.String),
  releasedAt: Schema.Date,
  offered: Schema.Boolean,
  withdrawnAt: Schema.NullOr(Schema.Date),
  withdrawnReason: Schema.NullOr(Schema.String),
  required: Schema.Array(RequiredTerms),
})
export type ReleaseFacts = typeof ReleaseFacts.Type

/** The components of a release, as licensees see them. */
export const ComponentsOfRelease = Schema.Struct({
  releaseId: Schema.String,
  components: Schema.Array(LicensedComponent),
})
export type ComponentsOfRelease = typeof ComponentsOfRelease.Type
