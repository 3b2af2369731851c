/** People and the organizations they belong to. */
import { Schema } from "effect"
import { component } from "../../kernel/contract/Component.ts"
import { ActorReference, Role } from "../../kernel/contract/Caller.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { Name, Text } from "../../kernel/values/Text.ts"
import { Timestamp } from "../../kernel/values/Timestamp.ts"

/** A person. Only a person with issuer and subject can sign in through the identity provider. */
export const User = Schema.Struct({
  id: Uuid,
  name: Schema.String,
  email: Schema.NullOr(Schema.String),
  issuer: Schema.NullOr(Schema.String).annotate({ description: "`iss` of the person's tokens" }),
  subject: Schema.NullOr(Schema.String).annotate({ description: "`sub` of the person's tokens" }),
  createdAt: Timestamp,
  createdBy: ActorReference,
}).annotate(
  component("User", {
    name: "Ada Lovelace",
    email: "ada@acme.example",
    issuer: "https://login.acme.example",
    subject: "00u1a2b3c4",
  }),
)
export type User = typeof User.Type

/** An e-mail address. Only its form is checked. */
export const Email = Text(3, 254).check(Schema.isPattern(/^[^\s@]+@[^\s@]+$/, { expected: "an e-mail address" }))

/** The value of `iss` or `sub`, limited to text that the database can store. */
export const Identity = Text(1, 255)

/** Body of `POST /platform/users`. Issuer and subject are both present or both absent. */
export const CreateUser = Schema.Struct({
  name: Name,
  email: Schema.optionalKey(Schema.NullOr(Email)),
  issuer: Schema.optionalKey(Schema.NullOr(Identity)),
  subject: Schema.optionalKey(Schema.NullOr(Identity)),
}).annotate(component("CreateUser"))
export type CreateUser = typeof CreateUser.Type

/** The membership of a person in an organization. Removed memberships are retained with the time of removal. */
export const Membership = Schema.Struct({
  organizationId: Uuid,
  userId: Uuid,
  userName: Schema.String,
  role: Role,
  createdAt: Timestamp,
  createdBy: ActorReference,
  removedAt: Schema.NullOr(Timestamp),
}).annotate(component("Membership", { userName: "Ada Lovelace", removedAt: null }))
export type Membership = typeof Membership.Type & { readonly organizationId: OrganizationId }

/** A person who belongs to the organization, as its members see one. */
export const Member = Schema.Struct({
  user: Schema.Struct({
    id: Uuid,
    name: Schema.String,
    email: Schema.NullOr(Schema.String),
  }).annotate(component("MemberUser", { name: "Ada Lovelace", email: "ada@acme.example" })),
  role: Role,
  createdAt: Timestamp.annotate({ description: "When the person became a member" }),
}).annotate(component("Member"))
export type Member = typeof Member.Type

/** Body of `POST /platform/organizations/{orgId}/memberships`. */
export const CreateMembership = Schema.Struct({ userId: Uuid, role: Role }).annotate(component("CreateMembership"))
export type CreateMembership = typeof CreateMembership.Type

/** Body of `PATCH /platform/organizations/{orgId}/memberships/{userId}`. */
export const UpdateMembership = Schema.Struct({ role: Role }).annotate(component("UpdateMembership"))
export type UpdateMembership = typeof UpdateMembership.Type

/** Query filters of the membership list. */
export const membershipFilters = {
  includeRemoved: Schema.optionalKey(
    Schema.Literals(["true", "false"]).annotate({ description: "Whether to include removed memberships" }),
  ),
}

/** A signed-in person in one organization. Their requests act with these scopes. */
export interface Person {
  readonly membershipId: string
  readonly organizationId: OrganizationId
  readonly user: ActorReference
  readonly role: Role
  readonly scopes: ReadonlyArray<string>
  /** When the person's token ends. */
  readonly expiresAt: Date
}
