/** Schemas of signing keys. */
import { Schema } from "effect"
import { ActorReference } from "../../kernel/contract/Caller.ts"
import { component } from "../../kernel/contract/Component.ts"
import { Timestamp } from "../../kernel/values/Timestamp.ts"
import { OrganizationId } from "../../kernel/values/Identifiers.ts"

/** What a key signs. */
export const KeyPurpose = Schema.Literals(["offline", "audit"]).annotate(component("SigningKeyPurpose", "offline"))
export type KeyPurpose = typeof KeyPurpose.Type

/** `NEXT` is announced, `CURRENT` signs, `RETIRED` has signed and is still trusted, `REVOKED` is no longer trusted. */
export const KeyState = Schema.Literals(["NEXT", "CURRENT", "RETIRED", "REVOKED"]).annotate(
  component("SigningKeyState", "CURRENT"),
)
export type KeyState = typeof KeyState.Type

/** A signing key, without its private half. */
export const SigningKey = Schema.Struct({
  kid: Schema.String.annotate({ description: "RFC 7638 thumbprint of the public key" }),
  purpose: KeyPurpose.annotate({ description: "`offline` signs offline bundles, `audit` the event log" }),
  state: KeyState.annotate({
    description:
      "`NEXT` is announced, `CURRENT` signs, `RETIRED` signed before and is still trusted, `REVOKED` is no longer trusted",
  }),
  createdAt: Timestamp,
  createdBy: ActorReference,
  activatedAt: Schema.NullOr(Timestamp),
  revokedAt: Schema.NullOr(Timestamp),
  verifierKey: Schema.NullOr(Schema.String).annotate({
    description: "Of `audit` keys: the C2SP verifier key that tools check signed notes with. `null` for others",
  }),
}).annotate(
  component("SigningKey", {
    kid: "qeDfJlhHw0_QayzjmVIfJwPp1b5dWmeEQVeqvoRzIAw",
    purpose: "offline",
    state: "CURRENT",
    activatedAt: "2026-01-31T09:00:00.000Z",
    revokedAt: null,
    verifierKey: null,
  }),
)
export type SigningKey = typeof SigningKey.Type

export const CreateSigningKey = Schema.Struct({ purpose: KeyPurpose }).annotate(component("CreateSigningKey"))
export type CreateSigningKey = typeof CreateSigningKey.Type

/** A public key as it is published: `x` is the key in base64url. */
export interface PublicKey {
  readonly kid: string
  readonly x: string
}

/** A signing key as it is stored. */
export const StoredKey = Schema.Struct({
  organizationId: OrganizationId,
  kid: Schema.String,
  x: Schema.String,
  /** Orders keys by their creation. */
  id: Schema.String,
  purpose: KeyPurpose,
  state: KeyState,
  /** The sealed private key; `null` if the key no longer signs. */
  sealed: Schema.NullOr(Schema.String),
  createdAt: Schema.Date,
  createdBy: ActorReference,
  activatedAt: Schema.NullOr(Schema.Date),
  revokedAt: Schema.NullOr(Schema.Date),
})
export type StoredKey = typeof StoredKey.Type
