/** Who calls: provided to every handler by the authentication of its listener. */
import { Context, Schema } from "effect"
import { Uuid } from "../values/Identifiers.ts"

/** A reference to the identity that did something: a person, a service account or the platform identity. */
export const ActorReference = Schema.Struct({ id: Uuid, name: Schema.String })
export type ActorReference = typeof ActorReference.Type

/** The platform identity: a member of every organization, in no listing, altered by no operation (section 5.10). */
export const platformIdentity: ActorReference = {
  id: "00000000-0000-7000-8000-000000000001",
  name: "system:platform",
}

/** What a person may do in an organization; machines hold scopes without one. */
export const Role = Schema.Literals(["ADMIN", "MEMBER", "VIEWER"])
export type Role = typeof Role.Type

interface Authenticated {
  /** The row that authenticated the request: a token's, or a person's membership. It belongs to one organization. */
  readonly credentialId: string
  readonly actor: ActorReference
  readonly scopes: ReadonlyArray<string>
}

/** The caller of a Core operation: always inside one organization. */
export class Caller extends Context.Service<
  Caller,
  Authenticated & {
    readonly organizationId: string
    /** The role of a person; machines have none. */
    readonly role?: Role
  }
>()("keyshelf/kernel/Caller") {}

/** The caller of a Platform operation: outside every organization, so no Core service accepts it. */
export class Operator extends Context.Service<Operator, Authenticated>()("keyshelf/kernel/Operator") {}

/** What an idempotency key belongs to: the organization (none for the operator) and the credential that sent it. */
export class RequestOwner extends Context.Service<
  RequestOwner,
  { readonly organizationId: string | null; readonly credentialId: string }
>()("keyshelf/kernel/RequestOwner") {}
