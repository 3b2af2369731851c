/** What streams of changes are about: whom a change concerns, and who follows. */
import { Schema } from "effect"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"

/** Whom a change concerns: all instances, or those with one slug. */
export type Target =
  | { readonly of: "all" }
  | { readonly of: "instance" | "license" | "customer" | "zone"; readonly slug: string }

/** What an event means for streams. */
export type Change =
  | { readonly of: "instances"; readonly target: Target }
  /** What an instance belongs to has changed, beside the instance itself. */
  | { readonly of: "assignment"; readonly slug: string }
  | { readonly of: "removal"; readonly slug: string }
  /** A credential ends at a time in milliseconds; without one, it has ended. */
  | { readonly of: "credential"; readonly id: string; readonly endsAt: number | undefined }

/** The parts of an event that decide whom it concerns. Absent ones are `null`. */
export const ChangeEvent = Schema.Struct({
  type: Schema.String,
  position: Schema.Int,
  id: Schema.NullOr(Schema.String),
  slug: Schema.NullOr(Schema.String),
  instance: Schema.NullOr(Schema.String),
  instanceSlug: Schema.NullOr(Schema.String),
  licenseSlug: Schema.NullOr(Schema.String),
  /** Of a grant of an add-on. */
  combine: Schema.NullOr(Schema.String),
  deploymentZoneSlug: Schema.NullOr(Schema.String),
  expiresAt: Schema.NullOr(Schema.String),
  revokedAt: Schema.NullOr(Schema.String),
})
export type ChangeEvent = typeof ChangeEvent.Type

/** What an instance belongs to. */
export interface Assignment {
  readonly slug: string
  readonly license: string
  readonly customer: string
  readonly zone: string | null
}

/** The credential of a stream: a token or license key, or the membership of a person. */
export interface FollowerCredential {
  readonly organizationId: OrganizationId
  readonly id: string
  readonly kind: "token" | "membership"
}

/** Until when a live credential is valid, in milliseconds; `Infinity`: without an end. */
export interface CredentialState {
  readonly id: string
  readonly expiresAt: number
}

/** A request for a stream. */
export interface FollowRequest {
  readonly credential: FollowerCredential
  /** The instance of a license key: every frame names it. */
  readonly confinedTo: string | undefined
  /** The instances to follow; without it, all of the organization. */
  readonly instances: ReadonlyArray<string> | undefined
  /** When the stream ends at the latest, in milliseconds; `Infinity`: with its credential. */
  readonly endsAt: number
}
