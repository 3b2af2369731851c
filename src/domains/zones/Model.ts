/** Deployment zones and their deployment history. */
import { Schema } from "effect"
import { component } from "../../kernel/contract/Component.ts"
import { ActorReference } from "../../kernel/contract/Caller.ts"
import { nameFilter } from "../../kernel/contract/Page.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { Slug } from "../../kernel/values/Slug.ts"
import { Description, FreeObject, Name, PathName, Text } from "../../kernel/values/Text.ts"
import { Timestamp } from "../../kernel/values/Timestamp.ts"

const ZoneType = Text(1, 64).annotate({
  description: "Free text; `production`, `staging` and `development` are suggestions",
  examples: ["production", "staging", "development"],
})

const ReleaseAccessMode = Schema.Literals(["WARN", "REFUSE"]).annotate({
  ...component("ReleaseAccessMode", "WARN"),
  description:
    "What happens if an offered release is deployed that an instance of the zone may not have. `WARN` (default) stores the deployment, and its event names the instances; `REFUSE` rejects it with 409",
})

const ReleaseSlug = PathName.annotate({ description: "The release by slug, instead of `releaseId`" })

export const DeploymentZone = Schema.Struct({
  id: Uuid,
  name: Schema.String,
  slug: Schema.String,
  description: Schema.NullOr(Schema.String),
  type: Schema.String,
  metadata: Schema.Record(Schema.String, Schema.Unknown).annotate({
    description: "Values keyed by metadata field",
  }),
  releaseId: Schema.NullOr(Uuid).annotate({ description: "The release that the zone currently runs" }),
  releaseSlug: Schema.NullOr(Schema.String).annotate({ description: "Its slug" }),
  releaseAccess: ReleaseAccessMode,
  createdAt: Timestamp,
  updatedAt: Timestamp,
  createdBy: ActorReference,
  updatedBy: ActorReference,
}).annotate(
  component("DeploymentZone", {
    name: "Frankfurt",
    slug: "frankfurt",
    description: null,
    type: "production",
    metadata: { region: "eu" },
    releaseSlug: "2026-1",
  }),
)
export type DeploymentZone = typeof DeploymentZone.Type

const running = {
  releaseId: Schema.optionalKey(Schema.NullOr(Uuid)),
  releaseSlug: Schema.optionalKey(Schema.NullOr(ReleaseSlug)),
  releaseAccess: Schema.optionalKey(ReleaseAccessMode),
}

/** Body of `POST /deployment-zones`. */
export const CreateDeploymentZone = Schema.Struct({
  name: Name,
  slug: Schema.optionalKey(Slug),
  description: Schema.optionalKey(Schema.NullOr(Description)),
  type: ZoneType,
  metadata: Schema.optionalKey(Schema.NullOr(FreeObject)),
  ...running,
}).annotate(component("CreateDeploymentZone"))
export type CreateDeploymentZone = typeof CreateDeploymentZone.Type

/** Body of `PUT /deployment-zones/{deploymentZoneSlug}`; `null` clears a property, an omitted one stays unchanged. */
export const UpdateDeploymentZone = Schema.Struct({
  name: Schema.optionalKey(Name),
  description: Schema.optionalKey(Schema.NullOr(Description)),
  type: Schema.optionalKey(ZoneType),
  metadata: Schema.optionalKey(Schema.NullOr(FreeObject)),
  ...running,
}).annotate(component("UpdateDeploymentZone"))
export type UpdateDeploymentZone = typeof UpdateDeploymentZone.Type

/** Filters of `GET /deployment-zones`. */
export const zoneFilters = {
  ...nameFilter,
  type: Schema.optionalKey(PathName.annotate({ description: "Only zones of this type" })),
  release: Schema.optionalKey(PathName.annotate({ description: "Only zones that run the release with this slug" })),
}
export interface ZoneFilters {
  readonly q?: string
  readonly type?: string
  readonly release?: string
}

/** How the body of a zone names its release. */
export type ReleaseNames = Pick<UpdateDeploymentZone, "releaseId" | "releaseSlug">

/** One entry of a zone's deployment history. It remains after its release is deleted, so it copies slug and version. */
export const Deployment = Schema.Struct({
  id: Uuid,
  releaseId: Uuid,
  releaseSlug: Schema.String,
  releaseVersion: Schema.String,
  deployedAt: Timestamp,
  deployedBy: ActorReference,
}).annotate(component("Deployment", { releaseSlug: "2026-1", releaseVersion: "2026.1" }))
export type Deployment = typeof Deployment.Type
