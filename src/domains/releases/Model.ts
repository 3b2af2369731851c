/** Releases: immutable sets of components that deployment zones run, and the policy of who may have one. */
import { Schema } from "effect"
import { component } from "../../kernel/contract/Component.ts"
import { Component } from "../components/Model.ts"
import { ActorReference } from "../../kernel/contract/Caller.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { Slug } from "../../kernel/values/Slug.ts"
import { Description, Name, PathName, Text } from "../../kernel/values/Text.ts"
import { Timestamp, TimestampInput } from "../../kernel/values/Timestamp.ts"

/** The maximum number of components in a release. */
const MAX_COMPONENTS = 200

/** The reasons of a decision on a release, in their order. The last two allow, the others deny. */
export const releaseReasons = [
  "RELEASE_NOT_FOUND",
  "NOT_OFFERED",
  "WITHDRAWN",
  "LICENSE_NOT_STARTED",
  "LICENSE_EXPIRED",
  "NOT_GRANTED",
  "AFTER_MAINTENANCE",
  "IN_GRACE",
  "GRANTED",
] as const

/** Why an instance may have a release, or not. */
export const ReleaseReason = Schema.Literals(releaseReasons).annotate({
  ...component("ReleaseReason", "AFTER_MAINTENANCE"),
  description: "The first rule that applies, in the order of the values. `IN_GRACE` and `GRANTED` allow",
})
export type ReleaseReason = typeof ReleaseReason.Type

/** The maximum number of entitlements that a release requires. */
const MAX_REQUIRED = 20

/** The policy of a release: who may have it. It can change, the release cannot. */
export const ReleaseAccess = Schema.Struct({
  offered: Schema.Boolean.annotate({
    description: "Whether customers may learn that the release exists. Only offered releases are listed for instances",
  }),
  entitlements: Schema.Array(Schema.String).annotate({
    description: "Slugs of the entitlements that a license must grant, all of them, in alphabetical order",
  }),
  withdrawnAt: Schema.NullOr(Timestamp).annotate({
    description: "From this time on, no instance may get the release; `null`: it is not withdrawn",
  }),
  withdrawnReason: Schema.NullOr(Schema.String).annotate({ description: "Shown to licensees" }),
  updatedAt: Schema.NullOr(Timestamp).annotate({ description: "`null`: not changed since the release was created" }),
  updatedBy: Schema.NullOr(ActorReference),
}).annotate(
  component("ReleaseAccess", { offered: true, entitlements: ["updates"], withdrawnAt: null, withdrawnReason: null }),
)
export type ReleaseAccess = typeof ReleaseAccess.Type

export const Release = Schema.Struct({
  id: Uuid,
  slug: Schema.String,
  version: Schema.String,
  description: Schema.NullOr(Schema.String),
  componentIds: Schema.Array(Uuid).annotate({
    description: "Ids of the linked components, in the order given at creation",
  }),
  components: Schema.Array(Component).annotate({
    description: "The linked components, in the order of `componentIds`",
  }),
  releasedAt: Timestamp.annotate({
    description: "Compared with the end of an instance's maintenance. The time of creation unless another one was sent",
  }),
  access: ReleaseAccess,
  createdAt: Timestamp,
  createdBy: ActorReference,
}).annotate(component("Release", { slug: "2026-1", version: "2026.1", description: "The first release of 2026" }))
export type Release = typeof Release.Type

const policy = {
  offered: Schema.optionalKey(Schema.Boolean),
  entitlements: Schema.optionalKey(
    Schema.Array(PathName)
      .check(Schema.isMaxLength(MAX_REQUIRED))
      .annotate({ description: "Slugs of entitlements: a license must grant all of them" }),
  ),
}

/** Body of `POST /releases`. */
export const CreateRelease = Schema.Struct({
  version: Name,
  slug: Schema.optionalKey(Slug),
  description: Schema.optionalKey(Schema.NullOr(Description)),
  componentIds: Schema.optionalKey(Schema.Array(Uuid).check(Schema.isMaxLength(MAX_COMPONENTS))),
  componentSlugs: Schema.optionalKey(
    Schema.Array(PathName)
      .check(Schema.isMaxLength(MAX_COMPONENTS))
      .annotate({ description: "The components by slug, instead of `componentIds`" }),
  ),
  releasedAt: Schema.optionalKey(TimestampInput.annotate({ description: "Default now; must not lie in the future" })),
  access: Schema.optionalKey(Schema.Struct(policy).annotate(component("CreateReleaseAccess", { offered: true }))),
}).annotate(component("CreateRelease"))
export type CreateRelease = typeof CreateRelease.Type

/** Body of `PUT /releases/{releaseSlug}/access`. An omitted property stays unchanged. */
export const UpdateReleaseAccess = Schema.Struct({
  ...policy,
  withdrawn: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "`true` withdraws the release from now on, `false` offers it again" }),
  ),
  withdrawnReason: Schema.optionalKey(
    Schema.NullOr(Text(0, 500)).annotate({ description: "Only of a release that is withdrawn afterwards" }),
  ),
}).annotate(component("UpdateReleaseAccess"))
export type UpdateReleaseAccess = typeof UpdateReleaseAccess.Type

/** Filters of `GET /releases`. */
export const releaseFilters = {
  q: Schema.optionalKey(
    Text(0, 255).annotate({
      description: "Only releases whose version or slug has words that begin with the words of this text, in any order",
    }),
  ),
  component: Schema.optionalKey(
    PathName.annotate({ description: "Only releases that contain a version of the component with exactly this name" }),
  ),
  offered: Schema.optionalKey(
    Schema.Literals(["true", "false"]).annotate({ description: "Only releases that are offered, or only the others" }),
  ),
}
export interface ReleaseFilters {
  readonly q?: string
  readonly component?: string
  readonly offered?: "true" | "false"
}
