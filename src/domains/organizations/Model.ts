/** Organizations: the tenants of an installation. */
import { Schema } from "effect"
import { component } from "../../kernel/contract/Component.ts"
import { ActorReference } from "../../kernel/contract/Caller.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { Slug } from "../../kernel/values/Slug.ts"
import { Name } from "../../kernel/values/Text.ts"
import { Timestamp } from "../../kernel/values/Timestamp.ts"

export const Organization = Schema.Struct({
  id: Uuid,
  name: Schema.String,
  slug: Schema.String,
  externalId: Schema.NullOr(Schema.String),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  createdBy: ActorReference,
  updatedBy: ActorReference,
}).annotate(component("Organization", { name: "Acme", slug: "acme", externalId: "crm-42" }))
export type Organization = typeof Organization.Type & { readonly id: OrganizationId }

/** Body of `POST /platform/organizations`. */
export const CreateOrganization = Schema.Struct({
  name: Name,
  slug: Schema.optionalKey(Slug),
  externalId: Schema.optionalKey(Schema.NullOr(Name)),
}).annotate(component("CreateOrganization"))
export type CreateOrganization = typeof CreateOrganization.Type

/** Query of `DELETE /platform/organizations/{orgId}`. */
export const removalConfirmation = {
  confirm: Schema.String.annotate({ description: "The slug of the organization, as a safeguard against mistakes" }),
}

/** Body of `PATCH /platform/organizations/{orgId}`; `null` clears the external id. */
export const UpdateOrganization = Schema.Struct({
  name: Schema.optionalKey(Name),
  externalId: Schema.optionalKey(Schema.NullOr(Name)),
}).annotate(component("UpdateOrganization"))
export type UpdateOrganization = typeof UpdateOrganization.Type
