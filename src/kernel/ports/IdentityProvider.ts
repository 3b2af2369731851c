/** The OpenID provider that people sign in with (interface specification, section 5.2; contract, sections 4 and 8). */
import { Context, Option, Schema } from "effect"
import type { Effect } from "effect"
import type { JSONWebKeySet } from "jose"

/** The key set cannot be had now. The message is for the operator's log. */
export class KeysUnavailable extends Schema.TaggedError<KeysUnavailable>()("KeysUnavailable", {
  message: Schema.String,
}) {}

/** What the operator configured, and the way to the provider's keys. */
export interface Provider {
  /** `iss` of its tokens, exactly. */
  readonly issuer: string
  /** What `aud` of its tokens is, or holds. */
  readonly audience: string
  /** The claim that names the organization by its id, slug or external id. */
  readonly organizationClaim: string
  /** Whether people and memberships are made on first sight. */
  readonly provisioning: "off" | "just-in-time"
  /** Fetches the keys it signs with; bounded in time and size. */
  readonly fetchKeys: Effect.Effect<JSONWebKeySet, KeysUnavailable>
}

/** The installation's identity provider; without one no JWT of any provider is accepted. */
export const IdentityProvider = Context.Reference<Option.Option<Provider>>(
  "keyshelf.reference/kernel/IdentityProvider",
  {
    defaultValue: () => Option.none(),
  },
)

/** The claims of a token whose signature, issuer, audience and times were verified. */
export interface Claims {
  readonly subject: string
  readonly all: Readonly<Record<string, unknown>>
}
