/** The caller of a request. The authentication of each listener provides it to the handlers. */
import { Context, Schema } from "effect"
import { component } from "./Component.ts"
import { Uuid } from "../values/Identifiers.ts"
import type { OrganizationId } from "../values/Identifiers.ts"
import { allows } from "./Scope.ts"

/** A reference to an acting identity: a person, a service account or the platform identity. */
export const ActorReference = Schema.Struct({ id: Uuid, name: Schema.String }).annotate(
  component("Actor", { name: "Build server" }),
)
export type ActorReference = typeof ActorReference.Type

/** A reference to what authenticated a request: a token, a license key or a platform credential. */
export const CredentialReference = Schema.Struct({ id: Uuid, name: Schema.String, slug: Schema.String }).annotate(
  component("EventCredential", { name: "Nightly deploys", slug: "nightly-deploys" }),
)
export type CredentialReference = typeof CredentialReference.Type

/** Who does something, and with which credential; `null` for a person who signed in, and for the service itself. */
export interface Initiator {
  readonly actor: ActorReference
  readonly credential: CredentialReference | null
}

/** The platform identity: a member of every organization, never listed, and never changed. */
export const platformIdentity: ActorReference = {
  id: "00000000-0000-7000-8000-000000000001",
  name: "system:platform",
}

/** The service itself, in background work. */
export const bySystem: Initiator = { actor: platformIdentity, credential: null }

/** The role of a person in an organization. Machines have scopes but no role. */
export const Role = Schema.Literals(["ADMIN", "MEMBER", "VIEWER"]).annotate(component("Role", "MEMBER"))
export type Role = typeof Role.Type

/** The instance that a license key is confined to. */
export interface Confinement {
  readonly id: string
  readonly slug: string
}

interface Authenticated extends Initiator {
  /** The id of the row that authenticated the request: a token, or the membership of a person. */
  readonly credentialId: string
  readonly scopes: ReadonlyArray<string>
}

/** The caller of a Core operation, always in one organization. */
export class Caller extends Context.Service<
  Caller,
  Authenticated & {
    readonly organizationId: OrganizationId
    /** The role of a person; machines have none. */
    readonly role?: Role
    /** When a person's token ends. */
    readonly expiresAt?: Date
    /** Other instances do not exist for the caller, a license key. */
    readonly confinedTo?: Confinement
  }
>()("keyshelf/kernel/Caller") {}

/** The caller of a Platform operation. It belongs to no organization, so Core services cannot use it. */
export class Operator extends Context.Service<Operator, Authenticated>()("keyshelf/kernel/Operator") {}

/** The owner of an idempotency key: the organization (`null` for the operator) and the credential that sent it. */
export class RequestOwner extends Context.Service<
  RequestOwner,
  { readonly organizationId: OrganizationId | null; readonly credentialId: string }
>()("keyshelf/kernel/RequestOwner") {}

/** Whether an instance exists for the caller, by its slug. */
export const mayUseInstance = ({ confinedTo }: Pick<Caller["Service"], "confinedTo">, slug: string): boolean =>
  confinedTo === undefined || confinedTo.slug === slug

/**
 * Whether the caller may lower what was counted. A license key is at the customer's site, and may not: otherwise it could reset
 * the usage that limits its instance.
 */
export const mayLowerUsage = ({ confinedTo, scopes }: Pick<Caller["Service"], "confinedTo" | "scopes">): boolean =>
  confinedTo === undefined || allows(scopes, "write:licenses")
