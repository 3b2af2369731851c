/** Entitlement groups: their usage is read in one request. */
import { Schema } from "effect"
import { component } from "../../kernel/contract/Component.ts"
import { ActorReference } from "../../kernel/contract/Caller.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { Slug } from "../../kernel/values/Slug.ts"
import { Description, Name, PathName } from "../../kernel/values/Text.ts"
import { Timestamp } from "../../kernel/values/Timestamp.ts"

export const EntitlementGroup = Schema.Struct({
  id: Uuid,
  slug: Schema.String,
  name: Schema.String,
  description: Schema.NullOr(Schema.String),
  entitlementSlugs: Schema.Array(Schema.String).annotate({
    description: "Slugs of the entitlements in the group, by display order",
  }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  createdBy: ActorReference,
  updatedBy: ActorReference,
}).annotate(
  component("EntitlementGroup", {
    slug: "platform",
    name: "Platform",
    description: null,
    entitlementSlugs: ["api-calls", "seats"],
  }),
)
export type EntitlementGroup = typeof EntitlementGroup.Type

/** Body of `POST /entitlement-groups`. */
export const CreateEntitlementGroup = Schema.Struct({
  name: Name,
  slug: Schema.optionalKey(Slug),
  description: Schema.optionalKey(Schema.NullOr(Description)),
}).annotate(component("CreateEntitlementGroup"))
export type CreateEntitlementGroup = typeof CreateEntitlementGroup.Type

/** Body of `PUT /entitlement-groups/{slug}`: omitted properties stay unchanged. */
export const UpdateEntitlementGroup = Schema.Struct({
  name: Schema.optionalKey(Name),
  description: Schema.optionalKey(Schema.NullOr(Description)),
}).annotate(component("UpdateEntitlementGroup"))
export type UpdateEntitlementGroup = typeof UpdateEntitlementGroup.Type

/** Body of `POST /entitlement-groups/{slug}/entitlements`. */
export const AttachEntitlement = Schema.Struct({ entitlementSlug: PathName }).annotate(component("AddEntitlement"))
